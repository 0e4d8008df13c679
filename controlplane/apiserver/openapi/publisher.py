"""Documents of the current table, each built when it is first asked for and kept until its hash changes.

Of each kind of document one is built at a time, in slices on the loop; all who ask meanwhile share it. Fragments are
kept by the digest of their resource, so that after a change of the table only those of changed resources are built
anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial

import orjson

from controlplane.apimachinery.identity import Obj
from controlplane.apiserver.openapi.dialect import Dialect, Encoding
from controlplane.apiserver.openapi.digests import Digests
from controlplane.apiserver.openapi.fragments import (
    Encoder,
    Fragment,
    discovery_fragment,
    resource_fragment,
    shared_fragment,
)
from controlplane.apiserver.openapi.json_documents import JSONEncoder
from controlplane.apiserver.openapi.plan import Part, Plan, make_plan
from controlplane.apiserver.openapi.protobuf_documents import ProtobufEncoder
from controlplane.apiserver.openapi.remote_fragments import peer_part, remote_fragments
from controlplane.apiserver.openapi.steps import Steps, in_slices
from controlplane.apiserver.openapi.turns import Turns
from controlplane.apiserver.registry.remote import RemoteSwagger
from controlplane.apiserver.registry.table import Served, TableHolder
from controlplane.base.aside import LONG_BYTES
from controlplane.base.clock import Clock
from controlplane.base.values import dataclass

__all__ = ["Published", "Publisher"]

_ENCODERS: Mapping[tuple[Dialect, Encoding], Encoder] = {
    (dialect, encoding): JSONEncoder(dialect) if encoding is Encoding.JSON else ProtobufEncoder(dialect)
    for dialect in Dialect
    for encoding in Encoding
}


@dataclass(frozen=True, slots=True)
class Published:
    """A document as it is sent. ``modified``: since when it has this content here, in whole seconds since 1970."""

    body: Sequence[bytes]
    digest: str
    modified: int


class Publisher:
    """All documents. ``product``: the server's version, as documents tell it. ``with_peers`` False: of what this server
    serves itself, without what other servers on the same store do."""

    def __init__(self, tables: TableHolder, product: str, clock: Clock, *, with_peers: bool = True) -> None:
        self._with_peers = with_peers
        self._tables, self._product, self._clock = tables, product, clock
        self._digests = Digests(product)
        self._plan: Plan | None = None
        self._root: Published | None = None
        self._fragments: dict[tuple[Dialect, Encoding, str], Fragment] = {}
        self._documents: dict[tuple[str, Encoding], Published] = {}
        self._swaggers: dict[Encoding, Published] = {}
        self._planning = Turns[Plan]()
        self._swaggering = {encoding: Turns[Published]() for encoding in Encoding}
        self._building = asyncio.Lock()

    async def root(self) -> Published:
        """The root document of OpenAPI 3.0, which names all others."""
        plan = await self._current_plan()
        if self._root is None or self._root.digest != plan.digest:
            self._root = self._published([plan.root], plan.digest)
        return self._root

    async def document(self, key: str, encoding: Encoding = Encoding.JSON) -> Published | None:
        """The document of one key (``apis/apps/v1``); None if nobody serves it."""
        part = await self._part(key)
        found = self._ready(part, encoding)
        if part is None or found is not None:
            return found
        async with self._building:
            part = await self._part(key)
            found = self._ready(part, encoding)
            if part is None or found is not None:
                return found
            pieces = await in_slices(self._document_steps(part, encoding))
            found = self._documents[key, encoding] = self._published(pieces, part.digest)
            return found

    async def swagger(self, encoding: Encoding = Encoding.JSON) -> Published:
        """The document of Swagger 2.0, of all that is served."""
        plan = await self._current_plan()
        known = self._swaggers.get(encoding)
        if known is not None and known.digest == plan.digest:
            return known
        return await self._swaggering[encoding].take(lambda: self._build_swagger(encoding))

    async def _current_plan(self) -> Plan:
        plan = self._plan
        if plan is not None and plan.table is self._tables.current:
            return plan
        return await self._planning.take(self._make_plan)

    async def _make_plan(self) -> Plan:
        """Plan anew, and forget what the new plan has no use for."""
        table = self._tables.current
        plan = self._plan = await in_slices(make_plan(table, self._digests, self._product, with_peers=self._with_peers))
        live = plan.resource_digests()
        self._fragments = {key: value for key, value in self._fragments.items() if key[2] in live}
        self._documents = {
            key: document
            for key, document in self._documents.items()
            if key[0] in plan.parts and plan.parts[key[0]].digest == document.digest
        }
        self._swaggers = {key: value for key, value in self._swaggers.items() if value.digest == plan.digest}
        return plan

    async def _part(self, key: str) -> Part | None:
        return (await self._current_plan()).parts.get(key)

    def _ready(self, part: Part | None, encoding: Encoding) -> Published | None:
        if part is None:
            return None
        known = self._documents.get((part.key, encoding))
        return known if known is not None and known.digest == part.digest else None

    async def _build_swagger(self, encoding: Encoding) -> Published:
        plan = await self._current_plan()
        known = self._swaggers.get(encoding)
        if known is not None and known.digest == plan.digest:
            return known
        pieces = await in_slices(self._swagger_steps(plan, encoding))
        built = self._swaggers[encoding] = self._published(pieces, plan.digest)
        return built

    def _document_steps(self, part: Part, encoding: Encoding) -> Steps[list[bytes]]:
        encoder = _ENCODERS[Dialect.V3, encoding]
        fragments = [(yield from discovery_fragment(part.key, encoder))]
        if part.gv is not None:
            fragments.append((yield from shared_fragment([part.gv], encoder)))
        if part.peers:
            swaggers = yield from self._of_all(part, Dialect.V3)
            fragments += yield from remote_fragments(swaggers, fragments, encoder)
        else:
            for digest, served in part.resources:
                fragments.append((yield from self._fragment(digest, served, encoding, encoder)))
        return (yield from encoder.join(fragments, self._product))

    def _swagger_steps(self, plan: Plan, encoding: Encoding) -> Steps[list[bytes]]:
        encoder = _ENCODERS[Dialect.V2, encoding]
        gvs = [part.gv for part in plan.parts.values() if part.gv is not None]
        fragments = [(yield from shared_fragment(gvs, encoder))]
        others = [plan.table.remotes[gv].swagger for gv in sorted(plan.table.remotes)]
        swaggers = [swagger for swagger in others if swagger is not None]
        for part in plan.parts.values():
            if part.remote:
                continue
            fragments.append((yield from discovery_fragment(part.key, encoder)))
            if part.peers:
                swaggers += yield from self._of_all(part, Dialect.V2)
                continue
            for digest, served in part.resources:
                fragments.append((yield from self._fragment(digest, served, encoding, encoder)))
        if swaggers:
            fragments += yield from remote_fragments(swaggers, fragments, encoder)
        return (yield from encoder.join(fragments, self._product))

    def _of_all(self, part: Part, dialect: Dialect) -> Steps[list[RemoteSwagger]]:
        """What all servers on the store say of a version of which peers have a part, in an order that all agree on:
        where two say something of one name, the first counts."""
        several = [peer_part(peer.v3 if dialect is Dialect.V3 else peer.v2) for peer in part.peers]
        if part.resources and all(peer.digest != part.own_digest for peer in part.peers):
            paths: dict[str, Obj] = {}
            definitions: dict[str, Obj] = {}
            encoder = _ENCODERS[dialect, Encoding.JSON]
            for digest, served in part.resources:
                fragment = yield from self._fragment(digest, served, Encoding.JSON, encoder)
                for found, encoded in ((paths, fragment.paths), (definitions, fragment.definitions)):
                    for name, text in encoded.items():
                        read = partial(orjson.loads, text)
                        found[name] = read() if len(text) < LONG_BYTES else (yield read)
                yield None
            several.append(RemoteSwagger(part.own_digest, paths, definitions))
        return sorted(several, key=lambda one: one.digest)

    def _fragment(self, digest: str, served: Served, encoding: Encoding, encoder: Encoder) -> Steps[Fragment]:
        key = (encoder.dialect, encoding, digest)
        found = self._fragments.get(key)
        if found is None:
            found = self._fragments[key] = yield from resource_fragment(served, encoder)
        return found

    def _published(self, pieces: list[bytes], digest: str) -> Published:
        return Published(pieces, digest, int(self._clock.now()))
