"""Waiting by a given clock: until something happens or the time is up, and growing pauses between attempts."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from random import Random
from typing import Any, TypeVar

from controlplane.base.clock import Clock
from controlplane.base.tasks import TaskGroup

__all__ = ["Backoff", "sleep_or", "within"]

T = TypeVar("T")


async def sleep_or(clock: Clock, seconds: float, event: asyncio.Event) -> bool:
    """Sleep for ``seconds``, or less if ``event`` is set meanwhile. Returns whether it is set."""
    if not event.is_set():
        async with TaskGroup("sleep-or") as group:
            sleeping = group.start(clock.sleep(seconds), name="sleep")
            waiting = group.start(event.wait(), name="event")
            await asyncio.wait((sleeping, waiting), return_when=asyncio.FIRST_COMPLETED)
    return event.is_set()


async def within(clock: Clock, seconds: float, work: Coroutine[Any, Any, T]) -> T:
    """The result of ``work`` if it ends within ``seconds``; else it is cancelled and has ended when this raises.

    Raises:
        TimeoutError: the time was up. Whatever ``work`` raises.
    """
    async with TaskGroup("within") as group:
        working = group.start(work, name="work")
        sleeping = group.start(clock.sleep(seconds), name="sleep")
        await asyncio.wait((working, sleeping), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise TimeoutError(f"not done within {seconds} s")


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
