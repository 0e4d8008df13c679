"""What definitions need beyond being stored: a status, and, when they are deleted, the removal of their instances.

What is to be done is read off the definitions in the mirror, so any replica does it, whoever accepted the write; where
two do the same, one of their writes fails its condition and the other's is found done.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from controlplane.apiextensions.cleanup import InstanceRemoval, needs_cleanup
from controlplane.apiextensions.definition.extract import Definition
from controlplane.apiextensions.definition.resource import DEFINITIONS
from controlplane.apiextensions.definition.storage_form import SERVED
from controlplane.apiextensions.names import decide
from controlplane.apimachinery.identity import Key, Obj
from controlplane.apimachinery.resource import Strategy
from controlplane.apimachinery.status import APIError
from controlplane.apiserver.registry.sources import SourceServices
from controlplane.apiserver.registry.table import Served
from controlplane.apiserver.registry.update import Produce, Update, update
from controlplane.base import logs
from controlplane.base.aside import release
from controlplane.base.tasks import Owner

if TYPE_CHECKING:
    from controlplane.apiextensions.custom.resource import CustomResources

__all__ = ["Definitions", "Settling"]

log = logs.get(__name__)

RETRY_SECONDS = 1.0
"""After a failed write: the store is away, and asking faster brings nothing."""
AT_ONCE = 8
"""Status writes under way at a time; a start may find hundreds to be done."""


class Definitions(Protocol):
    """The definitions as the mirror has them."""

    def definition(self, name: str) -> Definition | None: ...

    def group_of(self, definition: Definition) -> Iterable[Definition]: ...

    def resources(self, definition: Definition) -> CustomResources | None: ...


class Settling:
    """Works on what is undecided, each definition in a task of its own."""

    def __init__(self, services: SourceServices, definitions: Definitions) -> None:
        self._services, self._definitions = services, definitions
        self._owner = Owner("definitions", on_failure=services.on_failure)
        self._working: set[str] = set()
        self._undecided: set[str] = set()
        self._blocked: dict[str, set[str]] = {}  # by group: those whose names are not all accepted
        self._removals: dict[str, InstanceRemoval] = {}
        self._waiting: list[tuple[set[str], asyncio.Future[None]]] = []
        self._slots = asyncio.Semaphore(AT_ONCE)

    def look_at(self, names: Iterable[str]) -> None:
        """Definitions have changed: see what is to be done, for them and for those that wait for a name of theirs."""
        concerned = set(names)
        for name in tuple(concerned):
            concerned |= self._blocked.get(name.partition(".")[2], set())
        for name in concerned:
            self._look_at(name)
        self._tell()

    async def decided(self) -> None:
        """Wait until all that is undecided now is decided."""
        if not self._undecided:
            return
        promise: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((set(self._undecided), promise))
        await promise

    async def close(self) -> None:
        await self._owner.close()

    def _look_at(self, name: str) -> None:
        definition = self._definitions.definition(name)
        group = self._blocked.setdefault(name.partition(".")[2], set())
        group.discard(name)
        if not group:
            self._blocked.pop(name.partition(".")[2], None)
        if definition is None:
            self._undecided.discard(name)
            return
        if decide(definition, self._definitions.group_of(definition), self._services.registry.now) is None:
            self._undecided.discard(name)
        else:
            self._undecided.add(name)
            if name not in self._working:
                self._working.add(name)
                self._owner.start(self._settle(name), name=f"settle {name}")
        if not definition.is_true("NamesAccepted"):
            self._blocked.setdefault(definition.group, set()).add(name)
        if needs_cleanup(definition) and name not in self._removals:
            self._removals[name] = InstanceRemoval(self._services, lambda: self._definitions.resources(definition))
            self._owner.start(self._remove_instances(name, definition), name=f"remove {name}")

    def _tell(self) -> None:
        """Wake those who wait for nothing any more."""
        waiting, self._waiting = self._waiting, []
        for names, promise in waiting:
            names &= self._undecided
            if names:
                self._waiting.append((names, promise))
            elif not promise.done():
                promise.set_result(None)

    async def _settle(self, name: str) -> None:
        """Write the status of one definition, until there is nothing to write."""
        try:
            while (definition := self._definitions.definition(name)) is not None and name in self._undecided:
                async with self._slots:
                    written = await self._write_status(definition)
                if not written or not await self._services.mirror.fresh(None):
                    await self._services.registry.clock.sleep(RETRY_SECONDS)
        finally:
            self._working.discard(name)

    async def _write_status(self, definition: Definition) -> bool:
        """Write the status. Returns whether there is news to wait for: it is written, by somebody else perhaps, or the
        definition is gone."""

        async def produce(old: Obj | None) -> Obj:
            assert old is not None
            current = self._definitions.definition(definition.name) or definition
            status = decide(current, self._definitions.group_of(current), self._services.registry.now)
            if status is None or current.uid != old["metadata"].get("uid"):
                return old
            return {**old, "metadata": dict(old["metadata"]), "status": {**old["status"], **status}}

        try:
            return await self.update_definition(definition.name, produce) != definition.mod_revision
        except APIError as error:
            if error.reason in ("NotFound", "Conflict"):
                return True
            log.warning("a definition's status cannot be written now", name=definition.name, error=error)
            return False

    async def update_definition(self, name: str, produce: Produce) -> int:
        """Change a definition through its status. Returns the revision of its state then, 0 if it is gone.

        Raises:
            APIError.
        """
        served = self._services.tables.current.lookup(DEFINITIONS.group, SERVED, DEFINITIONS.plural)
        assert served is not None
        try:
            written = await update(self._services.registry, _status_update(served, name, produce))
        finally:
            release()
        return written.entry.mod_revision if written.entry is not None else 0

    async def _remove_instances(self, name: str, definition: Definition) -> None:
        """See a deletion through."""
        try:
            await self._removals[name].run(definition, self.update_definition)
        finally:
            del self._removals[name]


def _status_update(served: Served, name: str, produce: Produce) -> Update:
    status = served.resource.subresource("status")
    strategy: Strategy = status.strategy if status is not None else served.resource.strategy
    return Update(
        served=served,
        strategy=strategy,
        key=Key("", name),
        produce=produce,
        admit_create=None,
        admit_update=None,
        warn=lambda _text: None,
    )
