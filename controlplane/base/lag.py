"""How late the loop runs what is due: the longest stretch in which nothing else could run.

A timer asks to be called every ``interval_seconds`` and sees by how much it came late. A stretch of length L is then
seen as something between L - interval and L (timers have a resolution of 1 ms). With ``interval_seconds=0`` the
monitor runs in every turn of the loop instead: exact to microseconds, at the price of a loop that never sleeps, which
is for tests and benches.

Lateness is time on the wall: on a shared machine the loop is also late when the system runs somebody else. What the
loop's own thread has used meanwhile is counted beside it.
"""

from __future__ import annotations

import asyncio
from time import perf_counter, thread_time
from typing import Self

from controlplane.base import metrics

__all__ = ["LONGEST_STRETCH", "LOOP_LAG", "LagMonitor"]

LOOP_LAG = metrics.histogram(
    "controlplane_loop_lag_seconds",
    "How late the event loop ran a timer.",
    buckets=(0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1.0, 5.0),
)
"""Buckets are dense around 5 ms, the longest stretch that is allowed on the loop."""

LONGEST_STRETCH = metrics.gauge(
    "controlplane_loop_longest_stretch_seconds",
    "How late the event loop ran a timer, at the worst since the process began to serve.",
)


class LagMonitor:
    """Measures while it is open: ``async with LagMonitor(interval_seconds=0) as lag: …; lag.longest_seconds``.

    On the loop only. ``longest_seconds`` is the worst lateness since the start or the last ``reset``;
    ``longest_busy_seconds`` the worst of it that the loop's thread can have used itself: no more than the processor
    time it used since the call before, so exact with an interval of 0.
    """

    __slots__ = ("_cpu", "_due", "_handle", "_interval", "_loop", "longest_busy_seconds", "longest_seconds", "samples")

    def __init__(self, *, interval_seconds: float = 0.01) -> None:
        self._interval = interval_seconds
        self._loop: asyncio.AbstractEventLoop | None = None
        self._handle: asyncio.Handle | None = None
        self._due = self._cpu = 0.0
        self.longest_seconds = self.longest_busy_seconds = 0.0
        self.samples = 0

    def start(self) -> None:
        """Begin. Once."""
        if self._loop is not None:
            raise RuntimeError("the lag monitor runs already")
        self._loop = asyncio.get_running_loop()
        LONGEST_STRETCH.read_from(lambda: self.longest_seconds)
        self._arm()

    def stop(self) -> None:
        """End, counting a stretch that is still under way. Idempotent."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
            self._note(perf_counter() - self._due)

    def reset(self) -> float:
        """Forget the worst; returns it."""
        worst, self.longest_seconds, self.longest_busy_seconds = self.longest_seconds, 0.0, 0.0
        return worst

    async def __aenter__(self) -> Self:
        self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.stop()

    def _arm(self) -> None:
        assert self._loop is not None
        self._cpu = thread_time()
        self._due = perf_counter() + self._interval
        if self._interval > 0.0:
            self._handle = self._loop.call_later(self._interval, self._tick)
        else:
            self._handle = self._loop.call_soon(self._tick)

    def _tick(self) -> None:
        late = max(perf_counter() - self._due, 0.0)
        self._note(late)
        LOOP_LAG.observe(late)
        self.samples += 1
        self._arm()

    def _note(self, late: float) -> None:
        self.longest_seconds = max(self.longest_seconds, late)
        if late > self.longest_busy_seconds:
            self.longest_busy_seconds = max(self.longest_busy_seconds, min(late, thread_time() - self._cpu))
