"""What a request is aimed at: a resource of the table, a namespace, a name, a subresource; and which methods it takes.

Source: the routes that kubernetes/apiserver ``pkg/endpoints/installer.go`` registers, and how its router answers for
paths and methods that have none.
"""

from __future__ import annotations

from typing import Any

from controlplane.apimachinery.status import APIError, service_unavailable, unknown_resource
from controlplane.apiserver.endpoints.custom_target import find_custom_target
from controlplane.apiserver.endpoints.shape import Shape, Target
from controlplane.apiserver.registry.table import Served, TableHolder
from controlplane.client.request_info import RequestInfo

__all__ = ["Shape", "Target", "find_target", "method_not_allowed", "not_yet_known"]


_METHODS: dict[Shape, dict[str, tuple[str, ...]]] = {
    Shape.COLLECTION: {"GET": ("list", "watch"), "POST": ("create",), "DELETE": ("deletecollection",)},
    Shape.EVERYWHERE: {"GET": ("list", "watch")},
    Shape.OBJECT: {"GET": ("get",), "PUT": ("update",), "PATCH": ("patch",), "DELETE": ("delete",)},
    Shape.SUBRESOURCE: {"GET": ("get",), "PUT": ("update",), "PATCH": ("patch",), "POST": ("create",)},
}


def find_target(tables: TableHolder, info: RequestInfo, method: str) -> Target | None:
    """Resolve a resource request.

    Returns:
        None if nobody serves the group, or only definitions of custom resources and they do not have this path: to
        upstream that is a path like any other that nobody knows.

    Raises:
        APIError: 404 no such resource or path; 405 not by this method; 503 not known yet.
    """
    served = tables.current.lookup(info.group, info.version, info.resource)
    if served is None:
        if not tables.complete:
            raise not_yet_known()
        group = tables.current.group(info.group)
        if group is None or group.is_custom:
            return None
        raise unknown_resource()
    if not served.resource.native:
        return find_custom_target(served, info)
    if info.verb == "proxy":  # by the old prefix, under which upstream has no routes either
        raise unknown_resource()
    target = _target(served, info)
    allowed = _allowed(served, target)
    if not allowed:
        raise unknown_resource()
    if info.verb not in allowed.get(method, ()) and not _watches_object(target, info, method):
        raise method_not_allowed()
    return target


def _watches_object(target: Target, info: RequestInfo, method: str) -> bool:
    """The old ``/watch/`` prefix watches also one object, by its path."""
    return (
        info.verb == "watch"
        and method == "GET"
        and target.shape is Shape.OBJECT
        and "watch" in target.served.resource.verbs
    )


def _target(served: Served, info: RequestInfo) -> Target:
    parts, resource = info.parts, served.resource
    name = parts[1] if len(parts) > 1 else ""
    if resource.namespaced:
        namespace = info.namespace
        if name and not namespace:
            raise unknown_resource()
    else:
        namespace = ""
        if info.namespace and (name != info.namespace or resource.group or resource.plural != "namespaces"):
            raise unknown_resource()
    if len(parts) > 3:
        raise unknown_resource()
    if len(parts) == 3:
        subresource = resource.subresource(parts[2])
        if subresource is None:
            raise unknown_resource()
        return Target(served, Shape.SUBRESOURCE, namespace, name, subresource)
    if name:
        return Target(served, Shape.OBJECT, namespace, name)
    shape = Shape.EVERYWHERE if resource.namespaced and not namespace else Shape.COLLECTION
    return Target(served, shape, namespace, "")


def _allowed(served: Served, target: Target) -> dict[str, tuple[str, ...]]:
    """Methods and their verbs on this kind of path; none: there is no such path."""
    key = (target.shape, target.subresource.name if target.subresource is not None else "")
    allowed: dict[str, tuple[str, ...]] | None = served.memo.get(key)
    if allowed is None:
        has = served.resource.verbs if target.subresource is None else target.subresource.verbs
        verbs = {method: tuple(v for v in of if v in has) for method, of in _METHODS[target.shape].items()}
        allowed = served.memo[key] = {method: of for method, of in verbs.items() if of}
    return allowed


def method_not_allowed() -> APIError:
    return _by_router(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")


def not_yet_known() -> APIError:
    return service_unavailable(
        "the request has been made before all known HTTP paths have been installed, please try again", 5
    )


def _by_router(code: int, reason: str, message: str) -> APIError:
    """An error of upstream's router, which sends empty details."""
    details: dict[str, Any] = {}
    return APIError(code, reason, message, details=details)
