"""Deadlines that share a timer."""

from __future__ import annotations

import asyncio

import pytest

from controlplane.base.deadlines import Deadlines
from tests.aio import run


async def work(deadlines: Deadlines, until: asyncio.Event) -> str:
    running = deadlines.enter(asyncio.current_task())
    try:
        await until.wait()
    except asyncio.CancelledError:
        if running.was_cause():
            return "too late"
        raise
    finally:
        deadlines.leave(running)
    return "in time"


def test_each_ends_at_its_own_time() -> None:
    async def scenario() -> None:
        deadlines, never, soon = Deadlines(0.05), asyncio.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()
        first, quick = loop.create_task(work(deadlines, never)), loop.create_task(work(deadlines, soon))
        await asyncio.sleep(0.02)
        second = loop.create_task(work(deadlines, never))
        soon.set()
        assert await quick == "in time"
        assert await first == "too late"
        assert not second.done()
        assert await second == "too late"
        assert [task.cancelling() for task in (first, second)] == [0, 0]

    run(scenario())


def test_cancellation_by_others_stays_theirs() -> None:
    async def scenario() -> None:
        task = asyncio.get_running_loop().create_task(work(Deadlines(10), asyncio.Event()))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(scenario())


def test_work_outside_of_a_task_is_refused() -> None:
    with pytest.raises(RuntimeError, match="of tasks"):
        Deadlines(1).enter(None)
