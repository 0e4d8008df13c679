"""Watches on an embedded store: fed with each commit, and from the log where they begin in the past or fall behind.

A watch is *live* (commits are queued for it) or *behind* (it reads the log page by page until it has caught up, then
joins the live ones in the same loop step). A consumer whose queue grows over ``QUEUE_BYTES`` goes back to being behind:
so memory stays bounded, nothing is skipped, and nobody else is held up. Only compaction can overtake it.

A watch that wants previous values always reads the log, where they are.

Guarantees (tests/unit/storage/kv/embedded/test_hub.py, ``controlplane.testing.kv`` ``watch_*``):
  ordered, whole, gapless, published after commit; see ``storage/kv/api.py``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from controlplane.storage.errors import Compacted, StorageError
from controlplane.storage.kv.api import Event, KeyValue, WatchBatch, prefix_end
from controlplane.storage.kv.embedded.log import Log
from controlplane.storage.kv.embedded.records import Record, event_of, key_value_of

__all__ = ["QUEUE_BYTES", "HubWatch", "WatchHub", "end_of"]

QUEUE_BYTES = 16 * 1024 * 1024
"""Keys and values a live watch may have queued before it is put behind. A mirror on the same loop drains each commit
within a loop turn, so only a consumer that stopped gets here."""

EVENT_BYTES = 250
"""What an event costs beside key and value, counted into the queue so that deletions are bounded too."""


def end_of(end: bytes) -> bytes | None:
    """The KV seam's range end as logs take it: ``b"\\x00"`` means to the end, None here."""
    return None if end == b"\x00" else end


class WatchHub:
    """The watches of one store, and how far it has got.

    ``revision``: the committed revision. ``compacted``: the floor. Both are written by the engine, on the loop.
    """

    __slots__ = ("_closed", "_live", "_log_fed", "_open", "compacted", "log", "revision")

    def __init__(self, log: Log, revision: int, compacted: int) -> None:
        self.log = log
        self.revision = revision
        self.compacted = compacted
        self._live: dict[HubWatch, None] = {}
        self._log_fed: dict[HubWatch, None] = {}
        self._open: dict[HubWatch, None] = {}
        self._closed: StorageError | None = None

    def __len__(self) -> int:
        return len(self._open)

    def publish(self, records: Sequence[Record]) -> None:
        """Queue a commit for every live watch. ``revision`` must have been raised to the last record's before."""
        for watch in self._log_fed:
            watch.wake()
        if not self._live:
            return
        size_bytes = len(records) * EVENT_BYTES
        for record in records:
            if record.value is not None:
                size_bytes += len(record.value)
        events = [event_of(record) for record in records]
        for watch in list(self._live):
            watch.offer(events, size_bytes)

    def join(self, watch: HubWatch) -> None:
        """Feed the watch with commits from now on."""
        self._live[watch] = None

    def part(self, watch: HubWatch) -> None:
        """Feed it no longer; it is behind."""
        self._live.pop(watch, None)

    def opened(self, watch: HubWatch) -> None:
        if self._closed is not None:
            raise self._closed
        self._open[watch] = None
        if watch.prev:
            self._log_fed[watch] = None

    def closed(self, watch: HubWatch) -> None:
        self._open.pop(watch, None)
        self._live.pop(watch, None)
        self._log_fed.pop(watch, None)

    def end_all(self, error: StorageError, *, for_good: bool = False) -> None:
        """End every watch with ``error``; ``for_good``: those opened later too."""
        for watch in list(self._open):
            watch.end(error)
        self._live.clear()
        if for_good:
            self._closed = error


