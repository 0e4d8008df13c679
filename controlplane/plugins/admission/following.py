"""Following the objects that configure admission: each is told of in the step that applies its change.

What is built from them is built when it is next asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from controlplane.apimachinery.codec.json import MalformedJSON, loads
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.resource import Resource
from controlplane.base import logs
from controlplane.storage.cache.entry import Entry
from controlplane.storage.cache.mirror import Mirror
from controlplane.storage.cache.ring import Change
from controlplane.storage.errors import Unreadable

__all__ = ["Followed"]

log = logs.get(__name__)


class Followed:
    """All objects of a cluster-scoped resource, by name. ``on_change`` is called after each change, in the mirror's
    step, with the names of those that have changed, come or gone."""

    def __init__(self, mirror: Mirror, resource: Resource, on_change: Callable[[Collection[str]], None]) -> None:
        self._mirror, self._resource, self._on_change = mirror, resource, on_change
        self._prefix = len(mirror.prefix) + len(resource.key_prefix) + 1
        self._objects: dict[str, Obj] = {}
        self.stop = mirror.observe(resource, self)

    def __bool__(self) -> bool:
        return bool(self._objects)

    def get(self, name: str) -> Obj | None:
        """One of them."""
        return self._objects.get(name)

    def sorted(self) -> list[Obj]:
        """The objects, by name."""
        return [self._objects[name] for name in sorted(self._objects)]

    def changed(self, change: Change) -> None:
        self._on_change((self._put(change.key, change.entry),))

    def replaced(self) -> None:
        gone = list(self._objects)
        self._objects.clear()
        there = [self._put(entry.key, entry) for entry in self._mirror.entries(self._resource)]
        self._on_change({*gone, *there})

    def step(self) -> None:
        """Nothing is put off."""

    def _put(self, key: bytes, entry: Entry | None) -> str:
        """Take what there is at a key; returns its name."""
        name = key[self._prefix :].decode()
        self._objects.pop(name, None)
        if entry is None:
            return name
        try:
            entry.require_readable()
            obj: Any = loads(entry.data)
        except (Unreadable, MalformedJSON) as error:
            log.warning("an object that configures admission cannot be read, and has no effect", name=name, error=error)
        else:
            self._objects[name] = obj
        return name
