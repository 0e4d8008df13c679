"""Frames of WebSockets: lengths, masks, control frames, in whatever pieces they come."""

from __future__ import annotations

import pytest

from controlplane.apiserver.server.listen.frames import CLOSE, FrameReader, frame


def masked(opcode: int, payload: bytes, *, mask: bytes = b"\x01\x02\x03\x04") -> bytes:
    """A frame as clients send it."""
    head = frame(opcode, payload)[: -len(payload)] if payload else frame(opcode, payload)
    hidden = bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload))
    return bytes((head[0], head[1] | 0x80)) + head[2:] + mask + hidden


class Reading:
    """A reader with what it sent, and how often it ended."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.ends = 0
        self.reader = FrameReader(on_end=self.end, send=self.sent.append)

    def end(self) -> None:
        self.ends += 1


@pytest.mark.parametrize(
    ("size", "head"),
    [
        (0, b"\x81\x00"),
        (125, b"\x81\x7d"),
        (126, b"\x81\x7e\x00\x7e"),
        (65535, b"\x81\x7e\xff\xff"),
        (65536, b"\x81\x7f\x00\x00\x00\x00\x00\x01\x00\x00"),
    ],
)
def test_length_of_a_message(size: int, head: bytes) -> None:
    assert frame(1, b"x" * size) == head + b"x" * size


@pytest.mark.parametrize("step", [1, 3, 1000])
def test_ping_is_answered_and_data_skipped_in_whatever_pieces_they_come(step: int) -> None:
    reading = Reading()
    sent = masked(1, b"x" * 70000) + masked(9, b"hello") + masked(2, b"y" * 300) + masked(10, b"") + masked(9, b"")
    for at in range(0, len(sent), step):
        assert reading.reader.feed_data(sent[at : at + step]) == (False, b"")
    assert reading.sent == [frame(10, b"hello"), frame(10, b"")]
    assert reading.ends == 0


def test_client_ends() -> None:
    reading = Reading()
    reading.reader.feed_data(masked(CLOSE, b"\x03\xe8") + b"anything")
    assert (reading.sent, reading.ends) == ([], 1)


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(frame(1, b"bare"), id="not masked"),
        pytest.param(masked(9, b"x" * 126), id="a control frame that is too long"),
    ],
)
def test_a_broken_rule_ends_it(broken: bytes) -> None:
    reading = Reading()
    reading.reader.feed_data(broken)
    assert (reading.sent, reading.ends) == ([frame(CLOSE, (1002).to_bytes(2, "big"))], 1)
