"""Waiting by a given clock until something happens or the time is up."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from controlplane.base.clock import Clock
from controlplane.base.tasks import TaskGroup

__all__ = ["sleep_or", "within"]

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
