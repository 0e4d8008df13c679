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
_MASK_BYTES = 4
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

    __slots__ = ("_buffer", "_ended", "_on_end", "_send", "_skip")

    def __init__(self, *, on_end: Callable[[], None], send: Callable[[bytes], None]) -> None:
        self._on_end, self._send = on_end, send
        self._buffer = b""
        self._skip = 0  # bytes of a data frame still to come
        self._ended = False

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        """Take bytes as they come; returns whether to read on is useless, and what is left of them."""
        data = self._buffer + data
        at: int | None = 0
        reached = 0
        while at is not None and not self._ended:
            skipped = min(self._skip, len(data) - at)
            self._skip -= skipped
            reached = at + skipped
            at = None if self._skip else self._take_frame(data, reached)
        self._buffer = b"" if self._ended else data[reached:]
        return False, b""

    def feed_eof(self) -> None:
        """The connection's part: the client has gone."""
        self._on_end()

    def _take_frame(self, data: bytes, at: int) -> int | None:
        """Take the frame that begins at ``at``; returns where the next one does, None if it has not come whole. Of a
        data frame the head is enough: its payload is skipped."""
        if len(data) < at + 2:
            return None
        opcode, masked, size, begin = data[at] & 0x0F, data[at + 1] & _MASKED, data[at + 1] & 0x7F, at + 2
        if size > _CONTROL_BYTES:
            begin += 2 if size == 126 else 8
            if len(data) < begin:
                return None
            size = int.from_bytes(data[at + 2 : begin], "big")
        if not masked or (opcode >= CLOSE and size > _CONTROL_BYTES):
            self._end(_CLOSE_PROTOCOL_ERROR)
            return None
        begin += _MASK_BYTES
        if opcode < CLOSE:
            self._skip = begin + size - at
            return at
        if len(data) < begin + size:
            return None
        if opcode == CLOSE:
            self._end(b"")
            return None
        if opcode == PING:
            mask = data[begin - _MASK_BYTES : begin]
            payload = bytes(byte ^ mask[i % _MASK_BYTES] for i, byte in enumerate(data[begin : begin + size]))
            self._send(frame(PONG, payload))
        return begin + size

    def _end(self, why: bytes) -> None:
        """``why``: the code of a broken rule, or nothing if the client has ended it."""
        self._ended = True
        if why:
            self._send(frame(CLOSE, why))
        self._on_end()
