"""``memory:``: the embedded store without a medium. For tests, and for planes whose state may go with the process."""

from __future__ import annotations

import asyncio
import sys
import uuid
from bisect import bisect_right
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence

from sortedcontainers import SortedList  # type: ignore[import-untyped]  # it has no stubs

from controlplane.base.shards import Sharded
from controlplane.storage.errors import Unavailable
from controlplane.storage.kv.api import KeyValue
from controlplane.storage.kv.backends import KVOptions
from controlplane.storage.kv.embedded.engine import EmbeddedKV
from controlplane.storage.kv.embedded.index import LiveIndex
from controlplane.storage.kv.embedded.log import FIRST_REVISION, Batch, Changes, Image
from controlplane.storage.kv.embedded.records import Record, key_value_of

__all__ = ["MemoryLog", "open_kv"]

SLICE_ITEMS = 1_000
"""Rows walked between two turns of the loop, about 1 ms."""

HISTORY_WRITES = 100_000
"""Writes kept at most: at 1 KB a value about 150 MB of memory."""


class MemoryLog:
    """Records by revision, each key's revisions, and the keys in order. See ``embedded.log.Log``."""

    version = f"memory, Python {sys.version.split()[0]}"

    def __init__(self) -> None:
        self._cluster_id = uuid.uuid4().hex
        self._records: Sharded[int, Record] = Sharded()
        self._order: list[int] = []
        self._revisions: Sharded[bytes, list[int]] = Sharded()
        self._keys: SortedList[bytes] = SortedList()
        self._new_keys: list[bytes] = []
        self._forgotten = 0
        self._forgetting = asyncio.Lock()
        self._size_bytes = 0

    async def load(self) -> Image:
        """An empty store. Asked for once: an append to memory does not fail."""
        return Image(self._cluster_id, FIRST_REVISION, 0, LiveIndex(), {})

    def append(self, batch: Batch, done: Callable[[Unavailable | None], None]) -> None:
        for record in batch.records:
            self._records[record.revision] = record
            self._order.append(record.revision)
            revisions = self._revisions.get(record.key)
            if revisions is None:
                self._revisions[record.key] = [record.revision]
                self._new_keys.append(record.key)
            else:
                revisions.append(record.revision)
            self._size_bytes += len(record.key) + len(record.value or b"")
        done(None)

    async def records(self, revisions: Sequence[int]) -> list[Record]:
        return list(self._present(revisions))

    async def snapshot(self, start: bytes, end: bytes | None, revision: int, limit: int) -> list[KeyValue]:
        items: list[KeyValue] = []
        for keys in self._slices(start, end):
            for key in keys:
                kv = self._as_of(key, revision)
                if kv is not None:
                    items.append(kv)
                    if len(items) == limit:
                        return items
            if len(keys) == SLICE_ITEMS:
                await asyncio.sleep(0)
        return items

    async def count(self, start: bytes, end: bytes | None, revision: int) -> int:
        return len(await self.snapshot(start, end, revision, 0))

    async def changes(self, start: bytes, end: bytes | None, first: int, last: int) -> Changes:
        begin, stop = bisect_right(self._order, first - 1), bisect_right(self._order, last)
        page = self._order[begin : min(stop, begin + SLICE_ITEMS)]
        through = last if begin + SLICE_ITEMS >= stop else page[-1]
        chosen = self._present(page)
        return Changes([r for r in chosen if r.key >= start and (end is None or r.key < end)], through)

    async def forget(self, revision: int) -> None:
        async with self._forgetting:
            passed = self._order[bisect_right(self._order, self._forgotten) : bisect_right(self._order, revision)]
            dead: set[int] = set()
            async for some in _in_turns(passed):
                for record in self._present(some):
                    if record.prev_revision:
                        dead.add(record.prev_revision)
                    if record.value is None:
                        dead.add(record.revision)
            async for some in _in_turns(list(dead)):
                for at in some:
                    self._drop(self._records.pop(at))
            if dead:
                seen = len(self._order)
                kept: list[int] = []
                async for some in _in_turns(self._order[:seen]):
                    kept += [at for at in some if at not in dead]
                self._order = kept + self._order[seen:]  # with what was written meanwhile
            self._forgotten = max(self._forgotten, revision)

    async def size_bytes(self) -> int:
        return self._size_bytes

    async def close(self) -> None:
        return None

    def _slices(self, start: bytes, end: bytes | None) -> Iterator[list[bytes]]:
        """The range's keys, a slice at a time, each found anew: the loop turns between them."""
        after: bytes = start
        while True:
            keys: list[bytes] = []
            for key in self._sorted_keys().irange(after, end, inclusive=(True, False)):
                keys.append(key)
                if len(keys) == SLICE_ITEMS:
                    break
            if not keys:
                return
            yield keys
            after = keys[-1] + b"\x00"

    def _sorted_keys(self) -> SortedList[bytes]:
        """Every key with a record, in order. New ones are sorted in when order is asked for, not when written."""
        if self._new_keys:
            self._keys.update(self._new_keys)
            self._new_keys = []
        return self._keys

    def _present(self, revisions: Iterable[int]) -> Iterator[Record]:
        """The records of revisions, without those that are forgotten."""
        return (record for at in revisions if (record := self._records.get(at)) is not None)

    def _as_of(self, key: bytes, revision: int) -> KeyValue | None:
        revisions = self._revisions.get(key) or ()
        at = bisect_right(revisions, revision)
        record = self._records.get(revisions[at - 1]) if at else None
        return key_value_of(record) if record is not None else None

    def _drop(self, record: Record | None) -> None:
        revisions = self._revisions.get(record.key) if record is not None else None
        if record is None or revisions is None:
            return
        self._size_bytes -= len(record.key) + len(record.value or b"")
        revisions.remove(record.revision)
        if not revisions:
            self._revisions.pop(record.key)
            self._sorted_keys().remove(record.key)


async def _in_turns(revisions: list[int]) -> AsyncIterator[list[int]]:
    """Revisions, a slice at a time; the loop turns between them."""
    for start in range(0, len(revisions), SLICE_ITEMS):
        if start:
            await asyncio.sleep(0)
        yield revisions[start : start + SLICE_ITEMS]


async def open_kv(location: str, options: KVOptions) -> EmbeddedKV:
    """Open an empty store that lives as long as it is open.

    Raises:
        ValueError: ``location`` is not empty; two stores of one name would not be the same.
    """
    if location:
        raise ValueError(f"memory: takes no location, not {location!r}")
    log = MemoryLog()
    return EmbeddedKV(
        log,
        await log.load(),
        options.clock,
        history_seconds=options.history_seconds,
        history_writes=HISTORY_WRITES,
    )
