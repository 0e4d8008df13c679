"""The measure of stretches: sees the callback that is long, and tells collections from it."""

from __future__ import annotations

import asyncio
import gc
from time import thread_time

import pytest

from tests.stretches import Stretches

pytestmark = pytest.mark.alone


def work(seconds: float) -> None:
    end = thread_time() + seconds
    while thread_time() < end:
        pass


def test_the_longest_callback_is_found_and_named() -> None:
    async def step() -> None:
        work(0.02)

    async def scenario() -> Stretches:
        with Stretches() as stretches:
            await asyncio.sleep(0)
            await asyncio.get_running_loop().create_task(step(), name="the long one")
            await asyncio.sleep(0.01)  # waiting is no work
        return stretches

    with asyncio.Runner() as runner:
        stretches = runner.run(scenario())
    assert 0.02 <= stretches.longest_seconds < 0.1
    assert stretches.longest.startswith("the long one")
    assert stretches.callbacks >= 3


def test_collections_are_counted_apart() -> None:
    kept = [[] for _ in range(300_000)]  # type: ignore[var-annotated]  # something to look at

    async def scenario() -> Stretches:
        with Stretches() as stretches:
            asyncio.get_running_loop().call_soon(gc.collect)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        return stretches

    with asyncio.Runner() as runner:
        stretches = runner.run(scenario())
    assert len(kept) == 300_000
    assert stretches.collection_seconds > 0.001
    assert stretches.longest_seconds < stretches.collection_seconds


def test_reset_and_leaving_put_back() -> None:
    before = asyncio.Handle._run
    with Stretches() as stretches:
        stretches.longest_seconds = 1.0
        stretches.reset()
        assert stretches.longest_seconds == 0.0
    assert asyncio.Handle._run is before
