"""Documents of the current table, each built when it is first asked for and kept until its hash changes.

Of each kind of document one is built at a time, in slices on the loop; all who ask meanwhile share it. Fragments are
kept by the digest of their resource, so that after a change of the table only those of changed resources are built
anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from controlplane.apiserver.openapi.dialect import Dialect
from controlplane.apiserver.openapi.digests import Digests
from controlplane.apiserver.openapi.documents import discovery_fragment, join_v2, join_v3, shared_fragment
from controlplane.apiserver.openapi.fragments import Fragment, build_fragment
from controlplane.apiserver.openapi.plan import Part, Plan, make_plan
from controlplane.apiserver.openapi.steps import Steps, in_slices
from controlplane.apiserver.registry.table import Served, TableHolder
from controlplane.base.clock import Clock

__all__ = ["Published", "Publisher"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Published:
    """A document as it is sent. ``modified``: since when it has this content here, in whole seconds since 1970."""

    body: Sequence[bytes]
    digest: str
    modified: int


class _Turns(Generic[T]):
    """One build at a time; who asked before it began shares what it gives."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._begun = 0
        self._latest: tuple[int, T] | None = None

    async def take(self, build: Callable[[], Awaitable[T]]) -> T:
        """The result of a build that began after this call; a failed one is tried again by the next in turn."""
        asked = self._begun
        async with self._lock:
            if self._latest is not None and self._latest[0] > asked:
                return self._latest[1]
            self._begun += 1
            number = self._begun
            result = await build()
            self._latest = (number, result)
            return result


class Publisher:
    """All documents. ``product``: the server's version, as documents tell it."""

    def __init__(self, tables: TableHolder, product: str, clock: Clock) -> None:
        self._tables, self._product, self._clock = tables, product, clock
        self._digests = Digests(product)
        self._plan: Plan | None = None
        self._root: Published | None = None
        self._fragments: dict[tuple[Dialect, str], Fragment] = {}
        self._documents: dict[str, Published] = {}
        self._swagger: Published | None = None
        self._planning, self._swaggering = _Turns[Plan](), _Turns[Published]()
        self._building = asyncio.Lock()

    async def root(self) -> Published:
        """The root document of OpenAPI 3.0, which names all others."""
        plan = await self._current_plan()
        if self._root is None or self._root.digest != plan.digest:
            self._root = self._published([plan.root], plan.digest)
        return self._root

    async def document(self, key: str) -> Published | None:
        """The document of one key (``apis/apps/v1``); None if nobody serves it."""
        part = await self._part(key)
        found = self._ready(part)
        if part is None or found is not None:
            return found
        async with self._building:
            part = await self._part(key)
            found = self._ready(part)
            if part is None or found is not None:
                return found
            pieces = await in_slices(self._document_steps(part))
            found = self._documents[key] = self._published(pieces, part.digest)
            return found

    async def swagger(self) -> Published:
        """The document of Swagger 2.0, of all that is served."""
        plan = await self._current_plan()
        if self._swagger is not None and self._swagger.digest == plan.digest:
            return self._swagger
        return await self._swaggering.take(self._build_swagger)

    async def _current_plan(self) -> Plan:
        plan = self._plan
        if plan is not None and plan.table is self._tables.current:
            return plan
        return await self._planning.take(self._make_plan)

    async def _make_plan(self) -> Plan:
        """Plan anew, and forget what the new plan has no use for."""
        table = self._tables.current
        plan = self._plan = await in_slices(make_plan(table, self._digests, self._product))
        self._digests.keep(table)
        live = plan.resource_digests()
        self._fragments = {key: value for key, value in self._fragments.items() if key[1] in live}
        self._documents = {
            key: document
            for key, document in self._documents.items()
            if key in plan.parts and plan.parts[key].digest == document.digest
        }
        if self._swagger is not None and self._swagger.digest != plan.digest:
            self._swagger = None
        return plan

    async def _part(self, key: str) -> Part | None:
        return (await self._current_plan()).parts.get(key)

    def _ready(self, part: Part | None) -> Published | None:
        known = None if part is None else self._documents.get(part.key)
        return known if known is not None and part is not None and known.digest == part.digest else None

    async def _build_swagger(self) -> Published:
        plan = await self._current_plan()
        if self._swagger is not None and self._swagger.digest == plan.digest:
            return self._swagger
        pieces = await in_slices(self._swagger_steps(plan))
        self._swagger = self._published(pieces, plan.digest)
        return self._swagger

    def _document_steps(self, part: Part) -> Steps[list[bytes]]:
        fragments = [discovery_fragment(part.key, Dialect.V3)]
        for digest, served in part.resources:
            fragments.append((yield from self._fragment(digest, served, Dialect.V3)))
        if part.gv is not None:
            fragments.append(shared_fragment([part.gv], Dialect.V3))
        return (yield from join_v3(fragments, self._product))

    def _swagger_steps(self, plan: Plan) -> Steps[list[bytes]]:
        fragments = [shared_fragment((part.gv for part in plan.parts.values() if part.gv is not None), Dialect.V2)]
        for part in plan.parts.values():
            fragments.append(discovery_fragment(part.key, Dialect.V2))
            yield
            for digest, served in part.resources:
                fragments.append((yield from self._fragment(digest, served, Dialect.V2)))
        return (yield from join_v2(fragments, self._product))

    def _fragment(self, digest: str, served: Served, dialect: Dialect) -> Steps[Fragment]:
        key = (dialect, digest)
        found = self._fragments.get(key)
        if found is None:
            found = self._fragments[key] = yield from build_fragment(served, dialect)
        return found

    def _published(self, pieces: list[bytes], digest: str) -> Published:
        return Published(pieces, digest, int(self._clock.now()))
