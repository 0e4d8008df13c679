"""Events are the same however their bytes come, and whichever way they are taken."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.apimachinery.codec.json import dumps
from controlplane.base.aside import LONG_BYTES
from controlplane.client.errors import StreamBroken
from controlplane.client.watch import WatchEvent, WatchStream
from tests.aio import run


class Pieces:
    """A stream of bytes that comes in these pieces."""

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self._pieces = list(pieces)

    def __aiter__(self) -> Pieces:
        return self

    async def __anext__(self) -> bytes:
        if not self._pieces:
            raise StopAsyncIteration
        return self._pieces.pop(0)


def line(kind: str, name: str, filling: int = 0) -> bytes:
    return dumps({"type": kind, "object": {"metadata": {"name": name}, "x": "x" * filling}}) + b"\n"


def names(events: list[WatchEvent]) -> list[tuple[str, str]]:
    return [(event.type, event.object["metadata"]["name"]) for event in events]


async def taken(stream: WatchStream) -> list[WatchEvent]:
    """All events, as reflectors take them."""
    events: list[WatchEvent] = []
    async for event in stream:
        events.append(event)
        while (following := stream.next_nowait()) is not None:
            events.append(following)
    return events


@given(cuts=st.lists(st.integers(1, 5_000), max_size=10), count=st.integers(0, 100))
def test_events_are_the_same_however_they_are_split(cuts: list[int], count: int) -> None:
    whole = b"".join(line("ADDED", str(number)) for number in range(count))
    at = sorted({0, len(whole), *(cut % (len(whole) + 1) for cut in cuts)})
    pieces = [whole[begin:end] for begin, end in pairwise(at)]
    assert names(run(taken(WatchStream(Pieces(pieces))))) == [("ADDED", str(number)) for number in range(count)]


def test_a_long_event_is_not_taken_at_once() -> None:
    async def scenario() -> None:
        stream = WatchStream(Pieces([line("ADDED", "a") + line("ADDED", "b", LONG_BYTES) + line("ADDED", "c")]))
        assert (await anext(stream)).object["metadata"]["name"] == "a"
        assert stream.next_nowait() is None
        event = await anext(stream)
        assert (event.object["metadata"]["name"], stream.is_long) == ("b", True)
        following = stream.next_nowait()
        assert following is not None
        assert following.object["metadata"]["name"] == "c"
        assert stream.next_nowait() is None

    run(scenario())


def test_others_have_their_turn_amid_many_events() -> None:
    async def scenario() -> None:
        stream = WatchStream(Pieces([b"".join(line("ADDED", str(number)) for number in range(100))]))
        await anext(stream)
        longest = 0
        for _ in range(2):
            run_of = 0
            while stream.next_nowait() is not None:
                run_of += 1
            longest = max(longest, run_of)
            await anext(stream)
        assert 0 < longest <= 32

    run(scenario())


def test_only_what_adds_or_modifies_is_skipped_unread() -> None:
    asked: list[bytes] = []

    def skips(line: bytes) -> bool:
        asked.append(line)
        return b"boring" in line

    kinds = ("ADDED", "MODIFIED", "DELETED", "BOOKMARK")
    lines = [line(kind, name) for kind in kinds for name in ("boring", "other")]
    stream = WatchStream(Pieces([b"".join(lines)]))
    stream.skips = skips
    seen = names(run(taken(stream)))
    assert seen == [
        ("ADDED", "other"),
        ("MODIFIED", "other"),
        *((kind, name) for kind in ("DELETED", "BOOKMARK") for name in ("boring", "other")),
    ]
    assert [each + b"\n" for each in asked] == lines[:4]


def test_a_stream_that_ends_within_an_event_is_broken() -> None:
    with pytest.raises(StreamBroken):
        run(taken(WatchStream(Pieces([line("ADDED", "a"), b'{"type"']))))
