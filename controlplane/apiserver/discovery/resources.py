"""How one resource is described in discovery documents.

Source: kubernetes/apiserver ``pkg/endpoints/installer.go`` and ``pkg/endpoints/discovery/storageversionhash.go``.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.resource import Resource
from controlplane.apiserver.registry.table import Served

__all__ = ["legacy_entries", "storage_version_hash"]

_HASH_BYTES = 8


def storage_version_hash(resource: Resource) -> str:
    """Equal as long as objects are stored in the same group, version and kind; opaque to clients."""
    stored = resource.storage_gvk
    text = f"{stored.group}/{stored.version}/{stored.kind}"
    return base64.b64encode(hashlib.sha256(text.encode()).digest()[:_HASH_BYTES]).decode()


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
            "verbs": sorted(resource.verbs),
        }
        if resource.short_names:
            entry["shortNames"] = list(resource.short_names)
        if resource.categories:
            entry["categories"] = list(resource.categories)
        entry["storageVersionHash"] = storage_version_hash(resource)
        entries.append(entry)
        entries.extend(
            {
                "name": f"{resource.plural}/{subresource.name}",
                "singularName": "",
                "namespaced": resource.namespaced,
                "kind": resource.kind,
                "verbs": sorted(subresource.verbs),
            }
            for subresource in sorted(resource.subresources, key=lambda s: s.name)
        )
    return entries
