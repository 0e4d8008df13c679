"""Which documents there are for a table, by which hashes, and the root document that names them. Nothing is built yet.

Source: kubernetes/kube-openapi ``pkg/handler3`` for the root document's form.
"""

from __future__ import annotations

from collections.abc import Mapping

import orjson

from controlplane.apimachinery.identity import GroupVersion
from controlplane.apiserver.openapi.digests import Digests, builder_digest, combined
from controlplane.apiserver.openapi.discovery_operations import api_path
from controlplane.apiserver.openapi.steps import Steps
from controlplane.apiserver.openapi.urls import hashed_url
from controlplane.apiserver.registry.table import ResourceTable, Served
from controlplane.base.values import dataclass

__all__ = ["Part", "Plan", "make_plan"]

_RESOURCES_PER_STEP = 50


@dataclass(frozen=True, slots=True)
class Part:
    """One document of OpenAPI 3.0. ``gv`` and ``resources`` (each with its digest) are those of a group and version;
    a document of discovery has none."""

    key: str
    digest: str
    gv: GroupVersion | None = None
    resources: tuple[tuple[str, Served], ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """All documents of one table. ``parts``: by key, sorted. ``digest``: of all of them together."""

    table: ResourceTable
    parts: Mapping[str, Part]
    root: bytes
    digest: str

    def resource_digests(self) -> set[str]:
        return {digest for part in self.parts.values() for digest, _ in part.resources}


def make_plan(table: ResourceTable, digests: Digests, product: str) -> Steps[Plan]:
    """Plan the documents of a table. ``product``: what is told of the server's version."""
    parts = {key: Part(key, combined([builder_digest(), product, key])) for key in _discovery_keys(table)}
    planned = 0
    for group in table.groups:
        for version in group.versions:
            gv = GroupVersion(group.name, version.name)
            key = api_path(gv)
            resources = []
            for served in version.resources.values():
                resources.append((digests.of(served), served))
                planned += 1
                if planned % _RESOURCES_PER_STEP == 0:
                    yield
            digest = combined([builder_digest(), product, key, *(digest for digest, _ in resources)])
            parts[key] = Part(key, digest, gv, tuple(resources))
    parts = {key: parts[key] for key in sorted(parts)}
    paths = {key: {"serverRelativeURL": hashed_url(key, part.digest)} for key, part in parts.items()}
    return Plan(table, parts, orjson.dumps({"paths": paths}), combined(part.digest for part in parts.values()))


def _discovery_keys(table: ResourceTable) -> list[str]:
    groups = [api_path(GroupVersion(group.name, "")) for group in table.groups]
    return ["apis", "version", *groups]
