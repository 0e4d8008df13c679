"""Answers that are known by their bytes are what they would be frame by frame, and nothing else is taken for one."""

from __future__ import annotations

import random
from struct import pack
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.base.grpc.call import STREAM_WINDOW_BYTES, Unary
from controlplane.base.grpc.connection import CONNECTION_WINDOW_BYTES
from controlplane.base.grpc.frames import (
    DATA,
    GOAWAY,
    HEADERS,
    PING,
    RST_STREAM,
    WINDOW_UPDATE,
    frame,
)
from controlplane.base.grpc.messages import prefixed
from controlplane.base.grpc.status import Code, RpcError
from controlplane.base.grpc.usual import USUAL_BYTES
from tests.unit.base.grpc.peer import OK, answer, block, started, trailers
from tests.unit.base.grpc.test_connection import BLOCK, Opened, outcome, with_call
from tests.unit.base.grpc.test_frames import split


def begin(opened: Opened, calls: int) -> dict[int, Unary]:
    """More calls, by their streams, after one that has taught what an answer looks like."""
    opened.connection.data_received(answer(1, b"told"))
    assert outcome(opened.call) == b"told"
    begun = [opened.connection.unary(BLOCK, b"ask", 10) for _ in range(calls)]
    return {call.stream_id: call for call in begun}


def by_frames(opened: Opened) -> list[Any]:
    """Records the frames that are looked at one by one from now on."""
    seen: list[Any] = []
    handle = opened.connection._handle

    def recorded(each: Any) -> None:
        seen.append((each.kind, each.stream_id))
        handle(each)

    opened.connection._handle = recorded  # type: ignore[method-assign]  # to see which way is taken
    return seen


def test_answers_on_end_are_taken_without_looking_at_frames() -> None:
    def check(opened: Opened) -> None:
        calls = begin(opened, 20)
        seen = by_frames(opened)
        streams = random.Random(3).sample(list(calls), 20)
        data = b"".join(answer(stream, b"%04d" % stream) for stream in streams)
        window = opened.connection._receive_window
        opened.connection.data_received(frame(PING, 0, 0, b"01234567") + data)
        assert seen == [(PING, 0)]
        assert {stream: outcome(call) for stream, call in calls.items()} == {s: b"%04d" % s for s in calls}
        assert window - opened.connection._receive_window == 20 * len(prefixed(b"0000"))
        assert not opened.connection._calls

    with_call(check)


PARTS = st.lists(
    st.sampled_from(["usual", "longer", "failed", "reset", "interleaved", "padded", "ping", "window", "unknown"]),
    max_size=12,
)


@given(parts=PARTS, cuts=st.lists(st.integers(0, 5_000), max_size=8))
def test_what_comes_between_and_how_it_is_split_changes_no_answer(parts: list[str], cuts: list[int]) -> None:
    def check(opened: Opened) -> None:
        calls = begin(opened, 2 * len(parts))
        streams = iter(calls)
        data, expected = b"", dict[int, bytes | Code]()
        for part in parts:
            stream, other = next(streams), next(streams)
            expected |= {stream: b"%04d" % stream, other: b"%04d" % other}
            last = answer(other, b"%04d" % other)
            if part == "usual":
                data += answer(stream, b"%04d" % stream) + last
            elif part == "longer":
                expected[stream] = b"of another length"
                data += answer(stream, b"of another length") + last
            elif part == "failed":
                expected[stream] = Code.NOT_FOUND
                data += started(stream) + frame(DATA, 0, stream, prefixed(b"none")) + trailers(stream, "5") + last
            elif part == "reset":
                expected[stream] = Code.UNAVAILABLE
                data += frame(RST_STREAM, 0, stream, pack(">L", 7)) + answer(stream, b"late") + last
            elif part == "interleaved":
                data += started(stream) + started(other)
                data += frame(DATA, 0, other, prefixed(b"%04d" % other))
                data += frame(DATA, 0, stream, prefixed(b"%04d" % stream)) + trailers(stream) + trailers(other)
            elif part == "padded":
                data += started(stream)
                data += frame(DATA, 0x8, stream, b"\2" + prefixed(b"%04d" % stream) + b"\0\0") + trailers(stream) + last
            else:
                other_frame = {
                    "ping": frame(PING, 0, 0, b"01234567"),
                    "window": frame(WINDOW_UPDATE, 0, 0, pack(">L", 5)),
                    "unknown": frame(0xEE, 0xFF, 77, b"of an extension"),
                }[part]
                data += answer(stream, b"%04d" % stream) + other_frame + last
        for piece in split(data, cuts):
            opened.connection.data_received(piece)
        found: dict[int, bytes | Code | None] = {}
        for stream, call in calls.items():
            result = outcome(call)
            found[stream] = result.code if isinstance(result, RpcError) else result
        assert found == expected
        assert opened.unusable == []
        assert not opened.connection._calls

    with_call(check)


