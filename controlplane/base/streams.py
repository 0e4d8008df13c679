"""Streams of bytes that are written once and sent to many: what a watch writes, whoever carries it.

Source: HTTP/1.1 chunked transfer coding, RFC 9112 section 7.1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

__all__ = ["Chunk", "Sink"]


class Chunk:
    """Some bytes of a stream, with their HTTP/1.1 chunk framing made at most once."""

    __slots__ = ("_framed", "payload")

    def __init__(self, payload: bytes) -> None:
        self.payload = payload
        self._framed: bytes | None = None

    @property
    def framed(self) -> bytes:
        if self._framed is None:
            self._framed = b"%x\r\n%b\r\n" % (len(self.payload), self.payload)
        return self._framed


class Sink(Protocol):
    """Where a stream's bytes go. All calls are made on the loop."""

    def write(self, chunk: Chunk) -> None:
        """Send without waiting. After ``closed`` it does nothing."""

    def buffered_bytes(self) -> int:
        """What has been written and not yet taken by the other side."""

    @property
    def closed(self) -> bool:
        """The other side has gone, or the stream has been ended."""

    def on_drain(self, callback: Callable[[], None]) -> None:
        """Call back once, when ``buffered_bytes`` has fallen to nothing much (or the sink has closed)."""

    async def until_closed(self) -> None:
        """Wait for the other side to go."""
