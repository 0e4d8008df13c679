"""The work queue: which keys want work, each at most once, never the same one twice at a time.

A key that is added while it is worked on comes back when that is done. Delays are by the given clock: ``add_after`` at
a time, ``add_rate_limited`` after 5 ms doubled with each failure of that key, up to 1000 s.

All calls are made on the loop; ``run`` is the owner's to start, and delivers the delayed keys.

Source: semantics of kubernetes/client-go ``util/workqueue``, without its bucket over all keys (10 a second): one key's
failures do not slow another's.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import Hashable
from itertools import count
from typing import Generic, TypeVar

from controlplane.base.clock import Clock
from controlplane.base.waiting import sleep_or
from controlplane.reconcile import metrics

__all__ = ["FIRST_DELAY_SECONDS", "LONGEST_DELAY_SECONDS", "WorkQueue"]

FIRST_DELAY_SECONDS = 0.005
LONGEST_DELAY_SECONDS = 1000.0
_DOUBLINGS = 18
"""After as many the delay is over the longest."""

K = TypeVar("K", bound=Hashable)


class WorkQueue(Generic[K]):
    """Keys in order of arrival; ``name`` labels its metrics."""

    __slots__ = (
        "_added_at",
        "_clock",
        "_delayed",
        "_dirty",
        "_due",
        "_failures",
        "_metrics",
        "_order",
        "_ready",
        "_started_at",
        "_waiters",
        "_wake",
    )

    def __init__(self, name: str, clock: Clock) -> None:
        self._clock = clock
        self._ready: deque[K] = deque()
        self._dirty: set[K] = set()
        self._started_at: dict[K, float] = {}
        self._added_at: dict[K, float] = {}
        self._failures: dict[K, int] = {}
        self._due: dict[K, float] = {}
        self._delayed: list[tuple[float, int, K]] = []
        self._order = count()
        self._wake = asyncio.Event()
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._metrics = _QueueMetrics(name)
        self._metrics.unfinished.read_from(self._unfinished_seconds)
        self._metrics.longest.read_from(self._longest_seconds)

    def __len__(self) -> int:
        """Keys that are ready and not worked on."""
        return len(self._ready)

    def add(self, key: K) -> None:
        """Want work on ``key``: now, or again when the work under way on it is done. Once is enough."""
        if key in self._dirty:
            return
        self._metrics.adds.inc()
        self._dirty.add(key)
        self._added_at.setdefault(key, self._clock.monotonic())
        self._metrics.depth.inc()
        if key not in self._started_at:
            self._push(key)

    def add_after(self, key: K, seconds: float) -> None:
        """Add ``key`` when ``seconds`` have passed. Of several times for one key the earliest counts."""
        self._metrics.retries.inc()
        if seconds <= 0:
            self.add(key)
            return
        due = self._clock.monotonic() + seconds
        if due >= self._due.get(key, float("inf")):
            return
        self._due[key] = due
        heapq.heappush(self._delayed, (due, next(self._order), key))
        if self._delayed[0][0] == due:
            self._wake.set()

    def add_rate_limited(self, key: K) -> None:
        """Add ``key`` after the pause that its failures so far ask for, and count this one."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        self.add_after(key, min(FIRST_DELAY_SECONDS * 2 ** min(failures, _DOUBLINGS), LONGEST_DELAY_SECONDS))

    def forget(self, key: K) -> None:
        """Its work succeeded (or is given up): the next failure is the first again."""
        self._failures.pop(key, None)

    def failures(self, key: K) -> int:
        """How often ``add_rate_limited`` was called for it since ``forget``."""
        return self._failures.get(key, 0)

    async def get(self) -> K:
        """Wait for a key and take it. ``done`` must be called for it. Cancellation takes none."""
        while not self._ready:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                if not waiter.cancelled():
                    self._wake_one()  # this one was called and cannot come: another shall
                elif waiter in self._waiters:
                    self._waiters.remove(waiter)
                raise
        key = self._ready.popleft()
        self._dirty.discard(key)
        now = self._clock.monotonic()
        self._started_at[key] = now
        self._metrics.depth.dec()
        self._metrics.queue_seconds.observe(now - self._added_at.pop(key, now))
        return key

    def done(self, key: K) -> None:
        """The work on ``key`` has ended; if it was added meanwhile, it is ready again."""
        started_at = self._started_at.pop(key, None)
        if started_at is not None:
            self._metrics.work_seconds.observe(self._clock.monotonic() - started_at)
        if key in self._dirty:
            self._push(key)

    async def run(self) -> None:
        """Deliver delayed keys when they are due, until cancelled."""
        while True:
            self._wake.clear()
            now = self._clock.monotonic()
            while self._delayed and self._delayed[0][0] <= now:
                due, _, key = heapq.heappop(self._delayed)
                if self._due.get(key) == due:
                    del self._due[key]
                    self.add(key)
            if self._delayed:
                await sleep_or(self._clock, self._delayed[0][0] - now, self._wake)
            else:
                await self._wake.wait()

    def discard(self) -> None:
        """Forget everything: the queue is given up, and so are its counts in the metrics."""
        self._metrics.depth.dec(len(self._dirty))
        for keys in (self._ready, self._dirty, self._started_at, self._added_at, self._failures, self._due):
            keys.clear()
        self._delayed.clear()

    def _push(self, key: K) -> None:
        self._ready.append(key)
        self._wake_one()

    def _wake_one(self) -> None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return

    def _unfinished_seconds(self) -> float:
        now = self._clock.monotonic()
        return sum(now - started_at for started_at in self._started_at.values())

    def _longest_seconds(self) -> float:
        return self._clock.monotonic() - min(self._started_at.values(), default=self._clock.monotonic())


class _QueueMetrics:
    """One queue's children of the ``workqueue_*`` families."""

    __slots__ = ("adds", "depth", "longest", "queue_seconds", "retries", "unfinished", "work_seconds")

    def __init__(self, name: str) -> None:
        labels = (name,)
        self.depth = metrics.DEPTH.labels_cached(labels)
        self.adds = metrics.ADDS.labels_cached(labels)
        self.queue_seconds = metrics.QUEUE_SECONDS.labels_cached(labels)
        self.work_seconds = metrics.WORK_SECONDS.labels_cached(labels)
        self.unfinished = metrics.UNFINISHED.labels_cached(labels)
        self.longest = metrics.LONGEST_RUNNING.labels_cached(labels)
        self.retries = metrics.RETRIES.labels_cached(labels)
