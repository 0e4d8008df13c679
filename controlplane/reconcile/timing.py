"""Growing pauses between attempts."""

from __future__ import annotations

from random import Random

from controlplane.base.clock import Clock

__all__ = ["Backoff"]


class Backoff:
    """Pauses that double from ``first_seconds`` up to ``limit_seconds``, each stretched at random by up to ``jitter``
    times itself, so that many who failed together do not come back together. They start over once no pause has been
    asked for during ``reset_seconds``."""

    __slots__ = ("_asked_at", "_clock", "_first", "_jitter", "_limit", "_next", "_random", "_reset")

    def __init__(
        self,
        clock: Clock,
        random: Random,
        *,
        first_seconds: float,
        limit_seconds: float,
        jitter: float,
        reset_seconds: float,
    ) -> None:
        self._clock, self._random = clock, random
        self._first, self._limit, self._jitter, self._reset = first_seconds, limit_seconds, jitter, reset_seconds
        self._next = first_seconds
        self._asked_at = clock.monotonic()

    def next_seconds(self) -> float:
        """How long to pause now."""
        now = self._clock.monotonic()
        if now - self._asked_at > self._reset:
            self._next = self._first
        self._asked_at = now
        pause, self._next = self._next, min(self._next * 2, self._limit)
        return pause * (1 + self._random.random() * self._jitter)
