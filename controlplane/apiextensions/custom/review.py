"""ConversionReview: what a conversion webhook is asked, and whether its answer can be used.

Pure. Everything but labels and annotations of the metadata stays as it was, whatever the webhook says.

Source: kubernetes/apiextensions-apiserver ``pkg/apiserver/conversion/webhook_converter.go``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from controlplane.apimachinery.codec.json import MalformedJSON, dumps, loads
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.validation.field import go_quoted
from controlplane.apimachinery.validation.metadata import validate_annotations, validate_labels

__all__ = ["CALL", "INVALID", "BadReview", "conversion_review", "converted_objects", "kind_text"]

_GROUP = "apiextensions.k8s.io"
_VERSIONS = ("v1", "v1beta1")

CALL = "conversion_webhook_call_failure"
_MALFORMED = "conversion_webhook_malformed_response_failure"
_PARTIAL = "conversion_webhook_partial_response_failure"
INVALID = "conversion_webhook_invalid_converted_object_failure"


class BadReview(ValueError):
    """The answer cannot be used. ``failure``: its type in metrics."""

    def __init__(self, message: str, failure: str) -> None:
        super().__init__(message)
        self.failure = failure


def conversion_review(versions: Sequence[str], objects: Sequence[Obj], wanted: str, uid: str) -> tuple[bytes, str]:
    """The request, and its apiVersion: the first of ``versions`` that is known here.

    Raises:
        BadReview: none is.
    """
    version = next((one for one in versions if one in _VERSIONS), None)
    if version is None:
        raise BadReview("no supported conversion review versions", CALL)
    api_version = f"{_GROUP}/{version}"
    review = {
        "kind": "ConversionReview",
        "apiVersion": api_version,
        "request": {"uid": uid, "desiredAPIVersion": wanted, "objects": objects},
        "response": {"uid": "", "convertedObjects": None, "result": {"metadata": {}}},
    }
    return dumps(review), api_version


def kind_text(obj: Obj) -> str:
    """The kind of an object as messages name it."""
    group, slash, version = (obj.get("apiVersion") or "").rpartition("/")
    return f"{group}/{version}, Kind={obj.get('kind') or ''}" if slash else f"/{version}, Kind={obj.get('kind') or ''}"


def converted_objects(body: bytes, objects: Sequence[Obj], wanted: str, api_version: str, uid: str) -> Iterator[Obj]:
    """The objects in an answer, one for each of ``objects`` and in their order, with their metadata restored.

    Lazy: each is checked when it is asked for, so that a long answer need not be gone through in one go.

    Raises:
        BadReview: with upstream's text.
    """
    whose = kind_text(objects[0])
    try:
        answer: Any = loads(body)
    except MalformedJSON as error:
        raise BadReview(f"conversion webhook for {whose} failed: {error}", CALL) from error
    try:
        converted = _converted(answer, api_version, uid)
    except ValueError as error:
        raise BadReview(f"conversion webhook for {whose} failed: {error}", _MALFORMED) from error
    if len(converted) != len(objects):
        raise BadReview(
            f"conversion webhook for {whose} returned {len(converted)} objects, expected {len(objects)}", _PARTIAL
        )
    single = len(objects) == 1
    for i, (before, after) in enumerate(zip(objects, converted, strict=True)):
        where = "object" if single else f"converted object at index {i}"
        _check_type(before, after, wanted, f"conversion webhook for {whose} returned invalid", i, single=single)
        try:
            _check_identity(before, after)
        except ValueError as error:
            raise BadReview(f"conversion webhook for {whose} returned invalid {where}: {error}", INVALID) from error
        try:
            yield _with_metadata(before, after)
        except ValueError as error:
            what = "metadata" if single else f"metadata in object at index {i}"
            raise BadReview(f"conversion webhook for {whose} returned invalid {what}: {error}", INVALID) from error


def _converted(answer: Any, api_version: str, uid: str) -> list[Any]:
    if type(answer) is not dict:
        raise ValueError(f"couldn't get version/kind; json parse error: {_go_type(answer)} is no object")
    if api_version.endswith("/v1"):
        wanted = f"{api_version}, Kind=ConversionReview"
        if (given := kind_text(answer)) != wanted:
            raise ValueError(f"expected webhook response of {wanted}, got {given}")
    response = answer.get("response")
    if type(response) is not dict:
        raise ValueError("no response provided")
    if api_version.endswith("/v1") and (given := response.get("uid") or "") != uid:
        raise ValueError(f"expected response.uid={go_quoted(uid)}, got {go_quoted(str(given))}")
    result = response.get("result")
    result = result if type(result) is dict else {}
    if result.get("status") != "Success":
        message = result.get("message")
        if type(message) is str and message:
            raise ValueError(message)
        raise ValueError(f"response.result.status was '{result.get('status') or ''}', not 'Success'")
    converted = response.get("convertedObjects")
    return converted if type(converted) is list else []


def _check_type(before: Obj, after: Any, wanted: str, returned: str, i: int, *, single: bool) -> None:
    what = "object" if single else "converted object"
    if type(after) is not dict or not after.get("kind"):
        shown = dumps(after).decode()
        raise BadReview(f"{returned} {what} at index {i}: Object 'Kind' is missing in '{shown}'", INVALID)
    for name, expected, given in (
        ("groupVersion", wanted, after.get("apiVersion") or ""),
        ("kind", before.get("kind"), after["kind"]),
    ):
        if expected != given:
            raise BadReview(
                f"{returned} {what} at index {i}: invalid {name} (expected {expected}, received {given})", INVALID
            )


def _check_identity(before: Obj, after: Obj) -> None:
    old, new = before["metadata"], after.get("metadata")
    new = new if type(new) is dict else {}
    for key, name in (("name", "name"), ("namespace", "namespace"), ("uid", "UID")):
        expected, given = old.get(key) or "", new.get(key) or ""
        if expected != given:
            raise ValueError(f"must have the same {name}: {expected} != {given}")


def _with_metadata(before: Obj, after: Obj) -> Obj:
    """The converted object with the metadata that it had, but for labels and annotations."""
    if "metadata" not in after:
        raise ValueError("missing metadata in converted object")
    given = after["metadata"]
    if type(given) is not dict:
        raise ValueError(f"invalid metadata of type {_go_type(given)} in converted object")
    metadata = dict(before["metadata"])
    for field, validate in (("labels", validate_labels), ("annotations", validate_annotations)):
        values = given.get(field)
        if values is None:
            metadata.pop(field, None)
            continue
        if type(values) is not dict:
            raise ValueError(f"invalid metadata.{field} of type {_go_type(values)} in converted object")
        for key, value in values.items():
            if type(value) is not str:
                text = f"must be a string, but is {_go_type(value)} in converted object"
                raise ValueError(f"metadata.{field}[{key}] {text}")
        if values != (metadata.get(field) or {}) and (
            errors := validate(values, "metadata.labels" if field == "labels" else "metadata.annotation")
        ):
            texts = [str(error) for error in errors]
            raise ValueError(texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")
        metadata[field] = values
    head = {"apiVersion": after["apiVersion"], "kind": after["kind"]}
    if next(iter(before)) == "kind":
        head = {"kind": after["kind"], "apiVersion": after["apiVersion"]}
    rest = {key: value for key, value in after.items() if key not in ("kind", "apiVersion", "metadata")}
    return {**head, "metadata": metadata, **rest}


_GO_TYPES = {str: "string", bool: "bool", int: "int64", float: "float64", list: "[]interface {}", type(None): "<nil>"}


def _go_type(value: Any) -> str:
    return _GO_TYPES.get(type(value), "map[string]interface {}")
