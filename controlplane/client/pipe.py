"""An in-memory stream: what a server writes to its Sink on one side, a client reads on the other.

Bounded: it holds at most ``limit_bytes`` that have not been read. Servers pace themselves by ``buffered_bytes`` and
``on_drain``; one that does not is cut off at the limit, and the reader is told that the stream broke.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from controlplane.base.streams import Chunk
from controlplane.client.errors import StreamBroken

__all__ = ["DRAINED_BYTES", "Pipe"]

DRAINED_BYTES = 65_536
"""At or below this much unread, the writer is told to go on: enough to keep the reader busy for a loop turn."""


class Pipe:
    """A ``Sink`` for its writer and a ``ByteStream`` for its one reader. All calls are made on the loop."""

    __slots__ = ("_arrived", "_buffered", "_callbacks", "_closed", "_ended", "_error", "_gone", "_limit", "_pieces")

    def __init__(self, *, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._pieces: deque[bytes] = deque()
        self._buffered = 0
        self._callbacks: list[Callable[[], None]] = []
        self._arrived = asyncio.Event()
        self._gone = asyncio.Event()
        self._closed = False
        self._ended = False
        self._error: StreamBroken | None = None

    # -- the writer's side -----------------------------------------------------------------------------------------

    def write(self, chunk: Chunk) -> None:
        """Send without waiting. After ``closed`` it does nothing."""
        if self._closed:
            return
        payload = chunk.payload
        if self._buffered + len(payload) > self._limit:
            self.finish(StreamBroken(f"the reader fell behind: over {self._limit} bytes unread"))
            return
        self._pieces.append(payload)
        self._buffered += len(payload)
        self._arrived.set()

    def buffered_bytes(self) -> int:
        return self._buffered

    @property
    def closed(self) -> bool:
        return self._closed

    def on_drain(self, callback: Callable[[], None]) -> None:
        """Call back once, from the loop, when little is unread or the pipe has closed; at the next turn if it is so
        already."""
        if self._closed or self._buffered <= DRAINED_BYTES:
            asyncio.get_running_loop().call_soon(callback)
        else:
            self._callbacks.append(callback)

    async def until_closed(self) -> None:
        await self._gone.wait()

    def finish(self, error: StreamBroken | None = None) -> None:
        """No more will be written: the reader gets what is buffered, then the end, or ``error``. Idempotent."""
        if not self._ended:
            self._ended, self._error = True, error
            self._shut()

    # -- the reader's side -----------------------------------------------------------------------------------------

    def __aiter__(self) -> Pipe:
        return self

    async def __anext__(self) -> bytes:
        while not self._pieces:
            if self._ended:
                if self._error is not None:
                    raise self._error
                raise StopAsyncIteration
            self._arrived.clear()
            await self._arrived.wait()
        piece = self._pieces.popleft()
        self._buffered -= len(piece)
        if self._callbacks and self._buffered <= DRAINED_BYTES:
            self._call_back()
        return piece

    def close(self) -> None:
        """The reader goes: what is unread is dropped and the writer hears of it. Idempotent."""
        self._ended = True
        self._pieces.clear()
        self._buffered = 0
        self._shut()

    def _shut(self) -> None:
        self._closed = True
        self._gone.set()
        self._arrived.set()
        self._call_back()

    def _call_back(self) -> None:
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            asyncio.get_running_loop().call_soon(callback)
