"""Whatever bytes arrive, and however they are split: a call has its answer or an error, and nothing grows."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.base.grpc.call import STREAM_WINDOW_BYTES, Unary
from controlplane.base.grpc.connection import MAX_UNREAD_REPLIES, Connection
from controlplane.base.grpc.frames import (
    ACK,
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    GOAWAY,
    HEADERS,
    MAX_FRAME_BYTES,
    PADDED,
    PING,
    PRIORITY,
    PUSH_PROMISE,
    RST_STREAM,
    SETTINGS,
    WINDOW_UPDATE,
    ErrorCode,
    FrameReader,
    Setting,
    frame,
    settings_payload,
)
from controlplane.base.grpc.headers import MAX_BLOCK_BYTES, request_block
from controlplane.base.grpc.messages import prefixed
from controlplane.base.grpc.status import Code, RpcError
from tests.aio import run
from tests.unit.base.grpc.peer import OK, Recorder, answer, block, started, trailers
from tests.unit.base.grpc.test_frames import split

SETTLED = frame(SETTINGS, 0, 0)
BLOCK = request_block("http", "db:2379", "/service/Method", "10000m")


class Opened:
    """A connection with one call, stream 1, on a transport that records."""

    def __init__(self) -> None:
        self.transport = Recorder()
        self.unusable: list[str] = []
        self.connection = Connection(lambda _, why: self.unusable.append(why))
        self.connection.connection_made(self.transport)
        self.connection.data_received(SETTLED)
        self.call = self.connection.unary(BLOCK, b"ask", 10)

    def sent(self) -> list[tuple[int, int, bytes]]:
        """What has been sent since: kind, stream and payload."""
        self.connection._sender.flush()
        data, self.transport.written = self.transport.written, b""
        return [(each.kind, each.stream_id, each.payload) for each in FrameReader().feed(data.split(b"SM\r\n\r\n")[-1])]

    def close(self) -> None:
        self.connection.connection_lost(None)


def outcome(call: Unary) -> bytes | RpcError | None:
    """The answer, the error, or None if the call is still open."""
    if not call.done.done():
        return None
    error = call.done.exception()
    if error is None:
        return call.done.result()
    assert isinstance(error, RpcError)
    return error


def with_call(check: Callable[[Opened], None]) -> None:
    async def body() -> None:
        opened = Opened()
        try:
            check(opened)
        finally:
            opened.close()
            opened.call.done.exception()

    run(body())


PIECEMEAL = b"".join(
    (
        frame(PING, 0, 0, b"01234567"),
        frame(HEADERS, END_HEADERS, 1, block({":status": "103", "link": "x"})),
        frame(HEADERS, 0, 1, block(OK)[:3]),
        frame(CONTINUATION, 0, 1, block(OK)[3:5]),
        frame(CONTINUATION, END_HEADERS, 1, block(OK)[5:]),
        frame(PRIORITY, 0, 1, bytes(5)),
        frame(DATA, 0, 1, prefixed(b"told")[:2]),
        frame(DATA, 0, 1),
        frame(DATA, PADDED, 1, b"\x03" + prefixed(b"told")[2:] + bytes(3)),
        frame(0xEE, 0xFF, 77, b"of an extension"),
        frame(WINDOW_UPDATE, 0, 0, pack(">L", 5)),
        trailers(1),
    )
)


@given(cuts=st.lists(st.integers(0, 1000), max_size=30))
def test_an_answer_is_the_same_however_it_arrives(cuts: list[int]) -> None:
    def check(opened: Opened) -> None:
        for part in split(PIECEMEAL, cuts):
            opened.connection.data_received(part)
        assert outcome(opened.call) == b"told"
        assert (PING, 0, b"01234567") in opened.sent()
        assert opened.unusable == []

    with_call(check)


@given(data=st.binary(max_size=200), flips=st.lists(st.tuples(st.integers(0, 1000), st.integers(1, 255)), max_size=6))
def test_any_bytes_give_an_answer_or_an_error(data: bytes, flips: list[tuple[int, int]]) -> None:
    def check(opened: Opened) -> None:
        garbled = bytearray(PIECEMEAL + data)
        for at, mask in flips:
            garbled[at % len(garbled)] ^= mask
        opened.connection.data_received(bytes(garbled))
        opened.connection.connection_lost(None)
        assert isinstance(outcome(opened.call), (bytes, RpcError))
        assert opened.transport.ended or not opened.connection._calls

    with_call(check)


def test_random_frames_give_an_answer_or_an_error() -> None:
    """Frames that are well formed outside, so that they reach every branch inside."""
    chance = random.Random(7)

    def check(opened: Opened) -> None:
        for _ in range(40):
            kind = chance.randrange(10)
            payload = chance.choice(
                [b"", bytes(4), bytes(5), bytes(8), pack(">L", 1), chance.randbytes(8), block(OK), prefixed(b"x")]
            )
            stream_id = chance.choice([0, 1, 1, 1, 3])
            opened.connection.data_received(frame(kind, chance.choice([0, 1, 4, 5, 0x2D]), stream_id, payload))
            if opened.transport.ended:
                break
        opened.connection.connection_lost(None)
        assert isinstance(outcome(opened.call), (bytes, RpcError))

    for _ in range(300):
        with_call(check)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        pytest.param((MAX_FRAME_BYTES + 1).to_bytes(3, "big") + bytes(6), "FRAME_SIZE_ERROR", id="oversized frame"),
        pytest.param(b"\xff\xff\xff" + bytes(6), "FRAME_SIZE_ERROR", id="enormous frame"),
        pytest.param(frame(DATA, 0, 3, b"x"), "PROTOCOL_ERROR", id="data of a stream never opened"),
        pytest.param(frame(DATA, 0, 0, b"x"), "PROTOCOL_ERROR", id="data of no stream"),
        pytest.param(frame(HEADERS, END_HEADERS, 2, block(OK)), "PROTOCOL_ERROR", id="a stream of the server"),
        pytest.param(frame(PUSH_PROMISE, END_HEADERS, 1, bytes(4)), "PROTOCOL_ERROR", id="push"),
        pytest.param(started(1) + frame(DATA, PADDED, 1, b"\x09abc"), "PROTOCOL_ERROR", id="padding"),
        pytest.param(frame(SETTINGS, 0, 0, b"abc"), "FRAME_SIZE_ERROR", id="settings cut off"),
        pytest.param(frame(SETTINGS, 0, 1), "FRAME_SIZE_ERROR", id="settings of a stream"),
        pytest.param(frame(SETTINGS, ACK, 0, bytes(6)), "FRAME_SIZE_ERROR", id="acknowledgement with settings"),
        pytest.param(
            frame(SETTINGS, 0, 0, settings_payload({Setting.MAX_FRAME_SIZE: 1})), "PROTOCOL_ERROR", id="frame size"
        ),
        pytest.param(
            frame(SETTINGS, 0, 0, settings_payload({Setting.INITIAL_WINDOW_SIZE: 2**31})),
            "FLOW_CONTROL_ERROR",
            id="initial window",
        ),
        pytest.param(frame(WINDOW_UPDATE, 0, 0, pack(">L", 2**31 - 1)), "FLOW_CONTROL_ERROR", id="window"),
        pytest.param(frame(WINDOW_UPDATE, 0, 1, pack(">L", 2**31 - 1)), "FLOW_CONTROL_ERROR", id="stream window"),
        pytest.param(frame(WINDOW_UPDATE, 0, 0, bytes(4)), "PROTOCOL_ERROR", id="window widened by nothing"),
        pytest.param(frame(WINDOW_UPDATE, 0, 0, bytes(3)), "FRAME_SIZE_ERROR", id="window update cut off"),
        pytest.param(frame(PING, 0, 0, bytes(7)), "FRAME_SIZE_ERROR", id="ping cut off"),
        pytest.param(frame(PING, 0, 1, bytes(8)), "PROTOCOL_ERROR", id="ping of a stream"),
        pytest.param(frame(RST_STREAM, 0, 0, bytes(4)), "PROTOCOL_ERROR", id="reset of no stream"),
        pytest.param(frame(RST_STREAM, 0, 1, bytes(3)), "FRAME_SIZE_ERROR", id="reset cut off"),
        pytest.param(frame(GOAWAY, 0, 0, bytes(7)), "FRAME_SIZE_ERROR", id="goaway cut off"),
        pytest.param(frame(CONTINUATION, END_HEADERS, 1), "PROTOCOL_ERROR", id="continued unbegun"),
        pytest.param(frame(HEADERS, 0, 1) + frame(PING, 0, 0, bytes(8)), "PROTOCOL_ERROR", id="interrupted"),
        pytest.param(frame(HEADERS, 0, 1) + frame(CONTINUATION, 4, 3, b"x"), "PROTOCOL_ERROR", id="other stream"),
        pytest.param(
            frame(HEADERS, 0, 1) + frame(CONTINUATION, 0, 1, bytes(9000)) * (MAX_BLOCK_BYTES // 9000 + 1),
            "ENHANCE_YOUR_CALM",
            id="endless block",
        ),
        pytest.param(frame(HEADERS, 0, 1) + frame(CONTINUATION, 0, 1), "ENHANCE_YOUR_CALM", id="empty continuation"),
        pytest.param(frame(HEADERS, END_HEADERS, 1, b"\xff\xff"), "COMPRESSION_ERROR", id="unreadable block"),
    ],
)
def test_a_broken_protocol_ends_the_connection_with_the_reason(data: bytes, code: str) -> None:
    def check(opened: Opened) -> None:
        opened.connection.data_received(data)
        error = outcome(opened.call)
        assert isinstance(error, RpcError)
        assert (error.code, error.unsent) == (Code.UNAVAILABLE, False)
        assert len(opened.unusable) == 1
        kind, _, payload = opened.sent()[-1]
        assert (kind, payload[4:]) == (GOAWAY, pack(">L", ErrorCode[code]))
        assert opened.transport.ended == "closed"
        late = opened.connection.unary(BLOCK, b"", 1)
        error = outcome(late)
        assert isinstance(error, RpcError)
        assert error.unsent

    with_call(check)


@pytest.mark.parametrize(
    ("data", "code", "says"),
    [
        (frame(HEADERS, 5, 1, block({":status": "503"})), Code.UNAVAILABLE, "HTTP status 503"),
        (frame(HEADERS, 4, 1, block({":status": "404"})), Code.UNIMPLEMENTED, "HTTP status 404"),
        (frame(HEADERS, 4, 1, block({":status": "200", "content-type": "text/html"})), Code.UNKNOWN, "text/html"),
        (frame(HEADERS, 5, 1, block({**OK, "grpc-status": "5", "grpc-message": "no%20key"})), Code.NOT_FOUND, "no key"),
        (frame(HEADERS, 5, 1, block(OK)), Code.INTERNAL, "grpc-status missing"),
        (frame(DATA, 0, 1, prefixed(b"x")), Code.INTERNAL, "before headers"),
        (started(1) + trailers(1), Code.INTERNAL, "without a message"),
        (started(1) + frame(DATA, 0, 1, prefixed(b"a") * 2), Code.INTERNAL, "more than one message"),
        (started(1) + frame(DATA, END_STREAM, 1, prefixed(b"a")), Code.INTERNAL, "without a status"),
        (started(1) + frame(DATA, 0, 1, prefixed(b"abc")[:6]) + trailers(1), Code.INTERNAL, "inside a message"),
        (started(1) + frame(DATA, 0, 1, b"\0\xff\xff\xff\xff"), Code.INTERNAL, "at most"),
        (started(1) + frame(DATA, 0, 1, b"\1\0\0\0\0"), Code.INTERNAL, "compressed"),
        (started(1) + started(1), Code.INTERNAL, "headers amid"),
        (started(1) + trailers(1, "14", "etcdserver: no leader"), Code.UNAVAILABLE, "no leader"),
        (frame(RST_STREAM, 0, 1, pack(">L", ErrorCode.INTERNAL_ERROR)), Code.INTERNAL, "INTERNAL_ERROR"),
    ],
)
def test_a_bad_answer_is_the_calls_own_error_and_the_connection_goes_on(data: bytes, code: Code, says: str) -> None:
    def check(opened: Opened) -> None:
        opened.connection.data_received(data)
        error = outcome(opened.call)
        assert isinstance(error, RpcError)
        assert (error.code, error.unsent) == (code, False)
        assert says in error.details
        other = opened.connection.unary(BLOCK, b"", 1)
        opened.connection.data_received(answer(3, b"fine"))
        assert outcome(other) == b"fine"
        assert opened.unusable == []

    with_call(check)


def test_a_server_that_sends_more_of_a_stream_than_it_may_loses_the_stream() -> None:
    async def body() -> None:
        opened = Opened()
        stream = opened.connection.stream(BLOCK)
        part = frame(DATA, 0, 3, prefixed(bytes(16_000)))
        parts = STREAM_WINDOW_BYTES // 16_005
        opened.connection.data_received(started(3) + part * parts)
        assert not stream.ended
        opened.connection.data_received(part)
        assert (RST_STREAM, 3, pack(">L", ErrorCode.FLOW_CONTROL_ERROR)) in opened.sent()
        for _ in range(parts):
            assert await stream.read() == bytes(16_000)
        with pytest.raises(RpcError, match="more than it may"):
            await stream.read()
        opened.connection.data_received(answer(1, b"fine"))
        assert outcome(opened.call) == b"fine"
        opened.close()

    run(body())


def test_a_server_that_asks_on_without_reading_is_left() -> None:
    def check(opened: Opened) -> None:
        opened.connection.pause_writing()
        for _ in range(MAX_UNREAD_REPLIES):
            opened.connection.data_received(frame(PING, 0, 0, bytes(8)))
        before = opened.transport.ended
        opened.connection.data_received(frame(PING, 0, 0, bytes(8)))
        assert (before, opened.transport.ended) == ("", "aborted")

    with_call(check)


def test_the_connections_window_is_widened_as_data_arrive() -> None:
    async def body() -> None:
        opened = Opened()
        opened.connection.cancel(opened.call)
        opened.sent()
        for _ in range(2**27 // MAX_FRAME_BYTES + 1):  # of a call that has ended: nobody else credits it
            opened.connection.data_received(frame(DATA, 0, 1, bytes(MAX_FRAME_BYTES)))
            await asyncio.sleep(0)
        assert (WINDOW_UPDATE, 0, pack(">L", 2**27 + MAX_FRAME_BYTES)) in opened.sent()
        opened.close()

    run(body())
