"""Frames of WebSockets (RFC 6455 section 5), as a server writes and reads them.

A server that only sends reads little: pings are answered, the end is noticed, everything else is skipped without being
kept.
"""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["CLOSE", "CLOSE_NORMAL", "FrameReader", "frame"]

CLOSE, PING, PONG = 8, 9, 10
CLOSE_NORMAL = (1000).to_bytes(2, "big")
_CLOSE_PROTOCOL_ERROR = (1002).to_bytes(2, "big")
_FINAL, _MASKED = 0x80, 0x80
_CONTROL_BYTES = 125
"""The longest control frame, and the longest frame whose length is in its second byte."""


def frame(opcode: int, payload: bytes) -> bytes:
    """One whole message, unmasked, as servers send it."""
    size = len(payload)
    if size <= _CONTROL_BYTES:
        head = bytes((_FINAL | opcode, size))
    elif size < 1 << 16:
        head = bytes((_FINAL | opcode, 126)) + size.to_bytes(2, "big")
    else:
        head = bytes((_FINAL | opcode, 127)) + size.to_bytes(8, "big")
    return head + payload


class FrameReader:
    """Reads what a client sends. ``on_end``: it says that it has finished, or breaks the protocol. ``send`` writes."""

    __slots__ = ("_buffer", "_on_end", "_send", "_skip")

    def __init__(self, *, on_end: Callable[[], None], send: Callable[[bytes], None]) -> None:
        self._on_end, self._send = on_end, send
        self._buffer = b""
        self._skip = 0  # bytes of a data frame still to come

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        """Take bytes as they come; returns whether to read on is useless, and what is left of them."""
        if self._skip:
            skipped = min(self._skip, len(data))
            self._skip, data = self._skip - skipped, data[skipped:]
        self._buffer += data
        while self._buffer and not self._skip:
            if not self._take_frame():
                break
        return False, b""

    def feed_eof(self) -> None:
        """The connection's part: the client has gone."""
        self._on_end()

    def _take_frame(self) -> bool:
        """Take one frame off the buffer; False: it has not come whole."""
        buffer = self._buffer
        if len(buffer) < 2:
            return False
        opcode, size, at = buffer[0] & 0x0F, buffer[1] & 0x7F, 2
        if size > _CONTROL_BYTES:
            at = 4 if size == 126 else 10
            if len(buffer) < at:
                return False
            size = int.from_bytes(buffer[2:at], "big")
        if not buffer[1] & _MASKED or (opcode >= CLOSE and size > _CONTROL_BYTES):
            self._end(_CLOSE_PROTOCOL_ERROR)
            return True
        if opcode < CLOSE:
            taken = min(len(buffer), at + 4 + size)
            self._buffer, self._skip = buffer[taken:], at + 4 + size - taken
            return True
        end = at + 4 + size
        if len(buffer) < end:
            return False
        self._buffer = buffer[end:]
        if opcode == CLOSE:
            self._end(b"")
        elif opcode == PING:
            mask = buffer[at : at + 4]
            self._send(frame(PONG, bytes(byte ^ mask[i % 4] for i, byte in enumerate(buffer[at + 4 : end]))))
        return True

    def _end(self, why: bytes) -> None:
        """``why``: the code of a broken rule, or nothing if the client has ended it."""
        self._buffer = b""
        if why:
            self._send(frame(CLOSE, why))
        self._on_end()
