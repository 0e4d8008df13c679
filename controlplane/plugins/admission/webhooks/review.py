"""Admission reviews: what a webhook is sent, and what it may answer.

Source: kubernetes/apiserver ``pkg/admission/plugin/webhook/request/admissionreview.go`` and ``errors/statuserror.go``.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any, NamedTuple

from controlplane.apimachinery.codec.json import MalformedJSON, dumps, loads
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.status import APIError
from controlplane.cel.library.go_text import go_quoted

__all__ = ["BadReview", "Verdict", "rejection", "review_body", "verdict_of"]

_GROUP = "admission.k8s.io"
_KIND = "AdmissionReview"


class BadReview(ValueError):
    """An answer that is none; ``invalid``: it could be read, but breaks the rules."""

    def __init__(self, text: str, *, invalid: bool) -> None:
        super().__init__(text)
        self.invalid = invalid


class Verdict(NamedTuple):
    """What a webhook has answered. ``patch``: as it came; ``patch_type`` ``""``: none."""

    allowed: bool
    patch: bytes
    patch_type: str
    result: Obj | None
    warnings: list[str]
    annotations: dict[str, str]


def review_body(version: str, uid: str, request: Obj, objects: tuple[Obj | None, Obj | None]) -> bytes:
    """A review as it is sent. ``objects``: the new one and the old one."""
    new, old = objects
    asked = {"uid": uid, **request, "object": new, "oldObject": old}
    return dumps({"kind": _KIND, "apiVersion": f"{_GROUP}/{version}", "request": asked})


def verdict_of(body: bytes, version: str, uid: str, *, mutating: bool) -> Verdict:
    """Read an answer.

    Raises:
        BadReview.
    """
    try:
        answer: Any = loads(body)
    except MalformedJSON as error:
        raise BadReview(f"couldn't get version/kind; json parse error: {error}", invalid=False) from error
    if type(answer) is not dict:
        raise BadReview("couldn't get version/kind; json parse error: the answer is no object", invalid=False)
    response = answer.get("response")
    if response is None:
        raise BadReview("webhook response was absent", invalid=True)
    verdict = _read(response)
    if version == "v1":
        _check_v1(answer, response, verdict, uid, mutating=mutating)
    elif not mutating:
        verdict = verdict._replace(patch=b"", patch_type="")
    elif verdict.patch:
        verdict = verdict._replace(patch_type="JSONPatch")
    return verdict


def _check_v1(answer: Obj, response: Obj, verdict: Verdict, uid: str, *, mutating: bool) -> None:
    given_uid = response.get("uid") or ""
    if given_uid != uid:
        raise BadReview(f"expected response.uid={go_quoted(uid)}, got {go_quoted(given_uid)}", invalid=True)
    wanted = f"{_GROUP}/v1, Kind={_KIND}"
    version = str(answer.get("apiVersion") or "")
    given = f"{version if '/' in version else f'/{version}'}, Kind={answer.get('kind') or ''}"
    if given != wanted:
        raise BadReview(f"expected webhook response of {wanted}, got {given}", invalid=True)
    has_type = response.get("patchType") is not None
    problem = ""
    if not mutating:
        if verdict.patch:
            problem = "validating webhook may not return response.patch"
        elif has_type:
            problem = "validating webhook may not return response.patchType"
    elif verdict.patch and not has_type:
        problem = "webhook returned response.patch but not response.patchType"
    elif has_type and not verdict.patch:
        problem = "webhook returned response.patchType but not response.patch"
    elif has_type and not verdict.patch_type:
        problem = 'webhook returned invalid response.patchType of ""'
    if problem:
        raise BadReview(problem, invalid=True)


_SHAPES: dict[str, tuple[type, str]] = {
    "uid": (str, "string"),
    "allowed": (bool, "bool"),
    "patch": (str, "string"),
    "patchType": (str, "string"),
    "status": (dict, "object"),
    "warnings": (list, "list of strings"),
    "auditAnnotations": (dict, "object of strings"),
}


def _read(response: Any) -> Verdict:
    if type(response) is not dict:
        raise BadReview("json: cannot unmarshal the response into an AdmissionResponse", invalid=False)
    for name, (shape, shown) in _SHAPES.items():
        value = response.get(name)
        if value is not None and type(value) is not shape:
            raise BadReview(f"json: cannot unmarshal response.{name} of type {shown}", invalid=False)
    warnings, annotations = response.get("warnings") or [], response.get("auditAnnotations") or {}
    if not all(isinstance(text, str) for text in (*warnings, *annotations.values())):
        raise BadReview("json: cannot unmarshal response.warnings or response.auditAnnotations", invalid=False)
    try:
        patch = base64.b64decode(response.get("patch") or "", validate=True)
    except binascii.Error as error:
        raise BadReview(f"json: response.patch: illegal base64 data: {error}", invalid=False) from error
    return Verdict(
        allowed=bool(response.get("allowed")),
        patch=patch,
        patch_type=response.get("patchType") or "",
        result=response.get("status"),
        warnings=warnings,
        annotations=annotations,
    )


def rejection(webhook: str, result: Obj | None) -> APIError:
    """The answer to a request that a webhook denies: its own, as far as it says one."""
    result = result or {}
    code = result.get("code")
    message, reason = str(result.get("message") or ""), str(result.get("reason") or "")
    denied = f"admission webhook {go_quoted(webhook)} denied the request"
    text = f"{denied}: {message or reason}" if message or reason else f"{denied} without explanation"
    details = result.get("details")
    return APIError(
        code if type(code) is int and code >= 400 else 400,
        reason,
        text,
        details=details if type(details) is dict and details else None,
    )
