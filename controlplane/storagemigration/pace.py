"""So many a second and no more."""

from __future__ import annotations

from controlplane.base.clock import Clock

__all__ = ["Pace"]

_AHEAD_SECONDS = 0.1
"""What was not used of this long may be used at once, so that a late waking costs nothing."""


class Pace:
    """Turns at a steady rate, shared by all who take them. ``per_second`` 0 is no limit."""

    def __init__(self, per_second: float, clock: Clock) -> None:
        self._interval = 1 / per_second if per_second else 0.0
        self._clock = clock
        self._next = clock.monotonic()

    async def turn(self) -> None:
        """Wait for the next turn. One that is given up while it is waited for is lost."""
        if not self._interval:
            return
        now = self._clock.monotonic()
        due = max(self._next, now - _AHEAD_SECONDS)
        self._next = due + self._interval
        if due > now:
            await self._clock.sleep(due - now)
