"""Metric labels of one request, in Kubernetes' words, bounded: nothing that a client makes up becomes a label.

Source: kubernetes/apiserver ``pkg/endpoints/metrics`` (verb and scope cleaning).
"""

from __future__ import annotations

from controlplane.client.request import Request
from controlplane.client.request_info import RequestInfo

__all__ = ["COMPONENT", "UNKNOWN_RESOURCE", "dry_run_label", "resource_labels", "scope_label", "verb_label"]

COMPONENT = "apiserver"

UNKNOWN_RESOURCE = "unknown_resource"
"""``request.values`` key: set by who looked the resource up and did not find it."""

_VERBS = {
    "get": "GET",
    "list": "LIST",
    "watch": "WATCH",
    "create": "POST",
    "update": "PUT",
    "patch": "PATCH",
    "delete": "DELETE",
    "deletecollection": "DELETE",
    "proxy": "CONNECT",
}
_METHODS = {"GET": "GET", "HEAD": "GET", "POST": "POST", "PUT": "PUT", "PATCH": "PATCH", "DELETE": "DELETE"}
_CONNECT = frozenset({"log", "exec", "portforward", "attach", "proxy"})
_APPLY = "application/apply-patch+yaml"
_OTHER = "other"


def verb_label(request: Request, info: RequestInfo) -> str:
    """``GET``, ``LIST``, ``WATCH``, ``APPLY``, …; a method nobody knows is ``other``."""
    if not info.is_resource:
        return _METHODS.get(request.method, _OTHER)
    if info.subresource in _CONNECT:
        return "CONNECT"
    if info.verb == "patch" and request.headers.get("Content-Type", "").startswith(_APPLY):
        return "APPLY"
    return _VERBS.get(info.verb, _OTHER)


def scope_label(info: RequestInfo) -> str:
    """``resource``, ``namespace``, ``cluster``, or nothing for a path."""
    if info.name or info.verb == "create":
        return "resource"
    if info.namespace:
        return "namespace"
    return "cluster" if info.is_resource else ""


def dry_run_label(request: Request) -> str:
    if "dryRun" not in request.query_string:
        return ""
    values = request.query.get("dryRun", [])
    return "All" if values and set(values) == {"All"} else "invalid" if values else ""


def resource_labels(request: Request) -> tuple[str, str, str, str, str, str, str]:
    """verb, group, version, resource, subresource, scope, component."""
    info: RequestInfo | None = getattr(request, "info", None)
    if info is None:
        return (_METHODS.get(request.method, _OTHER), "", "", "", "", "", COMPONENT)
    verb = verb_label(request, info)
    if not info.is_resource or UNKNOWN_RESOURCE in request.values:
        return (verb, "", "", "", "", scope_label(info), COMPONENT)
    return (verb, info.group, info.version, info.resource, info.subresource, scope_label(info), COMPONENT)
