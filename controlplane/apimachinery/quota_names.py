"""What a resource quota counts: the names of object counts, and the resources that they stand for.

``count/plural`` and ``count/plural.group`` count objects of any namespaced resource; a few of the core group's have
names of their own besides. Names of what containers use (cpu, pods, storage) are valid in a quota, and nothing here
uses any.

Source: kubernetes ``pkg/quota/v1/generic`` and ``pkg/quota/v1/evaluator/core`` (``legacyObjectCountAliases``),
``pkg/quota/v1/install`` (``ignoredResources``).
"""

from __future__ import annotations

from controlplane.apimachinery.identity import GroupResource

__all__ = ["UNCOUNTED", "counted_resource", "quota_names"]

UNCOUNTED = frozenset({GroupResource("", "events"), GroupResource("events.k8s.io", "events")})
"""There are too many of them, and they go by themselves: neither counted nor limited."""

_COUNT = "count/"
_ALIASES = {
    "configmaps": GroupResource("", "configmaps"),
    "resourcequotas": GroupResource("", "resourcequotas"),
    "replicationcontrollers": GroupResource("", "replicationcontrollers"),
    "secrets": GroupResource("", "secrets"),
}


def counted_resource(name: str) -> GroupResource | None:
    """The resource whose objects a quota's name counts; None for a name that counts none."""
    if name in _ALIASES:
        return _ALIASES[name]
    if not name.startswith(_COUNT):
        return None
    plural, _, group = name.removeprefix(_COUNT).partition(".")
    resource = GroupResource(group, plural)
    return None if resource in UNCOUNTED else resource


def quota_names(resource: GroupResource) -> tuple[str, ...]:
    """The names under which an object of a resource is counted."""
    own = f"{_COUNT}{resource}"
    return (own, resource.resource) if _ALIASES.get(resource.resource) == resource else (own,)