class HubWatch:
    """One open watch, with one consumer. See ``storage.kv.api.Watch``."""

    __slots__ = (
        "_behind",
        "_delivered",
        "_end",
        "_error",
        "_events",
        "_hub",
        "_prefix",
        "_progress",
        "_queued_bytes",
        "_waiter",
        "prev",
    )

    def __init__(self, hub: WatchHub, prefix: bytes, start: int, *, prev: bool) -> None:
        self.prev = prev
        self._hub = hub
        self._prefix = prefix
        self._end = end_of(prefix_end(prefix))
        self._delivered = max(0, start - 1)
        self._behind = True
        self._progress = False
        self._error: StorageError | None = None
        self._events: list[Event] = []
        self._queued_bytes = 0
        self._waiter: asyncio.Future[None] | None = None

    async def __aenter__(self) -> Self:
        self._hub.opened(self)
        self._join_if_caught_up()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._hub.closed(self)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> WatchBatch:
        while True:
            if self._error is not None:
                raise self._error
            batch = await self._catch_up() if self._behind else self._take()
            if batch is not None:
                return batch
            if self._idle():
                await self._wait()

    async def request_progress(self) -> None:
        self._progress = True
        self.wake()

    # -- fed by the hub, within one loop step --------------------------------------------------------------------

    def offer(self, events: Sequence[Event], size_bytes: int) -> None:
        """Queue what concerns this watch of one commit."""
        prefix, delivered = self._prefix, self._delivered
        chosen = [event for event in events if event.mod_revision > delivered and event.key.startswith(prefix)]
        if not chosen:
            return
        if self._events and self._queued_bytes + size_bytes > QUEUE_BYTES:
            self._events, self._queued_bytes = [], 0
            self._behind = True
            self._hub.part(self)
        else:
            self._events += chosen
            self._queued_bytes += size_bytes
        self.wake()

    def end(self, error: StorageError) -> None:
        """Let the consumer take nothing more: its next step raises ``error``."""
        self._error = error
        self.wake()

    def wake(self) -> None:
        """Let the consumer look again."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    # -- the consumer's side -------------------------------------------------------------------------------------

    def _idle(self) -> bool:
        """There is nothing to deliver before the next wake."""
        if self._error is not None or self._progress:
            return False
        return self._delivered >= self._hub.revision if self._behind else not self._events

    async def _wait(self) -> None:
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _join_if_caught_up(self) -> None:
        if self._delivered >= self._hub.revision and not self.prev:
            self._behind = False
            self._hub.join(self)

    def _take(self) -> WatchBatch | None:
        """What is queued, as one batch; None if there is nothing to say."""
        if not (self._events or self._progress):
            return None
        events, self._events, self._queued_bytes, self._progress = self._events, [], 0, False
        revision = self._hub.revision
        self._delivered = max(self._delivered, revision)
        return WatchBatch(revision, events)

    async def _catch_up(self) -> WatchBatch | None:
        """The next page of the log. Nothing is given up if it is cancelled: the next call reads it again."""
        hub, first = self._hub, self._delivered + 1
        through, events = self._delivered, []
        if first <= hub.revision:
            try:
                self._require_remembered(first)
                changes = await hub.log.changes(self._prefix, self._end, first, hub.revision)
                before = await self._values_before(changes.records)
                self._require_remembered(first)
            except StorageError as error:
                self._error = error
                raise
            if self._error is not None:
                raise self._error
            through = changes.through
            events = [event_of(record, before.get(record.prev_revision)) for record in changes.records]
        self._delivered = through
        self._join_if_caught_up()
        if events:
            return WatchBatch(through, events)
        if self._progress and through >= hub.revision:
            self._progress = False
            return WatchBatch(hub.revision, ())
        return None

    def _require_remembered(self, first: int) -> None:
        if first <= self._hub.compacted:
            raise Compacted(first, self._hub.compacted)

    async def _values_before(self, records: Sequence[Record]) -> dict[int, KeyValue]:
        if not self.prev:
            return {}
        wanted = [record.prev_revision for record in records if record.prev_revision]
        found = await self._hub.log.records(wanted)
        return {record.revision: kv for record in found if (kv := key_value_of(record)) is not None}
