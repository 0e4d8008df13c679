"""The image of a store: live map, rings and collections, changed one event at a time, all of a revision in one step.

Synchronous: whoever calls decides where one step ends.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from controlplane.storage.cache.collection import Collection, Collections
from controlplane.storage.cache.foresight import Foreseen
from controlplane.storage.cache.index import Index
from controlplane.storage.cache.intake import Intake
from controlplane.storage.cache.metrics import DECODE_ERRORS, EVENTS_DISPATCHED, EVENTS_RECEIVED
from controlplane.storage.cache.ring import Change, Ring, RingBudget
from controlplane.storage.kv.api import Event, KeyValue

__all__ = ["Budgets", "Draft", "Image", "UnclaimedObserver"]


class UnclaimedObserver(Protocol):
    """Hears of keys that are no resource's here, in the very step that applies it. Must not raise or wait."""

    def changed(self, keys: Iterable[bytes]) -> None:
        """Their values have changed, or they have come, gone, or become a resource's."""

    def replaced(self) -> None:
        """There is another image: everything may have changed."""


_new = tuple.__new__
"""A third of the cost of calling a named tuple's class, which is made for every write."""


class Budgets(NamedTuple):
    """Ring budgets: of ordinary resources, and of those that churn (events, leases)."""

    ordinary: RingBudget = RingBudget()
    volatile: RingBudget = RingBudget(max_bytes=16 << 20)


class Image:
    """``revision``: everything up to it is in. ``collections`` live on when the image is replaced. ``unclaimed``: who
    hears of keys that are in none of them. ``foreseen``: by revision and key, what has been worked out of changes that
    are still to be applied. ``observed``: an observer has been told of something since the last step that was over."""

    def __init__(self, intake: Intake, root: bytes, budgets: Budgets) -> None:
        self.intake, self.budgets = intake, budgets
        self.index = Index()
        self.collections = Collections(root)
        self.unclaimed: list[UnclaimedObserver] = []
        self.observed = False
        self.revision = 0
        self.foreseen: dict[tuple[int, bytes], Foreseen] = {}
        self.ordinary, self.volatile = Ring(0, budgets.ordinary), Ring(0, budgets.volatile)

    def collect(self, group: str, resource: str, prefix: bytes, *, volatile: bool) -> Collection:
        """The collection of a prefix, made if it is new; its entries are raw then."""
        known = self.collections.get(prefix)
        if known is not None:
            return known
        ring = self.volatile if volatile else self.ordinary
        collection = Collection((group, resource), prefix, ring, volatile=volatile, since=self.revision)
        self.collections.add(collection)
        self.recount(collection)
        for observer in self.unclaimed:
            observer.changed(entry.key for entry in self.index.scan(prefix, collection.end))
        return collection

    def recount(self, collection: Collection) -> None:
        """Count a collection's entries anew."""
        entries = self.index.scan(collection.prefix, collection.end)
        collection.count = len(entries)
        collection.raw = sum(entry.origin.unread for entry in entries)
        collection.poisoned = sum(bool(entry.origin.poison) for entry in entries)

    def apply(self, event: Event) -> None:
        """Apply one event: live map, ring, channels."""
        key, kv = event.key, event.kv
        collection = self.collections.of(key)
        if collection is None:
            if kv is None:
                self.index.pop(key)
            else:
                self.index.put(self.intake.raw(kv))
            for observer in self.unclaimed:
                observer.changed((key,))
            return
        received = collection.received
        if received is None:
            received = collection.received = EVENTS_RECEIVED.labels_cached(collection.name)
        received.inc()
        seen = self.foreseen.pop((event.mod_revision, key), None) if self.foreseen else None
        if kv is None:
            entry, prev = None, self.index.pop(key)
            if prev is None:
                return
        else:
            entry = self.intake.read(kv, collection) if seen is None or seen.entry is None else seen.entry
            prev = self.index.put(entry)
            key = entry.key
            if entry.origin.poison:
                DECODE_ERRORS.labels_cached(collection.name).inc()
        if prev is None:
            collection.counted(entry, 1)
        elif entry is None or prev.origin is not entry.origin:
            collection.counted(prev, -1)
            collection.counted(entry, 1)
            self.intake.read_in_place(prev, collection)
        change: Change = _new(Change, (event.mod_revision, key, entry, prev))
        collection.ring.append(change)
        if collection.observer is not None:
            self.observed = True
            collection.observer(change)
        if collection.scopes:
            dispatched = collection.dispatched
            if dispatched is None:
                dispatched = collection.dispatched = EVENTS_DISPATCHED.labels_cached(collection.name)
            dispatched.inc()
            collection.show(change, seen.memo if seen is not None and seen.prev is prev else {})

    def trim(self, now: float) -> None:
        """Let the rings drop what is too old, or too much."""
        self.ordinary.trim(now)
        self.volatile.trim(now)

    @property
    def over(self) -> bool:
        """Whether a ring has to be trimmed at once."""
        return self.ordinary.over or self.volatile.over

    def replace(self, draft: Draft, revision: int) -> Index:
        """Take another state whole: what was known of the past is forgotten. Returns the live map that was replaced."""
        replaced, self.index, self.revision = self.index, draft.index, revision
        self.foreseen.clear()
        self.ordinary, self.volatile = Ring(revision, self.budgets.ordinary), Ring(revision, self.budgets.volatile)
        for collection in self.collections.all():
            collection.ring = self.volatile if collection.volatile else self.ordinary
            tally = draft.tallies.get(collection)
            if tally is None:
                self.recount(collection)  # made since the draft was begun, if there is anything to count
            else:
                collection.count, collection.raw, collection.poisoned = tally[0], 0, tally[1]
        for observer in self.unclaimed:
            observer.replaced()
        return replaced


class Draft:
    """An image's next state while it is being loaded, key by key, ascending."""

    __slots__ = ("_collections", "_intake", "index", "tallies")

    def __init__(self, image: Image) -> None:
        self._intake, self._collections = image.intake, image.collections
        self.index = Index()
        self.tallies: dict[Collection, list[int]] = {collection: [0, 0] for collection in image.collections.all()}

    def add(self, kv: KeyValue) -> None:
        tally = None if (collection := self._collections.of(kv.key)) is None else self.tallies.get(collection)
        if tally is None:
            self.index.append(self._intake.raw(kv))
            return
        entry = self._intake.read(kv, collection)
        self.index.append(entry)
        tally[0] += 1
        if entry.origin.poison:
            tally[1] += 1
