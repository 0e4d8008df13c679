"""How one resource is described in discovery documents.

Source: kubernetes/apiserver ``pkg/endpoints/installer.go`` and ``pkg/endpoints/discovery/storageversionhash.go``.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.resource import Resource, Subresource
from controlplane.apiserver.registry.table import Served

__all__ = ["legacy_entries", "shown_subresources", "shown_verbs", "storage_version_hash"]

_HASH_BYTES = 8


def storage_version_hash(resource: Resource) -> str:
    """Equal as long as objects are stored in the same group, version and kind; opaque to clients."""
    stored = resource.storage_gvk
    text = f"{stored.group}/{stored.version}/{stored.kind}"
    return base64.b64encode(hashlib.sha256(text.encode()).digest()[:_HASH_BYTES]).decode()


_CUSTOM_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
"""The verbs of custom resources, in the order of upstream's discovery of them."""


def shown_verbs(resource: Resource) -> list[str]:
    """The verbs of a resource, in upstream's order."""
    if resource.native:
        return sorted(resource.verbs)
    return [verb for verb in _CUSTOM_VERBS if verb in resource.verbs]


def shown_subresources(resource: Resource) -> Sequence[Subresource]:
    """The subresources of a resource, in upstream's order."""
    return sorted(resource.subresources, key=lambda s: s.name) if resource.native else resource.subresources


def legacy_entries(resources: Iterable[Served]) -> list[Obj]:
    """The entries of an APIResourceList: each resource followed by its subresources."""
    entries: list[Obj] = []
    for served in resources:
        resource = served.resource
        entry: Obj = {
            "name": resource.plural,
            "singularName": resource.singular,
            "namespaced": resource.namespaced,
            "kind": resource.kind,
            "verbs": shown_verbs(resource),
        }
        if resource.short_names:
            entry["shortNames"] = list(resource.short_names)
        if resource.categories:
            entry["categories"] = list(resource.categories)
        if resource.stored:
            entry["storageVersionHash"] = storage_version_hash(resource)
        entries.append(entry)
        entries.extend(
            {
                "name": f"{resource.plural}/{subresource.name}",
                "singularName": "",
                "namespaced": resource.namespaced,
                **_subresource_kind(resource, subresource),
                "verbs": sorted(subresource.verbs),
            }
            for subresource in shown_subresources(resource)
        )
    return entries


def _subresource_kind(resource: Resource, subresource: Subresource) -> Obj:
    """The kind of a subresource, with group and version if they are not its resource's."""
    shown = subresource.kind
    if shown is None:
        return {"kind": resource.kind}
    return {"group": shown.group, "version": shown.storage_version, "kind": shown.kind}
