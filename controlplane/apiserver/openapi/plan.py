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
from controlplane.apiserver.registry.peers import PeerOpenAPI
from controlplane.apiserver.registry.table import ResourceTable, Served
from controlplane.base.values import dataclass

__all__ = ["Part", "Plan", "make_plan"]

_RESOURCES_PER_STEP = 50


@dataclass(frozen=True, slots=True)
class Part:
    """One document of OpenAPI 3.0. ``gv`` and ``resources`` (each with its digest) are those of a group and version;
    a document of discovery has none. ``remote``: another server's document, whose hash the digest is. ``peers``: what
    servers on the same store have of it beside this one, whose own part has ``own_digest``."""

    key: str
    digest: str
    gv: GroupVersion | None = None
    resources: tuple[tuple[str, Served], ...] = ()
    remote: bool = False
    peers: tuple[PeerOpenAPI, ...] = ()
    own_digest: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """All documents of one table. ``parts``: by key, sorted. ``digest``: of all of them together."""

    table: ResourceTable
    parts: Mapping[str, Part]
    root: bytes
    digest: str

    def resource_digests(self) -> set[str]:
        return {digest for part in self.parts.values() for digest, _ in part.resources}


def make_plan(table: ResourceTable, digests: Digests, product: str, *, with_peers: bool = True) -> Steps[Plan]:
    """Plan the documents of a table. ``product``: what is told of the server's version. ``with_peers`` False: of what
    this server serves itself."""
    peers = _peers(table) if with_peers else {}
    keys = [*_discovery_keys(table), *(api_path(GroupVersion(gv.group, "")) for gv in peers)]
    parts = {key: Part(key, combined([builder_digest(), product, key])) for key in keys}
    planned = 0
    for group in table.groups:
        for version in group.versions:
            gv = GroupVersion(group.name, version.name)
            key = api_path(gv)
            if version.remote is not None:
                if version.remote.openapi_hash:
                    parts[key] = Part(key, version.remote.openapi_hash, remote=True)
                continue
            resources = []
            for served in version.resources.values():
                resources.append((digests.of(served), served))
                planned += 1
                if planned % _RESOURCES_PER_STEP == 0:
                    yield None
            digest = combined([builder_digest(), product, key, *(digest for digest, _ in resources)])
            parts[key] = Part(key, digest, gv, tuple(resources))
    for gv, several in peers.items():
        key = api_path(gv)
        parts[key] = _with_peers(parts.get(key), key, gv, several, product)
    parts = {key: parts[key] for key in sorted(parts)}
    paths = {key: {"serverRelativeURL": hashed_url(key, part.digest)} for key, part in parts.items()}
    swaggers = [remote.swagger.digest for remote in table.remotes.values() if remote.swagger is not None]
    digest = combined([*(part.digest for part in parts.values()), *sorted(swaggers)])
    return Plan(table, parts, orjson.dumps({"paths": paths}), digest)


def _peers(table: ResourceTable) -> dict[GroupVersion, list[PeerOpenAPI]]:
    """What other servers on the same store have, by version, in the order of their ids."""
    found: dict[GroupVersion, list[PeerOpenAPI]] = {}
    servers = table.elsewhere.servers if table.elsewhere is not None else {}
    for id_ in sorted(servers):
        for gv, document in servers[id_].openapi.items():
            found.setdefault(gv, []).append(document)
    return found


def _with_peers(own: Part | None, key: str, gv: GroupVersion, several: list[PeerOpenAPI], product: str) -> Part:
    """A document of which peers have a part. Its digest is made of those of all of them, so it is the same on all that
    write it alike: servers of one product."""
    if own is not None and own.remote:
        return own
    resources, own_digest = (own.resources, own.digest) if own is not None else ((), "")
    by_digest = {document.digest: document for document in several}
    among = sorted({*by_digest, *([own_digest] if own_digest else [])})
    is_whole = len(among) == 1 and all(document.product == product for document in several)
    digest = among[0] if is_whole else combined([builder_digest(), product, *among])
    return Part(key, digest, gv, resources, peers=tuple(by_digest.values()), own_digest=own_digest)


def _discovery_keys(table: ResourceTable) -> list[str]:
    groups = [api_path(GroupVersion(group.name, "")) for group in table.groups]
    return ["apis", "version", *groups]
