"""All that is learned from one peer: its resources first, then OpenAPI of those that are not served here alike."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple, Protocol

from controlplane.apimachinery.identity import GroupVersion, Obj
from controlplane.apiserver.discovery.documents import Documents
from controlplane.apiserver.openapi.remote_parts import hash_in, part_of, product_of
from controlplane.apiserver.registry.peers import Peer, PeerOpenAPI
from controlplane.apiserver.registry.table import TableHolder
from controlplane.client.forward.transport import ForwardTransport
from controlplane.peerproxy.discovery import PeerDocuments, checked, parsed, path_of
from controlplane.peerproxy.everybodys import Everybodys
from controlplane.peerproxy.trust import PeerTrust

__all__ = ["Fetch", "PeerFetch", "Resources"]


class Resources(NamedTuple):
    """Aggregated groups, and the lists of resources of their versions, which say more: how each is stored."""

    groups: tuple[Obj, ...]
    legacy: Mapping[GroupVersion, Mapping[str, Obj]]


class Fetch(Protocol):
    """Asks one peer. Raises ``discovery.AskFailed``. What a peer does not have is left out."""

    async def resources(self, peer: Peer) -> Resources: ...

    async def openapi(self, peer: Peer, groups: Sequence[Obj]) -> Mapping[GroupVersion, PeerOpenAPI]: ...


class PeerFetch:
    """Asks over ``transport``. ``whole`` False: aggregated discovery is all that is wanted."""

    def __init__(
        self, transport: ForwardTransport, trust: PeerTrust, tables: TableHolder, everybodys: Everybodys, *, whole: bool
    ) -> None:
        self._documents = PeerDocuments(transport, trust)
        self._tables, self._everybodys, self._whole = tables, everybodys, whole

    async def resources(self, peer: Peer) -> Resources:
        before = self._everybodys.names()
        groups = self._everybodys.left_out(await self._documents.groups(peer), before=before)
        gvs = [
            GroupVersion(group["metadata"].get("name") or "", version["version"])
            for group in groups
            for version in group.get("versions") or ()
            if self._whole
        ]
        return Resources(groups, await self._documents.legacy(peer, gvs))

    async def openapi(self, peer: Peer, groups: Sequence[Obj]) -> Mapping[GroupVersion, PeerOpenAPI]:
        gvs = list(self._differing(groups)) if self._whole else []
        if not gvs:
            return {}
        swagger = await self._documents.body(peer, "/openapi/v2")
        if swagger is None:
            return {}
        v2 = await asyncio.to_thread(parsed, "/openapi/v2", swagger)
        root = await self._documents.document(peer, "/openapi/v3", absent={})
        found: dict[GroupVersion, PeerOpenAPI] = {}
        for gv in gvs:
            path = path_of(gv)
            digest = checked(partial(hash_in, root, path), "/openapi/v3")
            body = await self._documents.body(peer, f"/openapi/v3{path}")
            if body is None or not digest:
                continue
            v3 = await asyncio.to_thread(parsed, path, body)
            parts = [
                checked(partial(part_of, document, f"{path}/", digest), where)
                for where, document in ((f"/openapi/v3{path}", v3), ("/openapi/v2", v2))
            ]
            found[gv] = PeerOpenAPI(
                digest=digest, product=checked(partial(product_of, v3), path), v3=parts[0], v2=parts[1]
            )
        return found

    def _differing(self, groups: Sequence[Obj]) -> Iterator[GroupVersion]:
        """The versions of which a peer says something else than this server."""
        own = Documents(self._tables.current, "")
        for group in self._everybodys.left_out(groups):
            name: str = group["metadata"].get("name") or ""
            for version in group.get("versions") or ():
                if version != own.described_version(name, version["version"]):
                    yield GroupVersion(name, version["version"])
