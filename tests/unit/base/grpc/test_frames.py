"""Frames are the same however the bytes were split, and lengths are bounded."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.base.grpc.frames import (
    DATA,
    HEADERS,
    MAX_FRAME_BYTES,
    PADDED,
    PING,
    PRIORITY_GIVEN,
    ErrorCode,
    Frame,
    FrameReader,
    ProtocolError,
    body_of,
    frame,
)

FRAMES = st.lists(
    st.builds(
        Frame,
        st.integers(0, 255),
        st.integers(0, 255),
        st.integers(0, 2**31 - 1),
        st.one_of(st.binary(max_size=40), st.just(bytes(MAX_FRAME_BYTES))),
    ),
    max_size=8,
)


def split(data: bytes, cuts: list[int]) -> list[bytes]:
    """The data, cut at these positions (taken within it)."""
    at = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return [data[begin:end] for begin, end in pairwise(at)]


@given(frames=FRAMES, cuts=st.lists(st.integers(0, 200_000), max_size=20))
def test_frames_survive_any_split(frames: list[Frame], cuts: list[int]) -> None:
    data = b"".join(frame(*each) for each in frames)
    reader = FrameReader()
    assert [each for part in split(data, cuts) for each in reader.feed(part)] == frames


@given(frames=FRAMES)
def test_frames_survive_byte_by_byte_and_the_reserved_bit_is_ignored(frames: list[Frame]) -> None:
    small = [each for each in frames if len(each.payload) < 100]
    data = bytearray()
    for each in small:
        encoded = bytearray(frame(*each))
        encoded[5] |= 0x80
        data += encoded
    reader = FrameReader()
    assert [each for byte in data for each in reader.feed(bytes((byte,)))] == small


def test_a_frame_that_is_too_long_is_refused_by_its_head_and_those_before_it_are_given_out() -> None:
    reader = FrameReader()
    seen: list[Frame] = []
    data = frame(PING, 0, 0, bytes(8)) + (MAX_FRAME_BYTES + 1).to_bytes(3, "big") + bytes(6)
    with pytest.raises(ProtocolError) as raised:
        seen.extend(reader.feed(data))
    assert raised.value.code is ErrorCode.FRAME_SIZE_ERROR
    assert [each.kind for each in seen] == [PING]


@given(body=st.binary(max_size=50), padding=st.integers(0, 255), kind=st.sampled_from([DATA, HEADERS]))
def test_padding_and_priority_are_taken_off(body: bytes, padding: int, kind: int) -> None:
    priority = bytes(5) if kind == HEADERS else b""
    flags = PADDED | (PRIORITY_GIVEN if priority else 0)
    assert body_of(Frame(kind, flags, 1, bytes((padding,)) + priority + body + bytes(padding))) == body
    assert body_of(Frame(kind, 0, 1, body)) == body


@pytest.mark.parametrize(
    "bad",
    [
        Frame(DATA, PADDED, 1, b""),
        Frame(DATA, PADDED, 1, b"\x01"),
        Frame(HEADERS, PADDED | PRIORITY_GIVEN, 1, b"\x00abcd"),
        Frame(HEADERS, PRIORITY_GIVEN, 1, b"abcd"),
    ],
)
def test_more_padding_than_there_is_payload_is_refused(bad: Frame) -> None:
    with pytest.raises(ProtocolError):
        body_of(bad)


def test_errors_have_names() -> None:
    assert ErrorCode.name_of(11) == "ENHANCE_YOUR_CALM"
    assert ErrorCode.name_of(99) == "error 99"
