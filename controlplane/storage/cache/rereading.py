"""What a transformer may ask of a mirror: to read again what could not be read, now that there is a key for it.

An entry is read in place, so what the ring and the live map share becomes readable in both. Nothing is sent to those
who watch: they have been told that the object cannot be read, and have left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from controlplane.base.tasks import Owner
from controlplane.storage.cache.collection import Collection
from controlplane.storage.cache.entry import Entry, origin_of
from controlplane.storage.cache.image import Image
from controlplane.storage.cache.slices import Slices

__all__ = ["Rereading"]


class Rereading:
    """See ``transform.TransformedStore``. ``changed`` hears that entries have become readable, once for all of them."""

    def __init__(self, image: Image, changed: Callable[[], None]) -> None:
        self._image, self._changed = image, changed
        self._owner: Owner | None = None
        self._asked = self._running = False

    def start(self, owner: Owner) -> None:
        """Run in tasks of ``owner`` from now on."""
        self._owner = owner
        if self._asked:
            self.reread()

    def resource_of(self, key: bytes) -> tuple[str, str]:
        return self._image.collections.name_of(key)

    def resources(self) -> list[tuple[str, str]]:
        return [collection.name for collection in self._image.collections.all()]

    def reread(self) -> None:
        self._asked = True
        if self._owner is not None and not self._running:
            self._running = True
            self._owner.start(self._read_poisoned(), name="reread")

    async def count_keys(self, group: str, plural: str) -> Mapping[str, int]:
        counts: Counter[str] = Counter()
        slices = Slices()
        for collection in self._named(group, plural):
            for entry in self._image.index.scan(collection.prefix, collection.end):
                self._image.intake.read_of(collection, entry)
                if not entry.origin.poison:
                    counts[entry.origin.key_id] += 1
                if slices.due():
                    await slices.rest()
        return counts

    def rename_key(self, group: str, plural: str, key_ids: Mapping[str, str]) -> None:
        for collection in self._named(group, plural):
            for entry in self._image.index.scan(collection.prefix, collection.end):
                origin = entry.origin
                renamed = key_ids.get(origin.key_id)
                if renamed is not None and not origin.poison:
                    entry.origin = origin_of(origin.api_version, origin.kind, renamed, origin.stale)

    def _named(self, group: str, plural: str) -> list[Collection]:
        return [found for found in self._image.collections.all() if found.name == (group, plural)]

    async def _read_poisoned(self) -> None:
        """Read what is poisoned until nobody has asked again meanwhile."""
        slices, image = Slices(), self._image
        try:
            while self._asked:
                self._asked = False
                readable = False
                for collection in image.collections.all():
                    for entry in self._poisoned(collection):
                        if image.intake.reread_in_place(entry, collection):
                            readable = True
                            if image.index.get(entry.key) is entry:
                                collection.poisoned -= 1
                        if slices.due():
                            await slices.rest()
                if readable:
                    self._changed()
        finally:
            self._running = False

    def _poisoned(self, collection: Collection) -> Iterator[Entry]:
        """What cannot be read of a collection: now, and in the ring."""
        seen: set[int] = set()
        if collection.poisoned:
            for entry in self._image.index.scan(collection.prefix, collection.end):
                if entry.origin.poison:
                    seen.add(id(entry))
                    yield entry
        for change in collection.ring.backward(collection.floor):
            if change.key.startswith(collection.prefix):
                for past in (change.prev, change.entry):
                    if past is not None and past.origin.poison and id(past) not in seen:
                        yield past
