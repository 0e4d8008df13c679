"""How long the past stays readable: decides the compaction floor from age and from the number of writes kept."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable

from controlplane.base.clock import Clock
from controlplane.storage.errors import Unavailable

__all__ = ["HISTORY_LIMIT_WRITES", "Retention"]

HISTORY_LIMIT_WRITES = 500_000
"""Writes kept at most, however young: at 1 KB a value about 500 MB of file."""

STEPS = 10
"""How many steps ``history_seconds`` is forgotten in: history is at most a tenth older than asked."""


class Retention:
    """Raises the floor while writes go on. Ages are counted from when this process saw a revision: after a restart
    the past is kept a little longer, never shorter."""

    __slots__ = ("_clock", "_compact", "_limit_writes", "_marks", "_revision", "_seconds")

    def __init__(
        self,
        clock: Clock,
        seconds: float,
        revision: Callable[[], int],
        compact: Callable[[int], Awaitable[None]],
        *,
        limit_writes: int = HISTORY_LIMIT_WRITES,
    ) -> None:
        self._clock = clock
        self._seconds = seconds
        self._revision = revision
        self._compact = compact
        self._limit_writes = limit_writes
        self._marks: deque[tuple[float, int]] = deque()

    async def run(self) -> None:
        """Forget, step by step. Ends only by cancellation."""
        while True:
            self._mark()
            await self._clock.sleep(self._seconds / STEPS)
            try:
                await self._compact(self._floor())
            except Unavailable:
                continue  # the store is being re-read; the next step forgets this one's share too

    def _mark(self) -> None:
        revision = self._revision()
        if not self._marks or self._marks[-1][1] < revision:
            self._marks.append((self._clock.monotonic(), revision))

    def _floor(self) -> int:
        """The newest revision that is old enough, or too far back."""
        floor = max(0, self._revision() - self._limit_writes)
        oldest = self._clock.monotonic() - self._seconds
        while self._marks and self._marks[0][0] <= oldest:
            floor = max(floor, self._marks.popleft()[1])
        return floor
