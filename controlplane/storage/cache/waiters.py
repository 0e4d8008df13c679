"""Those who wait for the mirror to reach a revision, each for a bounded time.

A promise is a future that becomes True when the mirror is there and False when the time is over. All have the same
patience, so they expire in the order they came, and one heartbeat serves all: no timer a waiter.
"""

from __future__ import annotations

import asyncio
from collections import deque
from heapq import heappop, heappush
from itertools import count
from math import inf

__all__ = ["WAIT_SECONDS", "Promise", "Waiters"]

WAIT_SECONDS = 2.7
"""Upstream waits 3 s for its cache. The heartbeat looks four times a second, so this ends within 3 s."""

Promise = asyncio.Future[bool]


class Waiters:
    """Used on one loop."""

    __slots__ = ("_closed", "_heap", "_order", "_promises")

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Promise]] = []
        self._order = count()
        self._promises: deque[tuple[float, Promise]] = deque()
        self._closed = False

    def promise(self, now: float) -> Promise:
        """A promise that expires; give it to ``until`` when the revision is known."""
        promise: Promise = asyncio.get_running_loop().create_future()
        if self._closed:
            promise.set_result(False)
            return promise
        self._promises.append((now + WAIT_SECONDS, promise))
        return promise

    def until(self, revision: int, promise: Promise) -> None:
        """Keep a promise when the mirror reaches ``revision``, which it has not yet."""
        if not promise.done():
            heappush(self._heap, (revision, next(self._order), promise))

    def furthest(self) -> int:
        """The highest revision that somebody still waits for; 0 if nobody does."""
        return max((revision for revision, _, promise in self._heap if not promise.done()), default=0)

    def advance(self, revision: int) -> None:
        """The mirror has reached ``revision``."""
        heap = self._heap
        while heap and heap[0][0] <= revision:
            promise = heappop(heap)[2]
            if not promise.done():
                promise.set_result(True)
        promises = self._promises
        while promises and promises[0][1].done():
            promises.popleft()

    def expire(self, now: float) -> None:
        """Break the promises whose time is over."""
        promises = self._promises
        while promises and (promises[0][0] <= now or promises[0][1].done()):
            promise = promises.popleft()[1]
            if not promise.done():
                promise.set_result(False)
        if self._heap and all(promise.done() for _, _, promise in self._heap):
            self._heap.clear()

    def close(self) -> None:
        """Break all promises, those to come too: there is nobody any more to keep them."""
        self._closed = True
        self.expire(inf)
