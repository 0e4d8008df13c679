"""Groups under k8s.io and kubernetes.io belong to the community: definitions in them say where they were approved.

Source: kubernetes/apiextensions-apiserver ``pkg/apihelpers``; kubernetes/enhancements pull 1111.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlsplit

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.validation.field import FieldError, go_quoted, invalid, required

__all__ = ["ANNOTATION", "Approval", "approval_errors", "approval_of", "is_protected"]

ANNOTATION = "api-approved.kubernetes.io"
_SEE = "see https://github.com/kubernetes/enhancements/pull/1111"


class Approval(NamedTuple):
    """``state``: approved, bypassed, missing or invalid; ``reason`` for people."""

    state: str
    reason: str


def is_protected(group: str) -> bool:
    return group in ("k8s.io", "kubernetes.io") or group.endswith((".k8s.io", ".kubernetes.io"))


def approval_of(definition: Obj) -> Approval:
    """What a definition says of its approval."""
    text = meta.annotations(definition).get(ANNOTATION, "")
    if not text:
        return Approval("missing", f'protected groups must have approval annotation "{ANNOTATION}", {_SEE}')
    if text.startswith("unapproved"):
        return Approval("bypassed", f"not approved: {go_quoted(text)}")
    try:
        parts = urlsplit(text)
    except ValueError:
        parts = None
    if parts is not None and parts.scheme and parts.netloc:
        return Approval("approved", f"approved in {text}")
    return Approval(
        "invalid",
        f'protected groups must have approval annotation "{ANNOTATION}" with either a URL or a reason starting with '
        f'"unapproved", {_SEE}',
    )


def approval_errors(definition: Obj, old: Obj | None) -> list[FieldError]:
    """What is wrong with the approval, if it has changed."""
    if not is_protected(definition["spec"].get("group") or ""):
        return []
    approval = approval_of(definition)
    if old is not None and approval_of(old).state == approval.state:
        return []
    path = f"metadata.annotations[{ANNOTATION}]"
    if approval.state == "missing":
        return [required(path, approval.reason)]
    if approval.state == "invalid":
        return [invalid(path, meta.annotations(definition).get(ANNOTATION, ""), approval.reason)]
    return []
