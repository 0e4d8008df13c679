"""HTTP/1.1 as a client, one exchange at a time on a connection: no more than forwarding needs.

A request goes out in one write. An answer's body is handed on as it comes, still encoded, and its connection is not
read while it is not consumed. aiohttp's client does the same and much more, at a multiple of the processor time, which
would be most of what a forwarded request costs.

Source: RFC 9112.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import Self

from multidict import CIMultiDictProxy

from controlplane.base.eager import Awaited
from controlplane.client.forward.answer_head import HEAD_LIMIT_BYTES, KNOWN, AnswerHead, read_head

__all__ = ["Answer", "Connection", "Malformed"]

BUFFER_BYTES = 256 * 1024
"""What is kept of a body that nobody takes; then the other server waits."""

_END_OF_HEAD = b"\r\n\r\n"
_HEX = re.compile(rb"[0-9A-Fa-f]{1,15}")
_UNTIL_CLOSED = -1
_MOST_INFORMATIONAL = 5
"""Answers that only announce another one; Go's client takes as many."""


class Malformed(ConnectionError):
    """What came is no HTTP/1.1 answer; the text says why."""


class Answer:
    """The answer to one request, whole. ``head``: what its head says; ``whole``: its body; ``received``: both, as they
    came."""

    __slots__ = ("head", "received", "whole")

    def __init__(self, head: AnswerHead, received: bytes, whole: bytes | None) -> None:
        self.head, self.received, self.whole = head, received, whole

    @property
    def status(self) -> int:
        return self.head.status

    @property
    def headers(self) -> CIMultiDictProxy[str]:
        """Without Date and Audit-Id; answers with the same head share them."""
        return self.head.headers

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body as it comes.

        Raises:
            ConnectionError: the other server breaks off.
        """
        if self.whole:
            yield self.whole

    async def read(self, *, limit_bytes: int = 0) -> bytes:
        """The whole body. With a limit, a longer one is a ConnectionError; 0 is none.

        Raises:
            ConnectionError: as above.
        """
        read: list[bytes] = []
        size = 0
        async for piece in self.pieces():
            read.append(piece)
            size += len(piece)
            if limit_bytes and size > limit_bytes:
                raise Malformed(f"over {limit_bytes} bytes")
        return b"".join(read)

    def close(self) -> None:
        """Take no more of it. Idempotent; a connection that is in the midst of a body is of no more use."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        self.close()


class ComingAnswer(Answer):
    """An answer of which not all has come. Read its body to the end, or close it. Its ``whole`` is None."""

    __slots__ = ("_broken", "_connection", "_ended", "_held_bytes", "_pieces", "_waiter")

    def __init__(self, head: AnswerHead, connection: Connection) -> None:
        super().__init__(head, b"", None)
        self._connection = connection
        self._pieces: deque[bytes] = deque()
        self._held_bytes = 0
        self._ended = False
        self._broken: BaseException | None = None
        self._waiter: asyncio.Future[None] | None = None

    async def pieces(self) -> AsyncIterator[bytes]:
        while True:
            while self._pieces:
                piece = self._pieces.popleft()
                self._held_bytes -= len(piece)
                if self._held_bytes <= BUFFER_BYTES:
                    self._connection.resume()
                yield piece
            if self._broken is not None:
                raise ConnectionError(str(self._broken) or "the other server broke off its answer") from self._broken
            if self._ended:
                return
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter

    def close(self) -> None:
        if not self._ended:
            self._connection.abort()

    # Of the connection.

    def feed(self, piece: bytes) -> bool:
        """One more piece; whether the connection should wait."""
        self._pieces.append(piece)
        self._held_bytes += len(piece)
        self._wake()
        return self._held_bytes > BUFFER_BYTES

    def end(self, broken: BaseException | None = None) -> None:
        """That was all; or it was not, and no more will come."""
        if not self._ended:
            self._broken, self._ended = broken, broken is None
            self._wake()

    def _wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)


