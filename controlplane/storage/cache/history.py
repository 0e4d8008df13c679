"""What lies before the ring, from the store's own history: a temporary watch, or a range at a revision.

Only the store's compaction ends it (``Compacted``).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import partial

from controlplane.base.aside import LONG_BYTES, aside
from controlplane.storage.cache.collection import Collection
from controlplane.storage.cache.entry import Entry
from controlplane.storage.cache.intake import Intake
from controlplane.storage.cache.metrics import HISTORY_READS
from controlplane.storage.cache.ring import Change
from controlplane.storage.cache.slices import Slices
from controlplane.storage.kv.api import KV

__all__ = ["History"]


class History:
    """``mark`` writes the marker key (see consistency), which ends a watch where progress cannot be trusted."""

    def __init__(self, kv: KV, intake: Intake, root: bytes, mark: Callable[[], Awaitable[int]]) -> None:
        self._kv, self._intake, self._root, self._mark = kv, intake, root, mark

    async def changes(self, collection: Collection, after: int) -> AsyncGenerator[tuple[int, list[Change]], None]:
        """All changes of a collection after a revision, as ``(through, changes)``: nothing up to ``through`` is
        missing.

        Never ends by itself; stop when ``through`` is far enough. It comes as far as the store was when it was called,
        even if nothing happens.

        Raises:
            Compacted, Unavailable.
        """
        HISTORY_READS.labels_cached(("watch",)).inc()
        trusted = self._kv.trustworthy_progress
        # where progress may overtake events only an event proves how far a watch has got, and the marker is one
        prefix = collection.prefix if trusted else self._root
        slices = Slices()
        async with self._kv.watch(prefix, after + 1, prev=True) as watch:
            if trusted:
                await watch.request_progress()
            else:
                await self._mark()
            async for batch in watch:
                changes: list[Change] = []
                if fetching := self._intake.fetch(kv for event in batch.events for kv in (event.kv, event.prev)):
                    await fetching
                for event in batch.events:
                    if event.key.startswith(collection.prefix):
                        entry = self._intake.read(event.kv, collection) if event.kv is not None else None
                        prev = self._intake.read(event.prev, collection) if event.prev is not None else None
                        changes.append(Change(event.mod_revision, event.key, entry, prev))
                    if slices.due():
                        await slices.rest()
                yield batch.revision, changes

    async def page(
        self, collection: Collection, start: bytes, end: bytes, revision: int, limit: int
    ) -> tuple[list[Entry], int, int]:
        """Entries of a range of a collection at a revision (0 is the newest), at most ``limit`` (0 is all).

        Returns:
            The entries; how many there were before the cut; the store's revision when read.

        Raises:
            Compacted, FutureRevision, Unavailable.
        """
        HISTORY_READS.labels_cached(("list",)).inc()
        result = await self._kv.range(start, end, revision=revision, limit=limit)
        if fetching := self._intake.fetch(result.items):
            await fetching
        slices = Slices()
        entries: list[Entry] = []
        for kv in result.items:
            if len(kv.value) < LONG_BYTES:
                entries.append(self._intake.read(kv, collection))
            else:
                entries.append(await aside(partial(self._intake.read, kv, collection)))
            if slices.due():
                await slices.rest()
        return entries, result.total, result.revision
