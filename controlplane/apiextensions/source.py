"""Custom resources as a source of the resource table: definitions in the mirror become resources, in the step that
applies them.

Only what changed is made anew: the resources of other definitions, with all that has been compiled for them, are taken
over. A definition whose shape is the same (a new status, a label) keeps its resources and its watches.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from controlplane.apiextensions.definition.extract import Definition, read_definition, schema_in
from controlplane.apiextensions.definition.resource import DEFINITIONS
from controlplane.apiextensions.definition.storage_form import StorageForm
from controlplane.apiextensions.settling import Settling
from controlplane.apimachinery.identity import GroupResource, Obj
from controlplane.apiserver.registry.sources import SourceDescriptor, SourceKind, SourceServices
from controlplane.apiserver.registry.table import Served
from controlplane.base import logs
from controlplane.client.request import Request
from controlplane.storage.cache.entry import Entry
from controlplane.storage.cache.ring import Change

if TYPE_CHECKING:
    from controlplane.apiextensions.custom.resource import CustomResources

__all__ = ["CUSTOM_RESOURCES", "CustomResourceSource"]

log = logs.get(__name__)


class CustomResourceSource:
    """See ``registry.sources.Source`` and, of the mirror's steps, ``storage.cache.mirror.Observer``."""

    settles = frozenset({DEFINITIONS.gr})

    def __init__(self, services: SourceServices) -> None:
        self._mirror, self._tables, self._webhooks = services.mirror, services.tables, services.webhooks
        self._builtin = frozenset(served.gr for served in services.tables.current.routes.values())
        self._prefix = services.mirror.prefix + DEFINITIONS.key_prefix.encode() + b"/"
        self._definitions: dict[str, Definition] = {}
        self._groups: dict[str, dict[str, Definition]] = {}
        self._served: dict[GroupResource, CustomResources] = {}
        self._dirty: dict[str, Entry | None] = {}
        self._foreseen: dict[bytes, tuple[Entry, Definition | None]] = {}
        self._changed: list[Callable[[], None]] = []
        self._settling = Settling(services, self)
        self._stop = self._mirror.observe(DEFINITIONS, self, foresees=self._foresee)

    # Of the mirror's steps.

    def changed(self, change: Change) -> None:
        self._dirty[change.key[len(self._prefix) :].decode()] = change.entry

    def replaced(self) -> None:
        present = {entry.key[len(self._prefix) :].decode(): entry for entry in self._mirror.entries(DEFINITIONS)}
        self._dirty = {**dict.fromkeys(self._definitions), **present}

    def step(self) -> None:
        if not self._dirty:
            return
        dirty, self._dirty = self._dirty, {}
        changes: dict[GroupResource, list[Served]] = {}
        for name, entry in dirty.items():
            self._apply(name, entry, changes)
        if changes:
            self._tables.swap(self._tables.current.with_changes(changes))
        self._settling.look_at(dirty)

    # Of sources.

    async def catch_up(self, request: Request) -> bool:
        return await self._mirror.fresh(None)

    async def settled(self) -> None:
        if await self._mirror.fresh(None):
            await self._settling.decided()

    async def close(self) -> None:
        self._stop()
        await self._settling.close()

    # Of settling.

    def definition(self, name: str) -> Definition | None:
        return self._definitions.get(name)

    def group_of(self, definition: Definition) -> Iterable[Definition]:
        """The other definitions of a definition's group."""
        return [other for other in self._groups.get(definition.group, {}).values() if other.name != definition.name]

    def resources(self, definition: Definition) -> CustomResources | None:
        """What is served of a definition."""
        return self._served.get(definition.gr)

    def _foresee(self, change: Change) -> None:
        if change.entry is not None:
            self._foreseen[change.key] = (change.entry, read_definition(change.entry))

    def _read(self, entry: Entry) -> Definition | None:
        foreseen = self._foreseen.pop(entry.key, None)
        return foreseen[1] if foreseen is not None and foreseen[0] is entry else read_definition(entry)

    def _apply(self, name: str, entry: Entry | None, changes: dict[GroupResource, list[Served]]) -> None:
        """Take over one definition's state."""
        old = self._definitions.pop(name, None)
        new = self._read(entry) if entry is not None else None
        if entry is not None and new is None:
            log.warning("a definition cannot be read", name=name)
        if old is not None:
            group = self._groups[old.group]
            del group[name]
            if not group:
                del self._groups[old.group]
        if new is not None:
            self._definitions[name] = new
            self._groups.setdefault(new.group, {})[name] = new
        old_shape, new_shape = old.shape if old is not None else (), new.shape if new is not None else ()
        if old_shape == new_shape:
            return
        if old is not None and old_shape and old.gr in self._served:
            self._mirror.end_watches(self._served.pop(old.gr).stored)
            changes[old.gr] = []
        if new is not None and new_shape and new.gr not in self._builtin:
            changes[new.gr] = self._serve(new)

    def _serve(self, definition: Definition) -> list[Served]:
        from controlplane.apiextensions.custom.resource import resources_of  # late: large, and many stores have none

        made = resources_of(
            definition,
            lambda version: self._schema(definition.name, version),
            caller=self._webhooks,
            clock=self._mirror.clock,
        )
        self._served[definition.gr] = made
        return [
            Served(resource, version, self._mirror.storage(resource, conversion=made.conversion))
            for resource in made.versions
            for version in resource.versions
            if version.served
        ]

    def _schema(self, name: str, version: str) -> Obj:
        """A version's schema, out of what the mirror has now: definitions are held once."""
        entry = self._mirror.image.index.get(self._prefix + name.encode())
        return schema_in(entry, version) if entry is not None else {}


def _start(services: SourceServices) -> CustomResourceSource:
    asyncio.get_running_loop()  # steps are on it
    return CustomResourceSource(services)


CUSTOM_RESOURCES = SourceDescriptor("customresourcedefinitions", (SourceKind(DEFINITIONS, StorageForm()),), _start)
