"""A stream on a connection: chunks go to the transport as they are, already framed.

Knows nothing of what is streamed. Flow control: a stream's transport reports that it is full above
``DRAINED_BYTES``, so that ``on_drain`` needs no polling.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from controlplane.base.streams import Chunk

__all__ = ["DRAINED_BYTES", "ConnectionSink"]

DRAINED_BYTES = 16 * 1024
"""What may be unsent in a stream that counts as drained: about one TLS record."""


class ConnectionSink:
    """``base.streams.Sink`` over a transport. ``framed`` False: HTTP/1.0, the payload alone."""

    __slots__ = ("_closed", "_closing", "_framed", "_on_drain", "_transport")

    def __init__(self, transport: asyncio.WriteTransport, *, framed: bool = True) -> None:
        transport.set_write_buffer_limits(high=DRAINED_BYTES + 1, low=DRAINED_BYTES)
        self._transport, self._framed = transport, framed
        self._closed = False
        self._on_drain: Callable[[], None] | None = None
        self._closing: asyncio.Future[None] | None = None

    def write(self, chunk: Chunk) -> None:
        if not self._closed and not self._transport.is_closing():
            self._transport.write(chunk.framed if self._framed else chunk.payload)

    def buffered_bytes(self) -> int:
        return 0 if self._closed else self._transport.get_write_buffer_size()

    @property
    def closed(self) -> bool:
        return self._closed

    def on_drain(self, callback: Callable[[], None]) -> None:
        if self.buffered_bytes() <= DRAINED_BYTES:
            asyncio.get_running_loop().call_soon(callback)
        else:
            self._on_drain = callback

    async def until_closed(self) -> None:
        if self._closed:
            return
        if self._closing is None:
            self._closing = asyncio.get_running_loop().create_future()
        await asyncio.shield(self._closing)

    def drained(self) -> None:
        """The connection's part: the transport has room again."""
        callback, self._on_drain = self._on_drain, None
        if callback is not None:
            callback()

    def end(self) -> None:
        """The connection's part: the other side has gone, or the server ends its streams. Idempotent."""
        if self._closed:
            return
        self._closed = True
        if self._closing is not None and not self._closing.done():
            self._closing.set_result(None)
        self.drained()