class Connection(asyncio.Protocol):
    """``free`` is called when an answer has come whole and another request may be sent, ``gone`` when the connection
    is closed. ``closed``: no more requests may be sent."""

    def __init__(self, free: Callable[[Connection], None], gone: Callable[[Connection], None]) -> None:
        self._free, self._gone = free, gone
        self.closed = False
        self.idle_since = 0.0
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._head: Awaited[Answer] | None = None
        self._answer: ComingAnswer | None = None
        self._buffer = b""
        self._is_head = self._chunked = False
        self._informational = 0
        self._missing = 0
        self._chunk_ends = self._trailers = False
        self._paused = False

    def ask(self, request: bytes, *, is_head: bool) -> Awaited[Answer]:
        """Send a request; the head of its answer is to be waited for, and ``given_up`` if it is not waited for to the
        end. ``is_head``: the method is HEAD.

        Raises:
            ConnectionError: there is none; so does waiting for it.
        """
        if self._transport is None or self.closed:
            raise ConnectionResetError("EOF")
        self._is_head, self._informational = is_head, 0
        head: Awaited[Answer] = Awaited(loop=self._loop)
        self._head = head
        self._transport.write(request)
        return head

    def given_up(self, head: Awaited[Answer]) -> None:
        """Nobody takes an answer that was asked for."""
        if head.done() and not head.cancelled() and head.exception() is None:
            head.result().close()  # it has come after all
        else:
            self.abort()

    def abort(self) -> None:
        """Close the connection at once. Idempotent."""
        self.closed = True
        if self._transport is not None:
            self._transport.abort()

    def resume(self) -> None:
        """For answers: there is room again."""
        if self._paused and self._transport is not None and not self.closed:
            self._paused = False
            self._transport.resume_reading()

    # Of asyncio.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]  # uvloop's transports are not asyncio.Transport

    def data_received(self, data: bytes) -> None:
        asked = self._head
        if asked is not None and not self._buffer and not self._is_head:  # the usual: all of it, begun as others were
            said, _, rest = data.partition(_END_OF_HEAD)
            head = KNOWN.get(said)
            if head is not None and head.plain_bytes == len(rest) and head.keep and not asked.done():
                self._head = None
                asked.fulfil(Answer(head, data, rest))
                self._free(self)  # after it: who has asked may write its own answer within it
                return
        try:
            if self._answer is None:
                self._read_head(self._buffer + data if self._buffer else data)
            else:
                self._read_body(data)
        except ValueError as error:
            self._fail(Malformed(str(error)))

    def eof_received(self) -> None:
        """The other server has said all; what follows is ``connection_lost``."""

    def connection_lost(self, error: BaseException | None) -> None:
        self.closed = True
        self._gone(self)
        answer = self._answer
        if answer is not None and error is None and not self._chunked and self._missing == _UNTIL_CLOSED:
            self._answer = None
            answer.end()
            return
        self._fail(error or ConnectionResetError("EOF"))

    def _fail(self, error: BaseException) -> None:
        self.abort()
        answer, self._answer = self._answer, None
        if answer is not None:
            answer.end(error)
        head, self._head = self._head, None
        if head is not None:
            head.fail(error if isinstance(error, OSError) else ConnectionError(str(error)))

    def _read_head(self, data: bytes) -> None:
        while True:
            end = data.find(_END_OF_HEAD)
            if end < 0:
                if len(data) > HEAD_LIMIT_BYTES:
                    raise ValueError(f"the head of an answer is over {HEAD_LIMIT_BYTES} bytes")
                self._buffer = data
                return
            asked = self._head
            if asked is None or asked.done():
                raise ValueError("an answer that nobody has asked for")
            said, rest = data[:end], data[end + 4 :]
            head = KNOWN.get(said) or read_head(said)
            if head.final:
                break
            self._informational += 1
            if self._informational > _MOST_INFORMATIONAL:
                raise ValueError("too many 1xx informational responses")
            data = rest
        self._buffer = b""
        answer: Answer
        if head.plain_bytes == len(rest) and not (rest and self._is_head):
            answer = Answer(head, data, rest)
            if head.keep:
                self._free(self)
            else:
                self._finished(head)
        else:
            answer = self._begin_body(head, data, rest)
        self._head = None
        asked.fulfil(answer)  # last: who has asked may go on within it

    def _begin_body(self, head: AnswerHead, data: bytes, rest: bytes) -> Answer:
        """An answer of which not all has come, or that has no body whatever it says."""
        chunked, missing = head.chunked, head.content_length
        if self._is_head or head.no_body:
            chunked, missing = False, 0
        if missing == len(rest) and not chunked:
            self._finished(head)
            return Answer(head, data, rest)
        answer = self._answer = ComingAnswer(head, self)
        self._chunked, self._chunk_ends, self._trailers = chunked, False, False
        self._missing = 0 if chunked else _UNTIL_CLOSED if missing is None else missing
        if rest:
            self._read_body(rest)
        return answer

    def _read_body(self, data: bytes) -> None:
        if self._chunked:
            self._read_chunks(self._buffer + data if self._buffer else data)
            return
        if self._missing == _UNTIL_CLOSED:
            self._feed(data)
            return
        if len(data) > self._missing:
            raise ValueError("an answer is longer than it says")
        self._missing -= len(data)
        if data:
            self._feed(data)
        if not self._missing:
            self._end()

    def _read_chunks(self, data: bytes) -> None:
        at = 0
        while True:
            if self._missing:
                piece = data[at : at + self._missing]
                if not piece:
                    break
                at += len(piece)
                self._missing -= len(piece)
                self._chunk_ends = not self._missing
                self._feed(piece)
                continue
            line_end = data.find(b"\r\n", at)
            if line_end < 0:
                break
            line, at = data[at:line_end], line_end + 2
            if self._chunk_ends:
                if line:
                    raise ValueError("a chunk is longer than it says")
                self._chunk_ends = False
            elif self._trailers:
                if not line:
                    self._buffer = b""
                    if at < len(data):
                        raise ValueError("an answer that nobody has asked for")
                    self._end()
                    return
            else:
                size = line.partition(b";")[0].rstrip()
                if not _HEX.fullmatch(size):
                    raise ValueError(f"a chunk of a length of {size[:20]!r}")
                self._missing = int(size, 16)
                self._trailers = not self._missing
        self._buffer = data[at:]
        if not self._missing and len(self._buffer) > HEAD_LIMIT_BYTES:
            raise ValueError("the line before a chunk is too long")

    def _feed(self, piece: bytes) -> None:
        assert self._answer is not None
        if self._answer.feed(piece) and not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()

    def _end(self) -> None:
        answer, self._answer = self._answer, None
        assert answer is not None
        self._finished(answer.head)
        answer.end()

    def _finished(self, head: AnswerHead) -> None:
        """An answer has come whole."""
        if head.keep:
            self._free(self)
        elif self._transport is not None:
            self.closed = True
            self._transport.close()
