"""Watchers that see the same, together: frames are made once for all of them, and each is a cursor into the frames.

What is pending for a watcher is joined and written once a loop turn; watchers at one cursor share the joined chunk, so
its HTTP framing is made once too. Frames live until all watchers have them. A watcher whose sink is full leaves (it
catches up from the ring when the sink has drained), so it neither holds frames nor anybody up.

A revision's frames are taken in one step and flushed to the end, so they leave in one write.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING

from controlplane.apimachinery.status import internal_error
from controlplane.base import logs
from controlplane.base.streams import Chunk
from controlplane.storage.cache.metrics import WATCH_EVENTS
from controlplane.storage.cache.ring import Change
from controlplane.storage.cache.selection import Frame, Memo, Selection
from controlplane.storage.cache.translate import EVENT_ERRORS, event_error

if TYPE_CHECKING:
    from controlplane.storage.cache.watcher import Watcher

__all__ = ["Bell", "Channel"]

log = logs.get(__name__)

_LOOKS_EVERY = 8
"""Writes between looks at the clock: eight writes to TLS sockets take about 0.2 ms."""


class Channel:
    """``revision``: of the newest frame. ``on_pending`` is told once when there is something to flush; ``on_empty``
    when the last watcher has left, or when the channel has failed (then it takes no more watchers). ``frames``: it
    frames changes in the step that applies them."""

    frames = True

    __slots__ = (
        "_base",
        "_chunks",
        "_flushing",
        "_frames",
        "_on_empty",
        "_on_pending",
        "_sent",
        "failed",
        "pending",
        "revision",
        "scope",
        "selection",
        "watchers",
    )

    def __init__(
        self, selection: Selection, on_pending: Callable[[Channel], None], on_empty: Callable[[Channel], None]
    ) -> None:
        self.selection, self.scope = selection, selection.scope
        self.watchers: dict[Watcher, None] = {}
        self.revision = 0
        self.pending = self.failed = False
        self._on_pending, self._on_empty = on_pending, on_empty
        self._frames: list[Frame] = []
        self._base = 0  # the cursor of the first frame
        self._chunks: dict[tuple[int, bool], Chunk] = {}
        self._flushing: list[Watcher] = []
        resource = selection.view.resource
        self._sent = WATCH_EVENTS.labels_cached((resource.group, selection.version, resource.plural))

    @property
    def end(self) -> int:
        """The cursor after the newest frame."""
        return self._base + len(self._frames)

    def take(self, change: Change, memo: Memo) -> None:
        """Frame a change for the watchers, if they see it. Raises nothing: what cannot be shown ends the watches."""
        if self.failed:
            return
        try:
            frame = self.selection.frame(change, memo)
        except EVENT_ERRORS as error:
            self._fail(self.selection.error_frame(event_error(error, self.selection.view.resource)), change.revision)
            return
        except Exception as error:  # one kind's broken hook must not stop the mirror
            log.exception("watch event could not be made", key=change.key, error=error)
            self._fail(self.selection.error_frame(internal_error(str(error))), change.revision)
            return
        if frame is not None:
            self._append(frame, change.revision)

    def join(self, watcher: Watcher) -> None:
        """Show a watcher everything from now on."""
        watcher.cursor = self.end
        self.watchers[watcher] = None

    def leave(self, watcher: Watcher) -> None:
        self.watchers.pop(watcher, None)
        if not self.watchers:
            self._on_empty(self)

    def flush(self, until: float) -> bool:
        """Write what is pending to all watchers, until ``perf_counter`` reaches ``until``. Returns whether it is
        done."""
        while True:
            if not self._flushing:
                end = self.end
                self._flushing = [watcher for watcher in self.watchers if watcher.cursor < end]
                if not self._flushing:
                    self._base = end
                    self._frames.clear()
                    self._chunks.clear()
                    return True
            count = 0
            while self._flushing:
                watcher = self._flushing.pop()
                if watcher in self.watchers:
                    self.write_to(watcher)
                count += 1
                if count % _LOOKS_EVERY == 0 and perf_counter() > until:
                    return False

    def write_to(self, watcher: Watcher) -> None:
        """Write what is pending to one watcher; it may leave because of it."""
        end = self.end
        if watcher.cursor < end:
            self._sent.inc(end - watcher.cursor)
            first = self.selection.headed and not watcher.started
            watcher.started = True
            watcher.write(self._chunk(watcher.cursor, first=first))
            watcher.cursor = end
        if self.failed:
            watcher.finish()
        elif watcher.full():
            watcher.block(self.revision)

    def _chunk(self, cursor: int, *, first: bool) -> Chunk:
        chunk = self._chunks.get((cursor, first))
        if chunk is None:
            lines = [frame[0] for frame in self._frames[cursor - self._base :]]
            if first:
                _, event, kept = self._frames[cursor - self._base]
                lines[0] = self.selection.framed(event, kept, first=True) if kept else lines[0]
            chunk = self._chunks[cursor, first] = Chunk(lines[0] if len(lines) == 1 else b"".join(lines))
        return chunk

    def _append(self, frame: Frame, revision: int) -> None:
        self._frames.append(frame)
        self._chunks.clear()
        self.revision = revision
        if not self.pending:
            self.pending = True
            self._on_pending(self)

    def _fail(self, line: bytes, revision: int) -> None:
        self._append((line, b"ERROR", b""), revision)
        self.failed = True


class Bell(Channel):
    """For objects that somebody else converts: changes are not framed here, in the step that applies them. The watchers
    leave, and catch up by themselves, in revision order and as fast as the conversion goes."""

    __slots__ = ()
    frames = False

    def take(self, change: Change, memo: Memo) -> None:
        if self.selection.admits(change.key):
            for watcher in list(self.watchers):
                watcher.recall()
