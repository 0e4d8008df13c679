import pytest

from controlplane.peerproxy.events import MOST_BYTES, WholeEvents


def framed(*events: bytes) -> bytes:
    return b"".join(len(event).to_bytes(4) + event for event in events)


LINES = b'{"a":1}\n{"b":2}\n'
FRAMES = framed(b"one", b"", b"three")


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
@pytest.mark.parametrize(
    ("stream", "is_text"), [pytest.param(LINES, True, id="text"), pytest.param(FRAMES, False, id="binary")]
)
def test_however_a_stream_is_cut_all_of_it_comes_through(stream: bytes, size: int, *, is_text: bool) -> None:
    events = WholeEvents(is_text=is_text)
    pieces = [events.feed(stream[at : at + size]) for at in range(0, len(stream), size)]
    assert b"".join(pieces) == stream


@pytest.mark.parametrize(
    ("is_text", "begun", "whole"),
    [
        pytest.param(True, LINES + b'{"c":', LINES, id="half a line"),
        pytest.param(True, b'{"a"', b"", id="no line yet"),
        pytest.param(False, FRAMES + framed(b"four")[:6], FRAMES, id="half a frame"),
        pytest.param(False, FRAMES + b"\0\0", FRAMES, id="half a length"),
    ],
)
def test_half_an_event_is_held_back(begun: bytes, whole: bytes, *, is_text: bool) -> None:
    assert WholeEvents(is_text=is_text).feed(begun) == whole


@pytest.mark.parametrize("is_text", [True, False])
def test_an_event_without_an_end_is_not_waited_for(*, is_text: bool) -> None:
    events, piece = WholeEvents(is_text=is_text), b"\xff" * (MOST_BYTES // 4)
    assert [events.feed(piece) for _ in range(4)] == [b""] * 4
    with pytest.raises(ConnectionError, match="an event is over"):
        events.feed(piece)
