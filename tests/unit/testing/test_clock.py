"""Virtual time: who sleeps wakes at the exact time, in order, and only when time is let pass."""

from __future__ import annotations

import asyncio
import time

from controlplane.base.tasks import TaskGroup
from controlplane.testing.clock import FakeClock
from tests.aio import run


def test_sleepers_wake_in_order_of_their_times_each_before_the_next() -> None:
    woken: list[tuple[str, float]] = []

    async def main() -> None:
        clock = FakeClock(start=1000.0)

        async def sleeper(name: str, *seconds: float) -> None:
            for each in seconds:
                await clock.sleep(each)
                woken.append((name, clock.monotonic()))

        async with TaskGroup("test") as group:
            group.start(sleeper("late", 5), name="late")
            group.start(sleeper("often", 2, 2, 2), name="often")
            await clock.advance(4)
            assert woken == [("often", 2), ("often", 4)]
            assert clock.sleepers == 2
            await clock.advance(10)
            assert woken[2:] == [("late", 5), ("often", 6)]
        assert (clock.elapsed, clock.now(), clock.monotonic()) == (14, 1014, 14)

    run(main())


def test_time_stands_until_it_is_advanced() -> None:
    async def main() -> None:
        clock = FakeClock()
        async with TaskGroup("test") as group:
            sleeping = group.start(clock.sleep(0.001), name="sleep")
            await asyncio.sleep(0.02)
            assert not sleeping.done()
            assert clock.elapsed == 0

    run(main())


def test_time_advances_by_itself_where_that_was_asked_for_and_without_waiting() -> None:
    async def main() -> float:
        async with FakeClock(auto_advance=True) as clock:
            for _ in range(3):
                await clock.sleep(1000)
            return clock.elapsed

    began = time.monotonic()
    assert run(main()) == 3000
    assert time.monotonic() - began < 10


def test_a_sleeper_that_is_cancelled_is_forgotten() -> None:
    async def main() -> None:
        clock = FakeClock()
        async with TaskGroup("test") as group:
            sleeping = group.start(clock.sleep(5), name="sleep")
            await clock.settle()
            sleeping.cancel()
            await clock.settle()
            assert clock.sleepers == 0
            await clock.advance(10)

    run(main())


def test_leaving_the_clock_lets_sleepers_go() -> None:
    async def main() -> None:
        async with TaskGroup("test") as group:
            async with FakeClock() as clock:
                sleeping = group.start(clock.sleep(3600), name="sleep")
                await clock.settle()
                assert not sleeping.done()
            await sleeping
            await clock.sleep(3600)
            assert clock.elapsed == 0

    run(main())


def test_no_time_is_one_turn_of_the_loop() -> None:
    async def main() -> None:
        clock = FakeClock()
        await clock.sleep(0)
        await clock.sleep(-1)
        assert clock.elapsed == 0

    run(main())
