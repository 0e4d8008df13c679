"""The lag monitor sees stretches that hold the loop."""

from __future__ import annotations

import asyncio
from time import perf_counter

import pytest

from controlplane.base.lag import LOOP_LAG, LagMonitor
from tests.aio import run

pytestmark = pytest.mark.alone


def hold(seconds: float) -> None:
    end = perf_counter() + seconds
    while perf_counter() < end:
        pass


def test_every_turn_is_measured_exactly() -> None:
    async def scenario() -> float:
        async with LagMonitor(interval_seconds=0) as lag:
            await asyncio.sleep(0.01)
            hold(0.02)
            await asyncio.sleep(0)
            return lag.longest_seconds

    assert 0.02 <= run(scenario()) < 0.1


def test_a_stretch_under_way_at_the_end_counts() -> None:
    async def scenario() -> float:
        async with LagMonitor(interval_seconds=0) as lag:
            await asyncio.sleep(0)
            hold(0.02)
        return lag.longest_seconds

    assert run(scenario()) >= 0.02


def test_a_sampler_sees_the_stretch_less_at_most_its_interval() -> None:
    async def scenario() -> float:
        async with LagMonitor(interval_seconds=0.005) as lag:
            await asyncio.sleep(0.01)
            hold(0.03)
            await asyncio.sleep(0.001)
            return lag.longest_seconds

    assert run(scenario()) >= 0.03 - 0.005 - 0.001


def test_reset_returns_the_worst_and_forgets_it() -> None:
    async def scenario() -> None:
        async with LagMonitor(interval_seconds=0) as lag:
            hold(0.01)
            await asyncio.sleep(0)
            assert lag.reset() >= 0.01
            assert lag.longest_seconds == 0.0

    run(scenario())


def test_ticks_are_exported() -> None:
    before = sum(LOOP_LAG.labels_cached(()).counts)

    async def scenario() -> int:
        async with LagMonitor(interval_seconds=0) as lag:
            await asyncio.sleep(0.005)
            return lag.samples

    ticks = run(scenario())
    assert ticks > 0
    assert sum(LOOP_LAG.labels_cached(()).counts) == before + ticks


def test_it_starts_once() -> None:
    async def scenario() -> None:
        async with LagMonitor() as lag:
            with pytest.raises(RuntimeError, match="runs already"):
                lag.start()

    run(scenario())
