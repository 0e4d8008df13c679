"""Whole events out of a watch's bytes, which come cut anywhere: what is passed on can end at any time without half an
event."""

from __future__ import annotations

__all__ = ["MOST_BYTES", "WholeEvents"]

_LENGTH_BYTES = 4
MOST_BYTES = 16 << 20
"""Of one event: ten times the largest object that is stored."""


class WholeEvents:
    """``is_text``: an event is a line; else it comes after its length, in four bytes."""

    __slots__ = ("_held", "_is_text")

    def __init__(self, *, is_text: bool) -> None:
        self._is_text, self._held = is_text, b""

    def feed(self, piece: bytes) -> bytes:
        """The events that are whole with this piece; the rest is held.

        Raises:
            ConnectionError: what is held is larger than any event.
        """
        held = self._held + piece if self._held else piece
        end = held.rfind(b"\n") + 1 if self._is_text else _end_of_events(held)
        self._held = held[end:]
        if len(self._held) > MOST_BYTES:
            raise ConnectionError(f"an event is over {MOST_BYTES} bytes")
        return held[:end]


def _end_of_events(data: bytes) -> int:
    end = 0
    while True:
        following = end + _LENGTH_BYTES
        if following > len(data):
            return end
        following += int.from_bytes(data[end:following])
        if following > len(data):
            return end
        end = following
