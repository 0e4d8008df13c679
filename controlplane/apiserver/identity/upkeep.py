"""Keeping something written that says a server is there: at once, again and again, when it changes, until the end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any

from controlplane.apimachinery.status import APIError
from controlplane.base import logs
from controlplane.base.clock import Clock
from controlplane.base.live import LiveMapping
from controlplane.base.tasks import cancel_and_wait
from controlplane.base.waiting import sleep_or, within
from controlplane.client.errors import ClientError
from controlplane.storage.errors import StorageError

__all__ = ["REMOVE_SECONDS", "Upkeep"]

log = logs.get(__name__)

STOP_SECONDS, REMOVE_SECONDS = 1.0, 2.0
"""How long a server that ends waits for its last write, and for what it has written to be removed: a store that is gone
must not keep it. What is left runs out by itself."""

_FIRST_PAUSE_SECONDS = 0.1
_FAILURES = (APIError, ClientError, StorageError, TimeoutError)


class Upkeep:
    """Writes every ``interval_seconds``, stretched at random by up to ``jitter`` times itself; after a failure sooner,
    with pauses that double from 0.1 s to ``longest_pause_seconds``; and whenever ``annotations`` change.

    ``what``: for the log. ``written`` is set once the first write has succeeded.
    """

    def __init__(
        self,
        what: str,
        write: Callable[[], Coroutine[Any, Any, None]],
        *,
        annotations: LiveMapping,
        interval_seconds: float,
        longest_pause_seconds: float,
        clock: Clock,
        jitter: float = 0.0,
    ) -> None:
        self.written = asyncio.Event()
        self._what, self._write, self._annotations, self._clock = what, write, annotations, clock
        self._interval, self._longest_pause, self._jitter = interval_seconds, longest_pause_seconds, jitter
        self._random = Random()  # noqa: S311  # spreads renewals, no secret
        self._wake, self._stopping = asyncio.Event(), False
        self._task: asyncio.Task[Any] | None = None

    async def run(self) -> None:
        """Until ``stop``."""
        self._task = asyncio.current_task()
        unfollow = self._annotations.follow(self._wake.set)
        try:
            pause = _FIRST_PAUSE_SECONDS
            while not self._stopping:
                self._wake.clear()
                try:
                    await self._write()
                except _FAILURES as error:
                    first = pause == _FIRST_PAUSE_SECONDS  # the others say nothing new
                    say = log.warning if first else log.debug
                    say("cannot be written; will be tried again until it can", what=self._what, error=error)
                    seconds, pause = pause, min(pause * 2, self._longest_pause)
                else:
                    self.written.set()
                    seconds = self._interval * (1 + self._jitter * self._random.random())
                    pause = _FIRST_PAUSE_SECONDS
                if not self._stopping:
                    await sleep_or(self._clock, seconds, self._wake)
        finally:
            unfollow()

    async def stop(self) -> None:
        """End ``run``, if it runs; a write under way is waited for, up to ``STOP_SECONDS``, so that nothing is written
        afterwards."""
        self._stopping = True
        self._wake.set()
        task = self._task
        if task is None or task.done():
            return
        try:
            await within(self._clock, STOP_SECONDS, _ended(task))
        except TimeoutError:
            log.warning("a write is still under way; it is cancelled", what=self._what)
            await cancel_and_wait([task])


async def _ended(task: asyncio.Task[Any]) -> None:
    await asyncio.wait([task])
