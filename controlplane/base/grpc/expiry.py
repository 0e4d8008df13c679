"""Deadlines of the calls of a connection by one timer: for the nearest, found anew when it has passed.

Most calls may take equally long and end long before; a timer each would cost more than the rest of a call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from math import inf
from time import monotonic
from typing import Final

from controlplane.base.grpc.call import Call

__all__ = ["Expiry"]

MIN_SECONDS: Final = 0.001


class Expiry:
    """``calls``: those that are open or wait; ``expire`` is called with each whose deadline has passed. ``due``: when
    it looks next, in monotonic seconds; only what is due before needs to be watched."""

    __slots__ = ("_calls", "_expire", "_loop", "_timer", "due")

    def __init__(
        self, loop: asyncio.AbstractEventLoop, calls: Callable[[], Iterable[Call]], expire: Callable[[Call], None]
    ) -> None:
        self._loop, self._calls, self._expire = loop, calls, expire
        self.due = inf
        self._timer: asyncio.TimerHandle | None = None

    def watch(self, deadline: float) -> None:
        """There is a call with this deadline (monotonic seconds)."""
        if deadline < self.due:
            self.stop()
            self.due = deadline
            self._timer = self._loop.call_later(max(deadline - monotonic(), MIN_SECONDS), self._fire)

    def stop(self) -> None:
        """Nothing expires any more, until the next ``watch``."""
        self.due = inf
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _fire(self) -> None:
        self.stop()
        now = monotonic()
        for call in [call for call in self._calls() if call.deadline <= now]:
            self._expire(call)
        self.watch(min((call.deadline for call in self._calls()), default=inf))
