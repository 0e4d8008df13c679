"""Leases: which there are, when each ends, and the one timer that waits for the next."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Awaitable, Callable

from controlplane.base.clock import Clock
from controlplane.base.tasks import TaskGroup
from controlplane.storage.errors import Unavailable

__all__ = ["Leases"]

RETRY_SECONDS = 1.0
"""How long an expiry waits whose commit failed; the store is being re-read meanwhile."""


class Leases:
    """Lease id -> expiry, in seconds since 1970: absolute, so a lease ends when it was to end across restarts too.

    ``run`` waits for the earliest expiry and calls ``expire(id)``, which removes the lease by ``remove``.
    """

    __slots__ = ("_clock", "_expire", "_expiries", "_heap", "_sooner")

    def __init__(self, clock: Clock, expire: Callable[[int], Awaitable[None]]) -> None:
        self._clock = clock
        self._expire = expire
        self._expiries: dict[int, float] = {}
        self._heap: list[tuple[float, int]] = []
        self._sooner = asyncio.Event()

    def __contains__(self, lease: int) -> bool:
        return lease in self._expiries

    def __len__(self) -> int:
        return len(self._expiries)

    def load(self, expiries: dict[int, float]) -> None:
        """Take over what the log holds, in place of everything known."""
        self._expiries = dict(expiries)
        self._heap = [(expiry, lease) for lease, expiry in expiries.items()]
        heapq.heapify(self._heap)
        self._sooner.set()

    def add(self, lease: int, expiry: float) -> None:
        """Count a lease that is committed."""
        self._expiries[lease] = expiry
        heapq.heappush(self._heap, (expiry, lease))
        if self._heap[0][1] == lease:
            self._sooner.set()

    def remove(self, lease: int) -> float:
        """Forget a lease that is known; its expiry."""
        return self._expiries.pop(lease)

    async def run(self) -> None:
        """Expire leases in order, each when its time has come. Ends only by cancellation."""
        while True:
            self._sooner.clear()
            while self._heap and self._heap[0][1] not in self._expiries:
                heapq.heappop(self._heap)
            if not self._heap:
                await self._sooner.wait()
                continue
            expiry, lease = self._heap[0]
            remaining = expiry - self._clock.now()
            if remaining > 0:
                await self._sleep_unless_sooner(remaining)
                continue
            try:
                await self._expire(lease)
            except Unavailable:
                await self._clock.sleep(RETRY_SECONDS)

    async def _sleep_unless_sooner(self, seconds: float) -> None:
        """Sleep, but return at once when an earlier lease arrives."""
        try:
            async with TaskGroup("lease timer") as group:
                sleeping = group.start(self._clock.sleep(seconds), name="sleep")
                earlier = group.start(self._until_sooner(), name="sooner")
                await asyncio.wait((sleeping, earlier), return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._sooner.clear()

    async def _until_sooner(self) -> None:
        await self._sooner.wait()
