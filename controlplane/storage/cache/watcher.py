"""One watch, from its first byte to its last.

Its life: the state first, if asked for; then catching up, from the store's history and from the ring, in slices and no
faster than its sink takes them; then live, as a member of a channel. A live watcher whose sink is full goes back to
catching up when the sink has drained, so being slow costs memory nowhere. One that stays full is closed, and resumes.

Each watch is one task, the one that awaits ``run``; it sleeps in the sink while the watch is live, and is woken for
what concerns it alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from functools import partial
from math import inf
from typing import TYPE_CHECKING

from controlplane.base import logs
from controlplane.base.aside import aside
from controlplane.base.streams import Chunk, Sink
from controlplane.storage.api import WatchOptions
from controlplane.storage.cache.channel import Channel
from controlplane.storage.cache.collection import Collection
from controlplane.storage.cache.metrics import INIT_EVENTS, TERMINATED_WATCHERS, WATCH_EVENTS
from controlplane.storage.cache.ring import Change
from controlplane.storage.cache.selection import Selection
from controlplane.storage.cache.slices import MANY_ENTRIES, Slices
from controlplane.storage.cache.translate import EVENT_ERRORS, event_error
from controlplane.storage.errors import Compacted, FutureRevision, Stale

if TYPE_CHECKING:
    from controlplane.storage.cache.entry import Entry
    from controlplane.storage.cache.mirror import Mirror

__all__ = ["BOOKMARK_SECONDS", "FULL_BYTES", "Watcher"]

log = logs.get(__name__)

BOOKMARK_SECONDS = 60.0
"""Between bookmarks, as upstream."""
LAST_BOOKMARK_SECONDS = 2.0
"""How long before its timeout a watch gets its last bookmark, as upstream: it resumes from there."""
FULL_BYTES = 1 << 20
"""A sink with more than this unsent is full. A thousand events of 1 KB: what a busy second may bring."""
BLOCKED_SECONDS = 60.0
"""A watcher whose sink stays full this long is closed."""
CHUNK_BYTES = 64 << 10
"""What is written at once while catching up."""
RING_STEP = 500
"""Changes looked at between looks at the clock, about 1 ms when all are framed."""


class _Finished(Exception):
    """The watch is over; not an error."""


class Watcher:
    """``position``: everything up to this revision has been written. ``due``: when the heartbeat has to call ``tick``.
    ``cursor`` and ``started`` belong to the channel: how far it has written, whether anything has been."""

    __slots__ = (
        "_blocked_at",
        "_bookmark_at",
        "_channel",
        "_deadline",
        "_drain",
        "_finished",
        "_mirror",
        "_options",
        "_parked",
        "_selection",
        "_sink",
        "_task",
        "_woken",
        "cursor",
        "due",
        "position",
        "started",
    )

    def __init__(self, mirror: Mirror, selection: Selection, options: WatchOptions) -> None:
        self._mirror, self._selection, self._options = mirror, selection, options
        self._sink: Sink
        self._task: asyncio.Task[object] | None = None
        self._channel: Channel | None = None
        self._drain: asyncio.Future[None] | None = None
        self._finished = self._parked = self._woken = self.started = False
        self._blocked_at = self._bookmark_at = self._deadline = self.due = inf
        self.cursor = self.position = 0

    async def run(self, sink: Sink) -> None:
        """Write the watch to ``sink`` until its timeout, the sink's close, or its failure (an ERROR event, then)."""
        if self._mirror.closed:
            return
        self._sink, self._task = sink, asyncio.current_task()
        self._schedule()
        self._mirror.watchers.add(self)
        try:
            self.position = await self._begin()
            while True:
                await self._catch_up()
                await self._park()
        except _Finished:
            return
        except asyncio.CancelledError:
            if not self._was_woken():
                raise
        except EVENT_ERRORS as error:
            sink.write(Chunk(self._selection.error_frame(event_error(error, self._selection.view.resource))))
        finally:
            self._mirror.watchers.discard(self)
            if self._channel is not None:
                self._channel.leave(self)
            self._task = None

    @property
    def collection(self) -> Collection:
        """What is watched."""
        return self._selection.view.collection

    # Called by the channel and the heartbeat, on the loop.

    def write(self, chunk: Chunk) -> None:
        """Hand bytes to the sink. A sink that fails ends its own watch and nobody else's."""
        try:
            self._sink.write(chunk)
        except Exception as error:  # one carrier's failure must not stop the flush of all others
            log.exception("watch sink failed", error=error)
            self.finish()

    def full(self) -> bool:
        return self._sink.buffered_bytes() > FULL_BYTES

    def block(self, revision: int) -> None:
        """Leave the channel, everything up to ``revision`` written, until the sink has drained."""
        if self._channel is not None:
            channel, self._channel = self._channel, None
            self.position = max(self.position, revision)  # the channel may have had nothing since the watcher joined
            self._blocked_at = self._mirror.clock.monotonic()
            self.due = -inf
            channel.leave(self)
            self._sink.on_drain(self._wake)

    def recall(self) -> None:
        """Leave the channel, which has written nothing, to catch up with what is new."""
        if self._channel is not None:
            channel, self._channel = self._channel, None
            self.due = -inf
            channel.leave(self)
            self._interrupt()

    def finish(self) -> None:
        """End the watch, as soon as its task runs, whatever it waits for."""
        self._finished = True
        self._interrupt()

    def close(self) -> None:
        """End the watch, what is pending written first."""
        if self._channel is not None and not self._finished:
            self._channel.write_to(self)
        self.finish()

    def tick(self, now: float) -> None:
        """Do what is due: a bookmark, the timeout, the end of a watcher that has been full too long."""
        if self._sink.closed:
            self.finish()
        elif now >= self._deadline:
            self.close()
        elif now >= self._blocked_at + BLOCKED_SECONDS:
            resource = self._selection.view.resource
            TERMINATED_WATCHERS.labels_cached((resource.group, resource.plural)).inc()
            log.warning("watcher closed: too slow", resource=str(resource.gr), position=self.position)
            self.finish()
        elif now >= self._bookmark_at and self._channel is not None:
            self._channel.write_to(self)
            if self._channel is not None:  # it has not left because its sink is full
                chunk = self._mirror.bookmarks.chunk(self._selection, self._mirror.revision, first=not self.started)
                self.started = True
                self.write(chunk)
                self._bookmark_at = self._next_bookmark(now)
        self._set_due()

    # The task's own.

    def _schedule(self) -> None:
        now = self._mirror.clock.monotonic()
        if self._options.timeout_seconds is not None:
            self._deadline = now + self._options.timeout_seconds
        if self._options.bookmarks:
            self._bookmark_at = self._next_bookmark(now)
        self._set_due()

    def _set_due(self) -> None:
        """Nothing happens to a live watch before its time; one that catches up is looked at by every heartbeat."""
        self.due = -inf if self._channel is None else min(self._bookmark_at, self._deadline)

    def _next_bookmark(self, now: float) -> float:
        last = self._deadline - LAST_BOOKMARK_SECONDS
        return min(now + BOOKMARK_SECONDS, last) if now < last else inf

    async def _begin(self) -> int:
        """Write the state first where it is asked for; returns the revision from which changes follow."""
        mirror, options, revision = self._mirror, self._options, self._options.revision
        if options.initial_events and revision != 0 and not await mirror.fresh(revision):
            if revision is None:
                raise Stale("the watch could not be proved consistent in time")
            raise FutureRevision(revision, mirror.revision)
        if options.initial_events or not revision:
            return await self._write_state()
        if revision > mirror.revision and not await mirror.fresh(revision):
            raise FutureRevision(revision, mirror.revision)
        return revision

    async def _write_state(self) -> int:
        selection, mirror = self._selection, self._mirror
        entries, revision = mirror.scan(selection.scope), mirror.revision
        slices = Slices()
        if len(entries) >= MANY_ENTRIES:
            await slices.rest()
        lines: list[bytes] = []
        size_bytes = count = 0
        if selection.view.is_remote:
            entries = [entry for entry in entries if selection.admits(entry.key)]
            await selection.view.ready(entries, selection.version)
        for entry in entries:
            if selection.view.is_remote and not selection.view.is_ready(entry, selection.version):  # after a rest
                await selection.view.ready((entry,), selection.version)
            line = await self._state_line(entry) if selection.admits(entry.key) else b""
            if line:
                self.started = True
                lines.append(line)
                count += 1
                size_bytes += len(line)
            if size_bytes > CHUNK_BYTES or slices.due():
                await self._write_lines(lines)
                lines, size_bytes = [], 0
                if slices.due():
                    await slices.rest()
        resource = selection.view.resource
        INIT_EVENTS.labels_cached((resource.group, resource.plural)).inc(count)
        if self._options.end_bookmark:
            lines.append(self._mirror.bookmarks.line(selection, revision, end=True, first=not self.started))
            self.started = True
        await self._write_lines(lines)
        return revision

    async def _state_line(self, entry: Entry) -> bytes:
        """The frame of an entry of the initial state; none if it is not selected."""
        selection, first = self._selection, self._selection.headed and not self.started
        selection.view.prepare(entry)

        def line() -> bytes:
            return selection.state_frame(entry, first=first) if selection.matches(entry) else b""

        return await aside(line) if selection.is_long(entry) else line()

    async def _catch_up(self) -> None:
        """Write all changes after ``position``, then join the channel in the same loop step."""
        collection = self._selection.view.collection
        slices = Slices()
        while True:
            if self.position < self._mirror.horizon:
                raise Compacted(self.position, self._mirror.horizon)
            if self.position < collection.floor:
                try:
                    await self._read_history()
                except Compacted as error:
                    raise Compacted(self.position, error.compacted) from error
                continue
            through = self._mirror.revision
            changes = collection.ring.after(self.position, limit=RING_STEP)
            lines = await self._lines(changes)
            if len(changes) >= RING_STEP:
                through = changes[-1].revision
            elif not lines and through == self._mirror.revision:
                self._join(through)
                return
            if slices.due():  # to write some hundred kilobytes is a slice of its own
                await slices.rest()
            self.position = max(self.position, through)
            await self._write_lines(lines)
            if slices.due():
                await slices.rest()

    def _join(self, through: int) -> None:
        if self._finished:
            raise _Finished
        self.position = max(self.position, through)
        self._blocked_at = inf
        self._channel = self._mirror.channel(self._selection)
        self._channel.join(self)
        self._set_due()

    async def _read_history(self) -> None:
        collection, mirror = self._selection.view.collection, self._mirror
        slices = Slices()
        async with aclosing(mirror.history.changes(collection, self.position)) as history:
            async for through, changes in history:
                # the store may be ahead of the mirror: what is above it comes from the ring or the channel
                reached = min(through, mirror.revision)
                lines = await self._lines([change for change in changes if change.revision <= reached])
                if slices.due():
                    await slices.rest()
                await self._write_lines(lines)
                self.position = max(self.position, reached)
                if self.position >= collection.floor or reached < through:
                    return
                if slices.due():
                    await slices.rest()

    async def _lines(self, changes: Sequence[Change]) -> list[bytes]:
        """Frames for this watcher alone, in slices."""
        selection = self._selection
        lines: list[bytes] = []
        slices = Slices()
        if selection.view.is_remote:
            await selection.ready(changes)
        for change in changes:
            if not selection.admits(change.key):
                continue
            if selection.is_long(change.entry, change.prev):
                frame = await aside(partial(selection.frame, change, {}))
            else:
                frame = selection.frame(change, {})
            if slices.due():
                await slices.rest()
            if frame is not None:
                line, event, kept = frame
                if selection.headed and not self.started:
                    line = selection.framed(event, kept, first=True)
                self.started = True
                lines.append(line)
        if lines:
            resource = selection.view.resource
            WATCH_EVENTS.labels_cached((resource.group, selection.version, resource.plural)).inc(len(lines))
        return lines

    async def _write_lines(self, lines: list[bytes]) -> None:
        """Write, then wait while the sink is full."""
        if self._finished or self._sink.closed:
            raise _Finished
        if lines:
            self.write(Chunk(b"".join(lines)))
        while self.full() and not self._finished:
            self._drain = asyncio.get_running_loop().create_future()
            self._blocked_at = min(self._blocked_at, self._mirror.clock.monotonic())
            self._sink.on_drain(self._wake)
            await self._drain
            self._drain = None
        self._blocked_at = inf

    async def _park(self) -> None:
        """Sleep until the sink closes, or has drained, or the watch is to end."""
        self._parked = True
        try:
            if not self._finished:
                await self._sink.until_closed()
                self._finished = True
        except asyncio.CancelledError:
            if not self._was_woken():
                raise
        finally:
            self._parked = False
        if self._finished:
            raise _Finished

    def _wake(self) -> None:
        """The sink has drained; that is no news to a live watch."""
        if self._drain is not None and not self._drain.done():
            self._drain.set_result(None)
        if self._parked and self._channel is None:
            self._interrupt()

    def _interrupt(self) -> None:
        """Break off what the task waits for, as ``asyncio.timeout`` does: by a cancellation that it takes back."""
        if not self._woken and self._task is not None and self._task is not asyncio.current_task():
            self._woken = True
            self._task.cancel()

    def _was_woken(self) -> bool:
        """Whether a cancellation was our own; False if somebody else has cancelled the task too."""
        woken, self._woken = self._woken, False
        return woken and self._task is not None and self._task.uncancel() == 0
