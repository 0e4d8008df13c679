"""Lists: one snapshot of a range, now or at an exact revision, filtered and cut, without holding the loop.

The present is a slice of the live map. A recent past is the present rolled back by the ring; an older one is read from
the store. Long work is sliced: the snapshot is taken in one step, before the first pause.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from heapq import merge
from itertools import islice

from controlplane.base.aside import LONG_BYTES, aside
from controlplane.storage.api import Freshness, ListResult, Match, Predicate
from controlplane.storage.cache.entry import Entry
from controlplane.storage.cache.metrics import CONSISTENT_READS, READ_WAIT
from controlplane.storage.cache.mirror import Mirror
from controlplane.storage.cache.slices import MANY_ENTRIES, Slices
from controlplane.storage.cache.view import View
from controlplane.storage.errors import Compacted, FutureRevision, Stale, Unreadable, UnreadableList
from controlplane.storage.kv.api import LATEST

__all__ = ["Lister"]

HISTORY_PAGE = 500
"""Objects read at once from the store's history while a predicate looks for enough of them."""
SORTED_KEYS = 2_000
"""Sorted at once, in less than a millisecond."""
UNREADABLE_LIMIT = 100
"""Unreadable objects after which a list gives up naming them, as upstream."""


class Lister:
    """Lists of one view."""

    __slots__ = ("_mirror", "_view")

    def __init__(self, mirror: Mirror, view: View) -> None:
        self._mirror, self._view = mirror, view

    async def page(
        self,
        scope: tuple[bytes, bytes],
        predicate: Predicate,
        fresh: Freshness,
        *,
        version: str,
        limit: int,
    ) -> ListResult:
        """List ``start <= key < end``. See ``storage.api.Storage.list``."""
        mirror, revision = self._mirror, fresh.revision
        if revision is None:
            if not await self.prove_current():
                return await self._list_stored(scope, predicate, LATEST, version=version, limit=limit)
        elif revision > mirror.revision and not await mirror.fresh(revision):
            raise FutureRevision(revision, mirror.revision)
        start, end = scope
        if revision and fresh.match is Match.EXACT:
            if revision < mirror.horizon:
                raise Compacted(revision, mirror.horizon)
            if revision < self._view.collection.floor:
                return await self._list_stored(scope, predicate, revision, version=version, limit=limit)
            entries = await self._rolled_back(start, end, revision)
        else:
            revision = mirror.revision
            if limit and not predicate.signature:  # the usual first page: gather no more than it
                total = mirror.image.index.count(start, end)
                entries = mirror.image.index.scan(start, end, limit=limit)
                await self._prepare(entries)
                return _page(entries, total, revision, limit)
            entries = mirror.image.index.scan(start, end)
            if len(entries) >= MANY_ENTRIES:
                await asyncio.sleep(0)
        if predicate.signature:
            return await self._filtered(entries, predicate, revision, version=version, limit=limit)
        total = len(entries)
        entries = entries[:limit] if limit else entries
        await self._prepare(entries)
        return _page(entries, total, revision, limit)

    async def prove_current(self) -> bool:
        """Whether memory may answer a consistent read; False: the store has to.

        Raises:
            Stale: the mirror has lost its stream.
        """
        mirror, (group, resource) = self._mirror, self._view.resource.gr
        if mirror.consistency.reached_nowait():
            return True
        asked = mirror.clock.monotonic()
        proved = await mirror.consistency.reached()
        READ_WAIT.labels_cached((group, resource)).observe(mirror.clock.monotonic() - asked)
        CONSISTENT_READS.labels_cached((group, resource, str(proved).lower(), str(not proved).lower())).inc()
        if not proved and not mirror.ready:
            raise Stale(mirror.not_ready_reason)
        return proved

    async def _rolled_back(self, start: bytes, end: bytes, revision: int) -> list[Entry]:
        """The range as it was at a revision that the ring reaches."""
        live = self._mirror.image.index.scan(start, end)
        then: dict[bytes, Entry | None] = {}
        slices = Slices()
        # of several changes of one key the oldest is looked at last: its previous state is the one that stays
        for change in self._view.collection.ring.backward(revision):
            if start <= change.key < end:
                then[change.key] = change.prev
            if slices.due():
                await slices.rest()
        if not then:
            return live
        kept: list[Entry] = []
        at = 0
        for key in await _sorted(then, slices):  # all that lies between two changed ones is taken over at once
            place = bisect_left(live, key, lo=at, key=_key)
            kept += live[at:place]
            at = place + 1 if place < len(live) and live[place].key == key else place
            entry = then[key]
            if entry is not None:
                kept.append(entry)
            if slices.due():
                await slices.rest()
        return kept + live[at:]

    async def _filtered(
        self, entries: Sequence[Entry], predicate: Predicate, revision: int, *, version: str, limit: int
    ) -> ListResult:
        """A page is followed by another one if anything follows its last entry, whether it matches or not: as upstream,
        nobody looks so far."""
        await self._prepare(entries)
        matching, seen = await self._matching(entries, predicate, version, enough=limit)
        if limit and len(matching) == limit and seen < len(entries):
            return ListResult(matching, revision, _after(matching[-1]), None)
        return ListResult(matching, revision, None, None)

    async def _matching(
        self, entries: Sequence[Entry], predicate: Predicate, version: str, *, enough: int
    ) -> tuple[list[Entry], int]:
        """The entries that match, at most ``enough`` (0 is all), and how many have been looked at."""
        view, slices = self._view, Slices()
        matching: list[Entry] = []
        if view.is_remote:
            await view.ready(entries, version)
        for i, entry in enumerate(entries, 1):
            if view.is_remote and not view.is_ready(entry, version):  # no more, after a rest
                await view.ready((entry,), version)
            if len(entry.data) < LONG_BYTES:
                matches = predicate.matches(view.decode(entry, version))
            else:
                matches = await aside(partial(_matches, view, entry, version, predicate))
            if matches:
                matching.append(entry)
                if len(matching) == enough:
                    return matching, i
            if slices.due():
                await slices.rest()
        return matching, len(entries)

    async def _list_stored(
        self, scope: tuple[bytes, bytes], predicate: Predicate, revision: int, *, version: str, limit: int
    ) -> ListResult:
        """The same from the store: an older revision, or the newest when memory cannot be proved current."""
        start, end = scope
        size = 0 if not limit else limit if not predicate.signature else max(limit, HISTORY_PAGE)
        found: list[Entry] = []
        while True:
            entries, total, current = await self._mirror.history.page(self._view.collection, start, end, revision, size)
            revision = revision or current
            if not predicate.signature:
                await self._prepare(entries)
                return _page(entries, total, revision, limit)
            await self._prepare(entries)
            more, seen = await self._matching(entries, predicate, version, enough=limit and limit - len(found))
            found += more
            if limit and len(found) == limit and seen < total:
                return ListResult(found, revision, _after(found[-1]), None)
            if not entries or len(entries) >= total:
                return ListResult(found, revision, None, None)
            start = _after(entries[-1])

    async def _prepare(self, entries: Sequence[Entry]) -> None:
        """Make sure that every entry can be served.

        Raises:
            UnreadableList: names those that cannot, up to a hundred.
        """
        view = self._view
        if not (view.collection.raw or view.collection.poisoned):
            return
        slices = Slices()
        unreadable: list[Unreadable] = []
        for entry in entries:
            if not entry.origin.api_version:
                try:
                    view.prepare(entry)
                except Unreadable as error:
                    unreadable.append(error)
                    if len(unreadable) == UNREADABLE_LIMIT:
                        break
                if slices.due():
                    await slices.rest()
        if unreadable:
            raise UnreadableList(unreadable)


async def _sorted(keys: Collection[bytes], slices: Slices) -> Iterator[bytes]:
    """Keys in order: sorted in pieces, which are merged as they are asked for."""
    left, pieces = iter(keys), []
    while piece := sorted(islice(left, SORTED_KEYS)):
        pieces.append(piece)
        if slices.due():
            await slices.rest()
    return merge(*pieces)


def _matches(view: View, entry: Entry, version: str, predicate: Predicate) -> bool:
    return predicate.matches(view.decode(entry, version))


def _key(entry: Entry) -> bytes:
    return entry.key


def _after(entry: Entry) -> bytes:
    return entry.key + b"\x00"


def _page(entries: Sequence[Entry], total: int, revision: int, limit: int) -> ListResult:
    if limit and total > len(entries):
        return ListResult(entries, revision, _after(entries[-1]), total - len(entries))
    return ListResult(entries, revision, None, 0)
