"""One call on a connection: what has been received of it, and who waits for it.

A unary call is one future. A stream holds the messages that nobody has read yet; what is held is not credited to the
server, so a slow reader stops it after ``STREAM_WINDOW_BYTES``. Giving up a read loses nothing and ends nothing.
"""

from __future__ import annotations

import asyncio
from collections import deque
from math import inf
from typing import Final, Protocol

from controlplane.base.grpc.messages import PREFIX_BYTES, MessageReader, prefixed
from controlplane.base.grpc.status import Code, RpcError

__all__ = ["STREAM_WINDOW_BYTES", "Call", "Carrier", "Stream", "Unary"]

STREAM_WINDOW_BYTES: Final = 1 << 20
"""What a server may send on one stream before it is read. A message larger than this is credited as it arrives."""


class Carrier(Protocol):
    """The connection, as a call sees it."""

    def send(self, call: Call, data: bytes, *, end: bool) -> None: ...
    def credit(self, call: Call) -> None: ...
    def cancel(self, call: Call) -> None: ...


class Call:
    """State that all calls have.

    ``stream_id`` 0: waits for its turn. ``deadline``: in monotonic seconds. ``answered``: the response's first header
    block has come. ``ended``: nothing more will be received. ``sent_end``: our side is closed. ``pending``: what flow
    control holds back; ``pending_end``: our side closes after it. ``held_bytes``: what has come and is not read.

    What most calls never change is the class's: a call whose answer comes whole sets four attributes.
    """

    stream_id = 0
    deadline = inf
    answered = ended = sent_end = pending_end = False
    pending = b""
    reader: MessageReader | None = None
    receive_window = STREAM_WINDOW_BYTES
    send_window = 0
    held_bytes = 0

    def __init__(self, block: bytes) -> None:
        self.block = block

    def messages_in(self, data: bytes) -> list[bytes]:
        """The messages that are complete with these data.

        Raises:
            RpcError: they are no messages that we take.
        """
        if self.reader is None:
            self.reader = MessageReader()
        return self.reader.feed(data)

    def take(self, data: bytes) -> None:
        """Data of the stream have arrived.

        Raises:
            RpcError: they are no messages that we take.
        """
        raise NotImplementedError

    def end(self, error: RpcError | None) -> None:
        """The call is over; called once."""
        raise NotImplementedError


class Unary(Call):
    """A call with one response."""

    message: bytes | None = None

    def __init__(self, block: bytes, done: asyncio.Future[bytes]) -> None:
        self.block, self.done = block, done

    def take(self, data: bytes) -> None:
        for message in self.messages_in(data):
            if self.message is not None:
                raise RpcError(Code.INTERNAL, "more than one message in answer to a unary call")
            self.message = message

    def succeed(self, message: bytes) -> None:
        """The call is over, and this is its answer; called once, in place of all else."""
        self.ended = True
        if not self.done.done():
            self.done.set_result(message)

    def end(self, error: RpcError | None) -> None:
        self.ended = True
        if self.done.done():
            return
        if error is not None:
            self.done.set_exception(error)
        elif self.message is None:
            self.done.set_exception(RpcError(Code.INTERNAL, "success without a message"))
        else:
            self.done.set_result(self.message)


class Stream(Call):
    """A call in both directions, for one reader."""

    def __init__(self, block: bytes, carrier: Carrier, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(block)
        self._carrier, self._loop = carrier, loop
        self._messages: deque[bytes] = deque()
        self._error: RpcError | None = None
        self._waiter: asyncio.Future[None] | None = None

    async def read(self) -> bytes | None:
        """The next message; None when the server has ended the stream well. Messages come before the end, however
        it ended.

        Raises:
            RpcError: the stream has failed. RuntimeError: somebody else reads.
        """
        while not self._messages:
            if self._error is not None:
                raise self._error.again()
            if self.ended:
                return None
            if self._waiter is not None:
                raise RuntimeError("a stream has one reader")
            self._waiter = self._loop.create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        return self.read_nowait()

    def peek(self) -> bytes | None:
        """The message that ``read_nowait`` would return, None if none has arrived."""
        return self._messages[0] if self._messages else None

    def read_nowait(self) -> bytes:
        """The next message, which has arrived.

        Raises:
            IndexError: none has.
        """
        message = self._messages.popleft()
        self.held_bytes -= len(message) + PREFIX_BYTES
        self._carrier.credit(self)
        return message

    def send(self, message: bytes) -> None:
        """Send a message, now or when flow control lets it go.

        Raises:
            RpcError: the stream has ended.
        """
        if self.ended:
            raise self._error.again() if self._error else RpcError(Code.CANCELLED, "the stream has ended", unsent=True)
        self._carrier.send(self, prefixed(message), end=False)

    def cancel(self) -> None:
        """Tell the server that nobody listens any more. Idempotent; what waits for a message raises."""
        self._carrier.cancel(self)

    def take(self, data: bytes) -> None:
        messages = self.messages_in(data)
        if not messages:
            return
        self._messages += messages
        for message in messages:
            self.held_bytes += len(message) + PREFIX_BYTES
        self._wake()

    def receive(self, message: bytes) -> None:
        """A message has arrived that was alone in its frame; ``take`` for others."""
        self._messages.append(message)
        self.held_bytes += len(message) + PREFIX_BYTES
        self._wake()

    def end(self, error: RpcError | None) -> None:
        self.ended = True
        self._error = error
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
