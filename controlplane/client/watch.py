"""Watch events out of a byte stream: newline-delimited JSON, as every API server sends it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from controlplane.apimachinery.codec.json import MalformedJSON, loads_unbounded
from controlplane.apimachinery.identity import Obj
from controlplane.base.aside import LONG_BYTES, aside
from controlplane.client.api import ByteStream
from controlplane.client.errors import BadAnswer, StreamBroken
from controlplane.client.results import error_of_status

__all__ = ["WatchEvent", "WatchStream"]

_EVENTS_PER_TURN = 32
"""Events handed out before others get a turn of the loop: with their handlers 30 to 100 us each, so at most 3 ms."""


_CHANGES = (b'{"type":"ADDED",', b'{"type":"MODIFIED",')
"""How events begin that may be skipped."""


class WatchEvent(NamedTuple):
    """One change. ``type`` is ADDED, MODIFIED, DELETED or BOOKMARK; ``object`` the new state (DELETED: the last one;
    BOOKMARK: only a resourceVersion and annotations). The object is the receiver's own."""

    type: str
    object: Obj


class WatchStream:
    """The events of one watch, in order: iterate it, inside the context that opened it.

    Iteration ends when the server ends the watch (its timeout, its shutdown), and raises APIError for an ERROR event
    (410: the resource version is gone), StreamBroken when the connection was cut, BadAnswer for what is no event.
    ``is_long``: the last event was, so that it is better freed beside the loop (``base.aside.free``). ``skips``: set by
    who reads, to pass over events by their bytes, unread: it is asked about each that adds or modifies.
    """

    __slots__ = ("_handed_out", "_lines", "_rest", "_stream", "is_long", "skips")

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._lines: deque[bytes] = deque()
        self._rest = b""
        self._handed_out = 0
        self.is_long = False
        self.skips: Callable[[bytes], bool] | None = None

    def __aiter__(self) -> WatchStream:
        return self

    async def __anext__(self) -> WatchEvent:
        self._handed_out += 1
        if self._handed_out % _EVENTS_PER_TURN == 0:
            await asyncio.sleep(0)
        while not self._lines:
            try:
                piece = await self._stream.__anext__()
            except StopAsyncIteration:
                if self._rest.strip():
                    raise StreamBroken("the stream ended within an event") from None
                raise
            self._split(piece)
        line = self._lines.popleft()
        self.is_long = len(line) >= LONG_BYTES
        return await aside(lambda: _event(line)) if self.is_long else _event(line)

    def next_nowait(self) -> WatchEvent | None:
        """The next event, if it has come, is not long, and others have had their turn; else None. Raises as iteration
        does."""
        if not self._lines or len(self._lines[0]) >= LONG_BYTES or (self._handed_out + 1) % _EVENTS_PER_TURN == 0:
            return None
        self._handed_out += 1
        return _event(self._lines.popleft())

    def _split(self, piece: bytes) -> None:
        """Queue the whole lines of what has come; keep what is after the last newline."""
        if self._rest:
            piece = self._rest + piece
        *lines, self._rest = piece.split(b"\n")
        skips = self.skips
        if skips is None:
            self._lines += filter(None, lines)
        else:
            self._lines += [line for line in lines if line and not (line.startswith(_CHANGES) and skips(line))]


def _event(line: bytes) -> WatchEvent:
    try:
        raw = loads_unbounded(line)  # a server has written it
        event = WatchEvent(raw["type"], raw["object"])
    except (MalformedJSON, KeyError, TypeError) as e:
        raise BadAnswer(f"not a watch event: {line[:200]!r}") from e
    if not isinstance(event.object, dict):
        raise BadAnswer(f"a watch event without an object: {line[:200]!r}")
    if event.type == "ERROR":
        raise error_of_status(event.object)
    return event
