"""Deadlines of many short pieces of work that may all take equally long.

They end in the order in which they began, so one timer for the oldest serves them all: a piece of work costs two
dictionary operations instead of a timer of its own, a third of what ``asyncio.timeout`` costs.

    running = deadlines.enter(asyncio.current_task())
    try:
        …
    except asyncio.CancelledError:
        if running.was_cause():
            raise TooLate from None
        raise
    finally:
        deadlines.leave(running)
"""

from __future__ import annotations

import asyncio
from time import monotonic

__all__ = ["Deadlines", "Running"]


class Running:
    """One piece of work under way: the task that does it, when its time is over (monotonic seconds), and whether it
    is and the task has been cancelled for it."""

    __slots__ = ("deadline", "expired", "task")

    def __init__(self, task: asyncio.Task[object], deadline: float) -> None:
        self.task, self.deadline, self.expired = task, deadline, False

    def was_cause(self) -> bool:
        """Whether a cancellation that was caught is the deadline's and nobody else's. Takes it off the task: once."""
        return self.expired and self.task.uncancel() == 0


class Deadlines:
    """``seconds``: how long each piece of work may take. On the loop only."""

    __slots__ = ("_running", "_timer", "seconds")

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._running: dict[Running, None] = {}
        self._timer: asyncio.TimerHandle | None = None

    def enter(self, task: asyncio.Task[object] | None, began: float | None = None) -> Running:
        """``task`` is cancelled ``seconds`` after ``began`` (monotonic, by default now) unless it leaves before."""
        if task is None:
            raise RuntimeError("deadlines are of tasks")
        running = Running(task, (monotonic() if began is None else began) + self.seconds)
        self._running[running] = None
        if self._timer is None:
            self._arm(running.deadline)
        return running

    def leave(self, running: Running) -> None:
        """The work has ended. Once, for each ``enter``."""
        del self._running[running]

    def close(self) -> None:
        """Leave no timer behind, where no more work will come."""
        if self._timer is not None:
            self._timer.cancel()

    def _arm(self, deadline: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(max(0.0, deadline - monotonic()), self._expire)

    def _expire(self) -> None:
        self._timer = None
        now = monotonic()
        for running in self._running:
            if running.deadline > now:
                self._arm(running.deadline)
                return
            if not running.expired:
                running.expired = True
                running.task.cancel()
