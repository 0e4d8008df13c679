"""The image of a store: live map, rings and collections, changed one event at a time, all of a revision in one step.

Synchronous: whoever calls decides where one step ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from controlplane.storage.cache.collection import Collection, Collections
from controlplane.storage.cache.entry import RAW, Entry
from controlplane.storage.cache.index import Index
from controlplane.storage.cache.intake import Intake
from controlplane.storage.cache.metrics import DECODE_ERRORS, EVENTS_DISPATCHED, EVENTS_RECEIVED
from controlplane.storage.cache.ring import Change, Ring, RingBudget
from controlplane.storage.kv.api import Event

__all__ = ["Budgets", "Image"]


class Budgets(NamedTuple):
    """Ring budgets: of ordinary resources, and of those that churn (events, leases)."""

    ordinary: RingBudget = RingBudget()
    volatile: RingBudget = RingBudget(max_bytes=16 << 20)


class Image:
    """``revision``: everything up to it is in. ``collections`` live on when the image is replaced."""

    def __init__(self, intake: Intake, root: bytes, budgets: Budgets) -> None:
        self.intake, self.budgets = intake, budgets
        self.index = Index()
        self.collections = Collections(root)
        self.revision = 0
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
        return collection

    def recount(self, collection: Collection) -> None:
        """Count a collection's entries anew."""
        entries = self.index.scan(collection.prefix, collection.end)
        collection.count = len(entries)
        collection.raw = sum(entry.origin is RAW for entry in entries)
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
            return
        EVENTS_RECEIVED.labels_cached(collection.name).inc()
        if kv is None:
            entry, prev = None, self.index.pop(key)
            if prev is None:
                return
        else:
            entry = self.intake.read(kv)
            prev = self.index.put(entry)
            key = entry.key
            if entry.origin.poison:
                DECODE_ERRORS.labels_cached(collection.name).inc()
        if prev is not None:
            collection.counted(prev, -1)
            self.intake.read_in_place(prev)
        collection.counted(entry, 1)
        change = Change(event.mod_revision, key, entry, prev)
        collection.ring.append(change)
        if collection.scopes:
            EVENTS_DISPATCHED.labels_cached(collection.name).inc()
            collection.show(change)

    def trim(self, now: float) -> None:
        """Keep the rings within their budgets; at the end of a step."""
        self.ordinary.trim(now)
        self.volatile.trim(now)

    def replace(self, entries: Sequence[Entry], revision: int) -> None:
        """Take another state whole: what was known of the past is forgotten."""
        self.index = Index(entries)
        self.revision = revision
        self.ordinary, self.volatile = Ring(revision, self.budgets.ordinary), Ring(revision, self.budgets.volatile)
        for collection in self.collections.all():
            collection.ring = self.volatile if collection.volatile else self.ordinary
            self.recount(collection)
