"""What goes out: frames to the transport, data as far as the peer's windows allow.

What is written in one turn of the loop leaves together at its end: a write of its own costs each call more of the
kernel's time than all else here.

Data that do not fit wait with their call; calls are served in the order in which they came to wait, a call whose own
window is empty holds up no other.

Source: RFC 9113, sections 5.2 and 6.9.
"""

from __future__ import annotations

import asyncio
from struct import Struct
from typing import Final

from controlplane.base.grpc.call import Call
from controlplane.base.grpc.frames import (
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    ErrorCode,
    ProtocolError,
    frame,
)
from controlplane.base.grpc.messages import PREFIX_BYTES

__all__ = ["DEFAULT_WINDOW_BYTES", "MAX_WINDOW_BYTES", "Sender"]

DEFAULT_WINDOW_BYTES: Final = 65_535
MAX_WINDOW_BYTES: Final = 2**31 - 1

_HEADERS: Final = Struct(">HBBBL").pack
"""The head of a frame."""

_DATA: Final = Struct(">HBBBLBL").pack
"""The head of a frame of one message, and the message's prefix."""


class Sender:
    """The sending half of one connection; the attributes are the peer's settings and the connection's window."""

    __slots__ = ("_blocked", "_loop", "_out", "_transport", "initial_window", "max_frame", "window")

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._out: list[bytes] = []
        self._blocked: dict[int, Call] = {}
        self.window = self.initial_window = DEFAULT_WINDOW_BYTES
        self.max_frame = 16_384

    def write(self, data: bytes) -> None:
        """Bytes that no window counts."""
        if not self._out:
            self._loop.call_soon(self.flush)
        self._out.append(data)

    def flush(self) -> None:
        """Hand over to the transport what waits for the end of the turn."""
        if self._out:
            out, self._out = self._out, []
            self._transport.write(b"".join(out))

    def drop(self) -> None:
        """Nobody takes what waits any more."""
        self._out = []

    def data(self, call: Call, data: bytes, *, end: bool, after: bytes = b"") -> None:
        """Send a call's data, as the last of it with ``end``; ``after``: frames that go before them."""
        size = len(data)
        if not call.pending and size <= self.window and size <= call.send_window and size <= self.max_frame:
            self.window -= size
            call.send_window -= size
            call.sent_end = end
            self.write(after + frame(DATA, END_STREAM if end else 0, call.stream_id, data))
            return
        if after:
            self.write(after)
        call.pending += data
        call.pending_end = end
        self._blocked[call.stream_id] = call
        self._send_pending(call)

    def whole(self, call: Call, stream_id: int, block: bytes, message: bytes) -> bool:
        """Send a call whole, headers and message, on this new stream; False, and nothing is done, if a window or the
        size of frames does not allow it."""
        size = len(message) + PREFIX_BYTES
        if size > self.window or size > self.initial_window or size > self.max_frame or len(block) > self.max_frame:
            return False
        self.window -= size
        call.stream_id = stream_id
        call.send_window = self.initial_window - size
        call.sent_end = True
        out = self._out
        if not out:
            self._loop.call_soon(self.flush)
        out += (
            _HEADERS(len(block) >> 8, len(block) & 0xFF, HEADERS, END_HEADERS, stream_id),
            block,
            _DATA(size >> 8, size & 0xFF, DATA, END_STREAM, stream_id, 0, size - PREFIX_BYTES),
            message,
        )
        return True

    def forget(self, call: Call) -> None:
        """The call is over."""
        self._blocked.pop(call.stream_id, None)

    def grown(self, call: Call | None, increment: int) -> None:
        """The peer has widened a call's window, or the connection's.

        Raises:
            ProtocolError: beyond what is allowed.
        """
        if call is not None:
            call.send_window += increment
            self._check(call.send_window)
            if call.stream_id in self._blocked:
                self._send_pending(call)
            return
        self.window += increment
        self._check(self.window)
        for each in list(self._blocked.values()):
            if self.window <= 0:
                break
            self._send_pending(each)

    def set_initial_window(self, size: int, calls: list[Call]) -> None:
        """The peer has changed the window that streams begin with; those that are open change with it.

        Raises:
            ProtocolError: beyond what is allowed.
        """
        self._check(size)
        difference, self.initial_window = size - self.initial_window, size
        for call in calls:
            self.grown(call, difference)

    def _send_pending(self, call: Call) -> None:
        at, pending = 0, call.pending
        while at < len(pending):
            size = min(len(pending) - at, self.window, call.send_window, self.max_frame)
            if size <= 0:
                break
            self.window -= size
            call.send_window -= size
            part = pending[at : at + size]
            at += size
            call.sent_end = call.pending_end and at == len(pending)
            self.write(frame(DATA, END_STREAM if call.sent_end else 0, call.stream_id, part))
        call.pending = pending[at:]
        if not call.pending:
            del self._blocked[call.stream_id]

    @staticmethod
    def _check(window: int) -> None:
        if window > MAX_WINDOW_BYTES:
            raise ProtocolError(ErrorCode.FLOW_CONTROL_ERROR, f"a window of {window} bytes is more than is allowed")
