"""Virtual time for tests: a ``Clock`` whose seconds pass when the test says so, and at once.

    clock = FakeClock()
    task = group.start(wait_and_retry(clock), name="retry")
    await clock.advance(0.005)          # everything due in those 5 ms has happened
    assert clock.elapsed == 0.005       # exact

With ``auto_advance`` (inside ``async with clock``) time jumps to the next sleeper as soon as nothing else can run.
Leaving ``async with clock`` lets all who sleep go.

Where it lies: it knows only its own sleepers. "Nothing else can run" means that the loop has turned ``SETTLE_TURNS``
times without anybody going to sleep or waking; work that waits for sockets or threads takes real time, in which virtual
time would run on. So use it with code that runs on the loop alone.
"""

from __future__ import annotations

import asyncio
import heapq
from itertools import count
from types import TracebackType
from typing import Self

from controlplane.base.tasks import Owner

__all__ = ["SETTLE_TURNS", "FakeClock"]

SETTLE_TURNS = 100
"""Loop turns that pass between jumps: a chain of callbacks and awaits longer than this would be overtaken by time."""

DEFAULT_START = 1_700_000_000.0
"""2023-11-14T22:13:20Z, seconds since 1970."""


class FakeClock:
    """``now`` starts at ``start`` and ``monotonic`` at 0; both move only by ``advance`` (or by ``auto_advance``)."""

    def __init__(self, start: float = DEFAULT_START, *, auto_advance: bool = False) -> None:
        self._start = start
        self._elapsed = 0.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = count()
        self._activity = 0
        self._auto_advance = auto_advance
        self._let_go = False
        self._added = asyncio.Event()
        self._owner: Owner | None = None

    # -- Clock -----------------------------------------------------------------------------------------------------

    def now(self) -> float:
        return self._start + self._elapsed

    def monotonic(self) -> float:
        return self._elapsed

    async def sleep(self, seconds: float) -> None:
        """Return when time has advanced by ``seconds``; at the next turn if that is not positive."""
        if seconds <= 0 or self._let_go:
            await asyncio.sleep(0)
            return
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._elapsed + seconds, next(self._order), woken))
        self._activity += 1
        self._added.set()
        await woken

    # -- the test's side -------------------------------------------------------------------------------------------

    @property
    def elapsed(self) -> float:
        """Virtual seconds since the start."""
        return self._elapsed

    @property
    def sleepers(self) -> int:
        """How many are asleep."""
        return sum(not woken.done() for _, _, woken in self._sleepers)

    async def advance(self, seconds: float) -> None:
        """Let ``seconds`` pass: sleepers wake in the order of their times, each with all that it sets off (its new
        sleeps included, if they end in time) before the next."""
        end = self._elapsed + seconds
        await self.settle()
        while (due := self._next_due()) is not None and due <= end:
            self._wake(due)
            await self.settle()
        self._elapsed = end

    async def settle(self) -> None:
        """Let the loop run until nobody has gone to sleep or woken for ``SETTLE_TURNS`` turns."""
        quiet, seen = 0, self._activity
        while quiet < SETTLE_TURNS:
            await asyncio.sleep(0)
            quiet = quiet + 1 if self._activity == seen else 0
            seen = self._activity

    def let_go(self) -> None:
        """Hold nobody up any more: who sleeps wakes now, and who goes to sleep wakes at the next turn. So ends the
        clock's context, that what sleeps while it is being stopped can stop."""
        self._let_go = True
        while self._next_due() is not None:
            self._wake(self._elapsed)

    async def __aenter__(self) -> Self:
        self._owner = Owner("fake-clock")
        if self._auto_advance:
            self._owner.start(self._jump(), name="jump")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.let_go()
        if self._owner is not None:
            await self._owner.close()

    async def _jump(self) -> None:
        """Move to the next sleeper whenever all is quiet."""
        while True:
            await self.settle()
            due = self._next_due()
            if due is None:
                self._added.clear()
                await self._added.wait()
            else:
                self._wake(due)

    def _next_due(self) -> float | None:
        while self._sleepers and self._sleepers[0][2].done():
            heapq.heappop(self._sleepers)
        return self._sleepers[0][0] if self._sleepers else None

    def _wake(self, due: float) -> None:
        """Move to ``due`` and wake the first who sleeps until then."""
        self._elapsed = due
        self._activity += 1
        _, _, woken = heapq.heappop(self._sleepers)
        woken.set_result(None)
