"""One HTTP/2 connection as a client: its calls, its windows, its end.

Synchronous, on the loop; nothing here waits. Whatever ends the connection ends every call on it, each told whether the
server can have acted on it.

Bounded: frames (``MAX_FRAME_BYTES``), header blocks (``MAX_BLOCK_BYTES``, whatever they are cut into), what a server
may send unread (the windows), and what it may make us answer while it does not read (``MAX_UNREAD_REPLIES``).

Source: RFC 9113; grpc doc/PROTOCOL-HTTP2.md.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from struct import Struct
from time import monotonic
from typing import Final, cast

from controlplane.base.grpc.call import STREAM_WINDOW_BYTES, Call, Stream, Unary
from controlplane.base.grpc.expiry import Expiry
from controlplane.base.grpc.frames import (
    ACK,
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    GOAWAY,
    HEAD_BYTES,
    HEADERS,
    MAX_FRAME_BYTES,
    PING,
    PREFACE,
    PUSH_PROMISE,
    RST_STREAM,
    SETTINGS,
    WINDOW_UPDATE,
    ErrorCode,
    Frame,
    FrameReader,
    ProtocolError,
    Setting,
    body_of,
    frame,
    settings_payload,
)
from controlplane.base.grpc.headers import MAX_BLOCK_BYTES, HeaderDecoder
from controlplane.base.grpc.keepalive import KEEPALIVE, Keepalive, Watchdog
from controlplane.base.grpc.messages import PREFIX_BYTES, prefixed
from controlplane.base.grpc.sending import DEFAULT_WINDOW_BYTES, Sender
from controlplane.base.grpc.status import Code, RpcError, from_http, from_reset, from_trailers
from controlplane.base.grpc.usual import USUAL_BYTES, UsualAnswer, usual_answer

__all__ = ["CONNECTION_WINDOW_BYTES", "Connection"]

CONNECTION_WINDOW_BYTES: Final = 1 << 28
"""For all streams together; credited as data arrive, so that a stream nobody reads holds up no other."""


MAX_STREAM_ID: Final = 2**31 - 1
USED_UP: Final = "all stream numbers are used up"
LEFT: Final = "the connection was left"
MAX_UNREAD_REPLIES: Final = 1_000
CLOSE_SECONDS: Final = 1.0
"""How long the peer may take to take leave."""

_SETTINGS: Final = {
    Setting.HEADER_TABLE_SIZE: 0,
    Setting.ENABLE_PUSH: 0,
    Setting.INITIAL_WINDOW_SIZE: STREAM_WINDOW_BYTES,
    Setting.MAX_HEADER_LIST_SIZE: MAX_BLOCK_BYTES,
}
_U32: Final = Struct(">L")
_SETTING: Final = Struct(">HL")
_KEEPALIVE_PING: Final = b"keepaliv"

MESSAGE_HEAD_BYTES: Final = HEAD_BYTES + PREFIX_BYTES
_MESSAGE_HEAD: Final = Struct(">HBBBLBL").unpack_from
"""The head of a frame, and the prefix of the message that begins in it."""


class Connection(asyncio.Protocol):
    """See the module. ``settled`` is done once the server has said its settings, or has failed to.

    Args:
        on_unusable: called once, when no further call can begin here, with why.
    """

    def __init__(self, on_unusable: Callable[[Connection, str], None], keepalive: Keepalive = KEEPALIVE) -> None:
        loop = asyncio.get_running_loop()
        self._loop = loop
        self._on_unusable = on_unusable
        self.settled: asyncio.Future[None] = loop.create_future()
        self.closed: asyncio.Future[None] = loop.create_future()
        self.usable = True
        self._reader, self._headers = FrameReader(self._take_usual), HeaderDecoder()
        self._calls: dict[int, Call] = {}
        self._waiting: deque[Call] = deque()
        self._next_id = 1
        self._max_calls = MAX_STREAM_ID
        self._receive_window = CONNECTION_WINDOW_BYTES
        self._block_of: Frame | None = None
        self._block = b""
        self._answer_block = b""  # the last that began an answer
        self._usual: UsualAnswer | None = None
        self._greeted = False  # its settings have come
        self._ended = ""
        self._expiry = Expiry(loop, lambda: (*self._calls.values(), *self._waiting), self._expire)
        self._watchdog = Watchdog(
            loop, keepalive, busy=lambda: bool(self._calls), ping=self._ping, dead=self._fell_silent
        )
        self._paused = False
        self._unread_replies = 0
        self._transport: asyncio.Transport
        self._sender: Sender

    # calls

    def unary(self, block: bytes, message: bytes, seconds: float) -> Unary:
        """Begin a call; the answer is its ``done``."""
        call = Unary(block, self._loop.create_future())
        deadline = call.deadline = monotonic() + seconds
        stream_id = self._next_id
        if (
            self.usable
            and len(self._calls) < self._max_calls
            and stream_id <= MAX_STREAM_ID
            and self._sender.whole(call, stream_id, block, message)
        ):
            self._next_id = stream_id + 2
            self._calls[stream_id] = call
        else:
            self._begin(call, prefixed(message), end=True)
        if deadline < self._expiry.due and not call.ended:
            self._expiry.watch(deadline)
        return call

    def stream(self, block: bytes) -> Stream:
        """Begin a stream."""
        call = Stream(block, self, self._loop)
        self._begin(call, b"", end=False)
        return call

    def send(self, call: Call, data: bytes, *, end: bool) -> None:
        """More data of a call that is open."""
        if call.stream_id:
            self._sender.data(call, data, end=end)
        else:
            call.pending += data
            call.pending_end = end

    def credit(self, call: Call) -> None:
        """Let the server send as much more as has been read, once that is half a window."""
        if call.ended:
            return
        read = STREAM_WINDOW_BYTES - call.receive_window - call.held_bytes
        if read >= STREAM_WINDOW_BYTES // 2:
            call.receive_window += read
            self._sender.write(frame(WINDOW_UPDATE, 0, call.stream_id, _U32.pack(read)))

    def cancel(self, call: Call) -> None:
        """Nobody waits for the call any more. Idempotent."""
        self._break_off(call, ErrorCode.CANCEL, RpcError(Code.CANCELLED, "cancelled here", unsent=not call.stream_id))

    async def close(self, why: str) -> None:
        """Fail all calls and take leave. Idempotent."""
        self._end(ErrorCode.NO_ERROR, why)
        await asyncio.shield(self.closed)

    def _begin(self, call: Call, data: bytes, *, end: bool) -> None:
        if self._next_id > MAX_STREAM_ID:
            self._unusable(USED_UP)
        if not self.usable:
            call.end(RpcError(Code.UNAVAILABLE, self._ended or "the connection is being left", unsent=True))
        elif len(self._calls) >= self._max_calls:
            call.pending, call.pending_end = data, end
            self._waiting.append(call)
        else:
            self._open(call, data, end=end)

    def _open(self, call: Call, data: bytes, *, end: bool) -> None:
        stream_id = call.stream_id = self._next_id
        self._next_id += 2
        self._calls[stream_id] = call
        call.send_window = self._sender.initial_window
        headers = frame(HEADERS, END_HEADERS, stream_id, call.block)
        if data:
            self._sender.data(call, data, end=end, after=headers)
        else:
            self._sender.write(headers)

    def _finish(self, call: Call, error: RpcError | None) -> None:
        """The call is over. The next that waits begins."""
        if call.stream_id:
            del self._calls[call.stream_id]
            self._sender.forget(call)
        else:
            self._waiting.remove(call)
        call.end(error)
        if self._waiting:
            self._open_waiting()
        if not self.usable:
            self._end_if_idle(LEFT)

    def _open_waiting(self) -> None:
        while self._waiting and self.usable and len(self._calls) < self._max_calls:
            if self._next_id > MAX_STREAM_ID:
                self._unusable(USED_UP)
                return
            call = self._waiting.popleft()
            data, call.pending = call.pending, b""
            self._open(call, data, end=call.pending_end)

    def _break_off(self, call: Call, code: ErrorCode, error: RpcError) -> None:
        if call.ended:
            return
        if call.stream_id:
            self._reset(call.stream_id, code)
        self._finish(call, error)

    def _reset(self, stream_id: int, code: ErrorCode) -> None:
        self._sender.write(frame(RST_STREAM, 0, stream_id, _U32.pack(code)))

    def _expire(self, call: Call) -> None:
        error = RpcError(Code.DEADLINE_EXCEEDED, "no answer in time", unsent=not call.stream_id)
        self._break_off(call, ErrorCode.CANCEL, error)

    # the transport

    def check_protocol(self) -> None:
        """See that over TLS HTTP/2 was agreed on.

        Raises:
            ConnectionError.
        """
        tls = self._transport.get_extra_info("ssl_object")
        if tls is not None and tls.selected_alpn_protocol() != "h2":
            raise ConnectionError("the server does not offer HTTP/2 (ALPN h2)")

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's are of no common class
        self._sender = Sender(self._transport, self._loop)
        window = _U32.pack(CONNECTION_WINDOW_BYTES - DEFAULT_WINDOW_BYTES)
        settings = frame(SETTINGS, 0, 0, settings_payload(_SETTINGS))
        self._transport.write(PREFACE + settings + frame(WINDOW_UPDATE, 0, 0, window))
        self._watchdog.start()

    def data_received(self, data: bytes) -> None:
        self._watchdog.heard()
        try:
            for each in self._reader.feed(data):
                self._handle(each)
                if self._ended:
                    return
        except ProtocolError as error:
            self._end(error.code, f"the server broke the protocol: {error}")

    def connection_lost(self, exc: Exception | None) -> None:
        self._end(None, f"connection lost: {exc}" if exc else "the server closed the connection")
        if not self.closed.done():
            self.closed.set_result(None)

    def pause_writing(self) -> None:
        self._paused, self._unread_replies = True, 0

    def resume_writing(self) -> None:
        self._paused = False

    def _reply(self, data: bytes) -> None:
        """Answer what the server may ask any number of times."""
        self._unread_replies += 1
        if self._paused and self._unread_replies > MAX_UNREAD_REPLIES:
            self._end(None, "the server asks on, and does not read the answers")
        else:
            self._sender.write(data)

    def _ping(self) -> None:
        self._sender.write(frame(PING, 0, 0, _KEEPALIVE_PING))

    def _fell_silent(self, seconds: float) -> None:
        self._end(None, f"no sign of life for {seconds:.0f} s")

    def _unusable(self, why: str) -> None:
        """No further call begins here; those that wait go elsewhere, those that are open go on."""
        if not self.usable:
            return
        self.usable = False
        self._on_unusable(self, why)
        waiting, self._waiting = self._waiting, deque()
        for call in waiting:
            call.end(RpcError(Code.UNAVAILABLE, why, unsent=True))
        self._end_if_idle(why)

    def _end_if_idle(self, why: str) -> None:
        """A connection on which no further call begins ends with its last one."""
        if not (self.usable or self._calls or self._ended):
            self._end(ErrorCode.NO_ERROR, why)

    def _end(self, code: ErrorCode | None, why: str) -> None:
        """End the connection and all calls; ``code``: what to tell the server, None if it would not hear it."""
        if self._ended:
            return
        self._ended = why
        self._expiry.stop()
        self._watchdog.stop()
        if not self.settled.done():
            self.settled.set_exception(ConnectionError(why))
            self.settled.exception()  # heard, whether or not somebody waits
        if code is None:
            self._sender.drop()
            self._transport.abort()
        else:
            self._sender.write(frame(GOAWAY, 0, 0, _U32.pack(0) + _U32.pack(code)))
            self._sender.flush()
            self._transport.close()
            self._loop.call_later(CLOSE_SECONDS, self._transport.abort)
        self._unusable(why)
        calls, self._calls = self._calls, {}
        for call in calls.values():
            call.end(RpcError(Code.UNAVAILABLE, why))

    # frames

    def _take_usual(self, data: bytes, at: int) -> int:
        """Take what stands from ``at`` on, whole and as usual: answers to unary calls, and messages of streams. Returns
        where the first other frame begins."""
        usual = self._usual
        if usual is None or self._block_of is not None:
            return at
        began = -1
        while began != at and not self._ended:
            began = at
            at = self._take_message(data, self._take_answers(usual, data, at))
        if self._receive_window < CONNECTION_WINDOW_BYTES // 2 and not self._ended:
            self._credit_connection()
        return len(data) if self._ended else at

    def _take_answers(self, usual: UsualAnswer, data: bytes, at: int) -> int:
        """End the calls whose answers stand from ``at`` on. An answer is usual for a unary call of which all has been
        sent and nothing has come."""
        size, data_bytes, cut, same = usual
        last, calls = len(data) - size, self._calls
        while at <= last:
            head, stream, between, second, prefix, message, behind, third, rest = cut(data, at)
            if not stream == second == third or (head, between, prefix, behind, rest) != same:
                break
            call = calls.get(stream)
            if type(call) is not Unary or call.answered or not call.sent_end:
                break
            at += size
            self._receive_window -= data_bytes
            del calls[stream]
            call.succeed(message)
            if self._waiting:
                self._open_waiting()
            if not self.usable:
                self._end_if_idle(LEFT)
                if self._ended:
                    break
        return at

    def _take_message(self, data: bytes, at: int) -> int:
        """Hand on the message at ``at`` if one frame is one message of a stream, between others, within its window."""
        if len(data) - at < MESSAGE_HEAD_BYTES:
            return at
        high, low, kind, flags, stream, compressed, size = _MESSAGE_HEAD(data, at)
        length: int = high << 8 | low
        end = at + HEAD_BYTES + length
        if kind != DATA or flags or compressed or length != size + PREFIX_BYTES or end > len(data):
            return at
        call = self._calls.get(stream)
        if type(call) is not Stream or not call.answered or length > call.receive_window or length > MAX_FRAME_BYTES:
            return at
        if call.reader is not None and not call.reader.complete:
            return at
        self._receive_window -= length
        call.receive_window -= length
        call.receive(data[at + MESSAGE_HEAD_BYTES : end])
        if call.receive_window <= STREAM_WINDOW_BYTES // 2:
            self.credit(call)
        return end

    def _handle(self, each: Frame) -> None:
        kind = each.kind
        if not self._greeted and kind != SETTINGS:
            raise ProtocolError(ErrorCode.PROTOCOL_ERROR, "its first frame was not its settings")
        if self._block_of is not None or kind == CONTINUATION:
            self._continuation(each)
        elif kind == DATA:
            self._data(each)
        elif kind == HEADERS:
            self._begin_block(each)
        elif kind == WINDOW_UPDATE:
            self._window_update(each)
        elif kind == PING:
            _expect(each, 8, connection=True)
            if not each.flags & ACK:
                self._reply(frame(PING, ACK, 0, each.payload))
        elif kind == SETTINGS:
            self._settings(each)
        elif kind == RST_STREAM:
            _expect(each, 4, connection=False)
            call = self._call(each)
            if call is not None:
                self._finish(call, from_reset(_U32.unpack(each.payload)[0]))
        elif kind == GOAWAY:
            self._goaway(each)
        elif kind == PUSH_PROMISE:
            raise ProtocolError(ErrorCode.PROTOCOL_ERROR, "a push, which was forbidden")

    def _call(self, each: Frame) -> Call | None:
        """The open call of a frame; None if it has ended.

        Raises:
            ProtocolError: there never was one.
        """
        stream_id = each.stream_id
        call = self._calls.get(stream_id)
        if call is None and (stream_id >= self._next_id or not stream_id & 1):
            raise ProtocolError(ErrorCode.PROTOCOL_ERROR, f"a frame of stream {stream_id}, which was never opened")
        return call

    def _data(self, each: Frame) -> None:
        call = self._call(each)
        size = len(each.payload)
        self._receive_window -= size
        if self._receive_window < CONNECTION_WINDOW_BYTES // 2:
            self._credit_connection()
        if call is None:
            return
        call.receive_window -= size
        if call.receive_window < 0:
            error = RpcError(Code.INTERNAL, "the server sent more than it may")
            self._break_off(call, ErrorCode.FLOW_CONTROL_ERROR, error)
            return
        try:
            if not call.answered:
                raise RpcError(Code.INTERNAL, "the server sent data before headers")
            call.take(body_of(each))
        except RpcError as error:
            self._break_off(call, ErrorCode.CANCEL, error)
            return
        if each.flags & END_STREAM:
            self._ended_by_server(call, RpcError(Code.INTERNAL, "the server ended the call without a status"))
        elif call.receive_window <= STREAM_WINDOW_BYTES // 2:
            self.credit(call)

    def _credit_connection(self) -> None:
        self._sender.write(frame(WINDOW_UPDATE, 0, 0, _U32.pack(CONNECTION_WINDOW_BYTES - self._receive_window)))
        self._receive_window = CONNECTION_WINDOW_BYTES

    def _begin_block(self, each: Frame) -> None:
        block = body_of(each)
        if each.flags & END_HEADERS:
            self._headers_of(each, block)
        else:
            self._block_of, self._block = each, block

    def _continuation(self, each: Frame) -> None:
        begun = self._block_of
        if begun is None or each.kind != CONTINUATION or each.stream_id != begun.stream_id:
            raise ProtocolError(ErrorCode.PROTOCOL_ERROR, "a header block was interrupted, or continued unbegun")
        self._block += each.payload
        if len(self._block) > MAX_BLOCK_BYTES or not each.payload:
            raise ProtocolError(ErrorCode.ENHANCE_YOUR_CALM, "a header block without end")
        if each.flags & END_HEADERS:
            self._block_of = None
            self._headers_of(begun, self._block)

    def _headers_of(self, each: Frame, encoded: bytes) -> None:
        block = self._headers.decode(encoded)
        call = self._call(each)
        if call is None:
            return
        last = each.flags & END_STREAM
        if not call.answered:
            if block.status != "200":
                if block.status.startswith("1") and not last:
                    return  # informational; the answer follows
                call.answered = True
                self._refuse(call, from_http(block.status), ended=bool(last))
                return
            call.answered = True
            if not block.content_type.startswith("application/grpc"):
                text = f"content type {block.content_type or 'missing'} instead of a gRPC answer"
                self._refuse(call, RpcError(Code.UNKNOWN, text), ended=bool(last))
                return
            if not last:
                self._answer_block = encoded
                return
        elif not last:
            self._break_off(call, ErrorCode.PROTOCOL_ERROR, RpcError(Code.INTERNAL, "headers amid the messages"))
            return
        error = from_trailers(block.grpc_status, block.grpc_message)
        if error is None and call.reader is not None and not call.reader.complete:
            error = RpcError(Code.INTERNAL, "the server ended the call inside a message")
        if error is None and isinstance(call, Unary) and call.message is not None:
            self._learn(len(call.message), encoded)
        self._ended_by_server(call, error)

    def _learn(self, message_bytes: int, trailers: bytes) -> None:
        """A call has succeeded: answers like its own are known from now on."""
        if message_bytes + len(self._answer_block) + len(trailers) <= USUAL_BYTES:
            self._usual = usual_answer(self._answer_block, message_bytes, trailers)

    def _refuse(self, call: Call, error: RpcError, *, ended: bool) -> None:
        if ended:
            self._ended_by_server(call, error)
        else:
            self._break_off(call, ErrorCode.CANCEL, error)

    def _ended_by_server(self, call: Call, error: RpcError | None) -> None:
        if not call.sent_end:  # it will not read what we might still send
            self._reset(call.stream_id, ErrorCode.NO_ERROR)
        self._finish(call, error)

    def _window_update(self, each: Frame) -> None:
        _expect(each, 4, connection=None)
        increment = _U32.unpack(each.payload)[0] & MAX_STREAM_ID
        call = self._call(each) if each.stream_id else None
        if each.stream_id and call is None:
            return
        if not increment:
            raise ProtocolError(ErrorCode.PROTOCOL_ERROR, "a window was widened by nothing")
        self._sender.grown(call, increment)

    def _settings(self, each: Frame) -> None:
        if each.stream_id or len(each.payload) % 6 or (each.flags & ACK and each.payload):
            raise ProtocolError(ErrorCode.FRAME_SIZE_ERROR, "malformed settings")
        if each.flags & ACK:
            return
        for name, value in _SETTING.iter_unpack(each.payload):
            if name == Setting.INITIAL_WINDOW_SIZE:
                self._sender.set_initial_window(value, list(self._calls.values()))
            elif name == Setting.MAX_CONCURRENT_STREAMS:
                self._max_calls = value
            elif name == Setting.MAX_FRAME_SIZE:
                if not 16_384 <= value <= 16_777_215:
                    raise ProtocolError(ErrorCode.PROTOCOL_ERROR, f"a largest frame of {value} bytes")
                self._sender.max_frame = value
        self._reply(frame(SETTINGS, ACK, 0))
        self._greeted = True
        if not self.settled.done():
            self.settled.set_result(None)
        self._open_waiting()

    def _goaway(self, each: Frame) -> None:
        if each.stream_id or len(each.payload) < 8:
            raise ProtocolError(ErrorCode.FRAME_SIZE_ERROR, "malformed GOAWAY")
        last = _U32.unpack_from(each.payload)[0] & MAX_STREAM_ID
        code = _U32.unpack_from(each.payload, 4)[0]
        debug = each.payload[8:264].decode("utf-8", "replace")
        why = f"the server closes the connection: {ErrorCode.name_of(code)}{f' ({debug})' if debug else ''}"
        self._unusable(why)
        for call in [call for stream_id, call in self._calls.items() if stream_id > last]:
            self._finish(call, RpcError(Code.UNAVAILABLE, why, unsent=True))


def _expect(each: Frame, size: int, *, connection: bool | None) -> None:
    """Check a frame's size, and that it belongs to the connection, or to a stream (None: to either).

    Raises:
        ProtocolError.
    """
    if len(each.payload) != size:
        raise ProtocolError(ErrorCode.FRAME_SIZE_ERROR, f"a frame of type {each.kind} of {len(each.payload)} bytes")
    if connection is not None and connection == bool(each.stream_id):
        raise ProtocolError(ErrorCode.PROTOCOL_ERROR, f"a frame of type {each.kind} of stream {each.stream_id}")
