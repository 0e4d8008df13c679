"""What a request for a custom resource is aimed at. Upstream's handler for them goes by the verb alone: where a native
resource has no such method on a path, it has an opinion of its own.

Source: kubernetes/apiextensions-apiserver ``pkg/apiserver/customresource_handler.go``.
"""

from __future__ import annotations

from controlplane.apimachinery.resource import STANDARD_VERBS
from controlplane.apimachinery.status import bad_request, method_not_supported, not_found
from controlplane.apiserver.endpoints.shape import Shape, Target
from controlplane.apiserver.registry.table import Served
from controlplane.client.request_info import RequestInfo

__all__ = ["find_custom_target"]

_ACROSS_NAMESPACES = frozenset({"list", "watch"})
_NAMED = frozenset({"get", "update", "patch", "delete"})


def find_custom_target(served: Served, info: RequestInfo) -> Target | None:
    """Resolve a request for a custom resource.

    Returns:
        None if there is no such path: the scope is another.

    Raises:
        APIError: 404 no such subresource; 405 not by this verb; 400 a name is missing.
    """
    resource, verb, parts = served.resource, info.verb, info.parts
    name = parts[1] if len(parts) > 1 else ""
    if resource.namespaced:
        if not info.namespace and verb not in _ACROSS_NAMESPACES:
            return None
    elif info.namespace:
        return None
    if len(parts) > 2:
        subresource = resource.subresource(parts[2])  # what follows it is passed over
        if subresource is None:
            raise not_found(served.gr, name)
        if verb not in subresource.verbs:
            raise method_not_supported(served.gr, verb)
        return Target(served, Shape.SUBRESOURCE, info.namespace, name, subresource)
    if verb not in STANDARD_VERBS:
        raise method_not_supported(served.gr, verb)
    if verb in _NAMED:
        if not name:
            raise bad_request("name must be provided")
        return Target(served, Shape.OBJECT, info.namespace, name)
    if name and verb == "watch":
        return Target(served, Shape.OBJECT, info.namespace, name)
    everywhere = resource.namespaced and not info.namespace
    return Target(served, Shape.EVERYWHERE if everywhere else Shape.COLLECTION, info.namespace, "")