@pytest.mark.parametrize("at", range(len(answer(3, b"told"))))
def test_one_byte_that_differs_is_never_overlooked(at: int) -> None:
    """Outside the message and the reserved bit of a stream's number, an answer with another byte is read by frames."""

    def check(opened: Opened) -> None:
        (call,) = begin(opened, 1).values()
        seen = by_frames(opened)
        garbled = bytearray(answer(3, b"told"))
        garbled[at] ^= 0x02
        opened.connection.data_received(bytes(garbled))
        start = len(started(3)) + len(frame(DATA, 0, 3, prefixed(b"")))
        taken_whole = not seen and isinstance(outcome(call), bytes)
        assert taken_whole == (start <= at < start + len(b"told"))

    with_call(check)


def test_a_call_that_was_cancelled_or_has_begun_to_be_answered_is_none_of_them() -> None:
    def check(opened: Opened) -> None:
        calls = begin(opened, 2)
        opened.connection.cancel(calls[3])
        opened.connection.data_received(answer(3, b"late"))
        opened.connection.data_received(started(5) + answer(5, b"mess"))
        error = outcome(calls[5])
        assert isinstance(error, RpcError)
        assert "headers amid the messages" in error.details

    with_call(check)


def test_a_connection_that_is_left_ends_with_the_last_usual_answer() -> None:
    def check(opened: Opened) -> None:
        calls = begin(opened, 2)
        opened.connection.data_received(frame(GOAWAY, 0, 0, pack(">LL", 5, 0)))
        opened.connection.data_received(answer(3, b"told") + answer(5, b"last") + frame(HEADERS, 0, 99, b"junk"))
        assert [outcome(call) for call in calls.values()] == [b"told", b"last"]
        assert opened.transport.ended

    with_call(check)


def test_the_connections_window_is_widened_by_usual_answers_too() -> None:
    def check(opened: Opened) -> None:
        calls = begin(opened, 3)
        opened.sent()
        opened.connection._receive_window = CONNECTION_WINDOW_BYTES // 2 + 1
        opened.connection.data_received(b"".join(answer(stream, b"told") for stream in calls))
        kinds = [(kind, stream) for kind, stream, _ in opened.sent()]
        assert kinds == [(WINDOW_UPDATE, 0)]
        assert opened.connection._receive_window == CONNECTION_WINDOW_BYTES

    with_call(check)


def test_a_call_that_waits_begins_when_a_usual_answer_makes_room() -> None:
    def check(opened: Opened) -> None:
        begin(opened, 0)
        opened.connection._max_calls = 1
        first, second = (opened.connection.unary(BLOCK, b"ask", 10) for _ in range(2))
        assert list(opened.connection._calls.values()) == [first]
        opened.connection.data_received(answer(first.stream_id, b"told"))
        assert list(opened.connection._calls.values()) == [second]
        opened.connection.data_received(answer(second.stream_id, b"told"))
        assert outcome(second) == b"told"

    with_call(check)


