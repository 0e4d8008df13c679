"""A request as webhooks and expressions see it: the AdmissionRequest.

Source: kubernetes/apiserver ``pkg/admission/plugin/webhook/request`` and ``plugin/cel/condition.go``; what is empty is
left out, as Go does it.
"""

from __future__ import annotations

from typing import Any

from controlplane.apimachinery.identity import GVK, GVR, Obj
from controlplane.apimachinery.user import UserInfo
from controlplane.apiserver.admission.api import Attributes
from controlplane.plugins.admission.matching.rules import Match

__all__ = ["admission_request", "namespace_object", "user_info"]


def _kind(kind: GVK) -> Obj:
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


def _resource(resource: GVR) -> Obj:
    return {"group": resource.group, "version": resource.version, "resource": resource.resource}


def user_info(user: UserInfo) -> Obj:
    """A user, without what is empty."""
    given: dict[str, Any] = {
        "username": user.name,
        "uid": user.uid,
        "groups": list(user.groups),
        "extra": {key: list(values) for key, values in user.extra.items()},
    }
    return {name: value for name, value in given.items() if value}


def admission_request(attributes: Attributes, match: Match) -> Obj:
    """The request without its objects and without a uid. ``match``: as what it is seen."""
    request: Obj = {"kind": _kind(match.kind), "resource": _resource(match.resource)}
    if attributes.subresource:
        request["subResource"] = attributes.subresource
    request["requestKind"] = _kind(attributes.kind)
    request["requestResource"] = _resource(attributes.resource)
    if attributes.subresource:
        request["requestSubResource"] = attributes.subresource
    if attributes.name:
        request["name"] = attributes.name
    if attributes.namespace:
        request["namespace"] = attributes.namespace
    request["operation"] = attributes.operation.value
    request["userInfo"] = user_info(attributes.user)
    request["dryRun"] = attributes.dry_run
    request["options"] = dict(attributes.options)
    return request


_SHOWN = frozenset(
    {
        *("name", "generateName", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp"),
        *("deletionTimestamp", "deletionGracePeriodSeconds", "labels", "annotations", "finalizers"),
    }
)


def namespace_object(namespace: Obj | None) -> Obj | None:
    """A namespace as expressions see it."""
    if namespace is None:
        return None
    metadata = {name: value for name, value in namespace["metadata"].items() if name in _SHOWN}
    return {"metadata": metadata, "spec": namespace.get("spec") or {}, "status": namespace.get("status") or {}}