def test_a_long_answer_teaches_nothing() -> None:
    def check(opened: Opened) -> None:
        begin(opened, 0)
        usual = opened.connection._usual
        call = opened.connection.unary(BLOCK, b"ask", 10)
        opened.connection.data_received(answer(call.stream_id, bytes(USUAL_BYTES)))
        assert outcome(call) == bytes(USUAL_BYTES)
        assert opened.connection._usual is usual

    with_call(check)


def test_headers_in_pieces_are_not_taken_for_the_start_of_an_answer() -> None:
    def check(opened: Opened) -> None:
        calls = begin(opened, 2)
        opened.connection.data_received(frame(HEADERS, 0, 3, block(OK)))
        opened.connection.data_received(answer(5, b"told"))
        assert opened.unusable  # nothing may stand between the pieces
        assert isinstance(outcome(calls[3]), RpcError)

    with_call(check)


MESSAGES = st.lists(
    st.sampled_from(["whole", "two in one", "over two", "padded", "empty", "ping", "answer"]), min_size=1, max_size=12
)


@given(parts=MESSAGES, cuts=st.lists(st.integers(0, 5_000), max_size=8))
def test_messages_of_a_stream_are_the_same_whichever_frames_they_come_in(parts: list[str], cuts: list[int]) -> None:
    def check(opened: Opened) -> None:
        calls = iter(begin(opened, len(parts)).items())
        stream = opened.connection.stream(BLOCK)
        number = stream.stream_id
        data, expected, answers = started(number), list[bytes](), dict[Unary, bytes]()
        for at, part in enumerate(parts):
            one, two = b"one %d" % at, b"two %d" % at
            both = prefixed(one) + prefixed(two)
            if part == "two in one":
                data += frame(DATA, 0, number, both)
            elif part == "over two":
                data += frame(DATA, 0, number, both[: 7 + at]) + frame(DATA, 0, number, both[7 + at :])
            elif part == "padded":
                data += frame(DATA, 0x8, number, b"\3" + both + bytes(3))
            elif part == "empty":
                data += frame(DATA, 0, number) + frame(DATA, 0, number, both)
            else:
                data += frame(DATA, 0, number, prefixed(one))
                if part == "ping":
                    data += frame(PING, 0, 0, b"01234567")
                elif part == "answer":
                    other, call = next(calls)
                    answers[call] = b"%04d" % other
                    data += answer(other, answers[call])
                data += frame(DATA, 0, number, prefixed(two))
            expected += [one, two]
        for piece in split(data, cuts):
            opened.connection.data_received(piece)
        assert {call: outcome(call) for call in answers} == answers
        assert stream.held_bytes == sum(len(prefixed(message)) for message in expected)
        assert [stream.read_nowait() for _ in expected] == expected
        assert stream.peek() is None
        assert opened.unusable == []

    with_call(check)


def test_a_message_that_is_more_than_the_stream_may_be_sent_ends_it() -> None:
    def check(opened: Opened) -> None:
        begin(opened, 0)
        stream = opened.connection.stream(BLOCK)
        opened.connection.data_received(started(stream.stream_id))
        stream.receive_window = len(prefixed(b"told")) - 1
        opened.connection.data_received(frame(DATA, 0, stream.stream_id, prefixed(b"told")))
        assert stream.ended
        assert stream.peek() is None

    with_call(check)


def test_a_stream_that_is_read_is_credited_whichever_way_its_messages_came() -> None:
    def check(opened: Opened) -> None:
        begin(opened, 0)
        stream = opened.connection.stream(BLOCK)
        opened.connection.data_received(started(stream.stream_id))
        opened.sent()
        message = bytes(10_000)
        for _ in range(STREAM_WINDOW_BYTES // len(message)):
            opened.connection.data_received(frame(DATA, 0, stream.stream_id, prefixed(message)))
        assert not [kind for kind, number, _ in opened.sent() if number], "nobody has read anything"
        while stream.peek() is not None:
            stream.read_nowait()
        assert (WINDOW_UPDATE, stream.stream_id) in [(kind, number) for kind, number, _ in opened.sent()]
        assert stream.receive_window > STREAM_WINDOW_BYTES // 2

    with_call(check)
