"""Waiting by a clock: for an event or a time, within a time, with growing pauses."""

from __future__ import annotations

import asyncio
from random import Random

import pytest

from controlplane.base.tasks import TaskGroup
from controlplane.base.waiting import sleep_or, within
from controlplane.reconcile.timing import Backoff
from controlplane.testing.clock import FakeClock
from tests.aio import run

pytestmark = pytest.mark.alone


@pytest.mark.parametrize(
    ("set_at", "result", "ends_at"),
    [
        pytest.param(0.0, True, 0.0, id="set already"),
        pytest.param(3.0, True, 3.0, id="set meanwhile"),
        pytest.param(7.0, False, 5.0, id="not set in time"),
    ],
)
def test_a_sleep_ends_with_its_time_or_with_the_event(set_at: float, result: bool, ends_at: float) -> None:
    async def main() -> None:
        async with FakeClock(auto_advance=True) as clock, TaskGroup("test") as group:
            event = asyncio.Event()

            async def set_later() -> None:
                await clock.sleep(set_at)
                event.set()

            if set_at:
                group.start(set_later(), name="set")
            else:
                event.set()
            assert await sleep_or(clock, 5.0, event) is result
            assert clock.elapsed == ends_at

    run(main())


def test_work_that_ends_in_time_gives_its_result_and_its_error() -> None:
    async def main() -> None:
        async with FakeClock(auto_advance=True) as clock:

            async def work(error: Exception | None) -> str:
                await clock.sleep(1)
                if error is not None:
                    raise error
                return "done"

            assert await within(clock, 2, work(None)) == "done"
            with pytest.raises(LookupError, match="own"):
                await within(clock, 2, work(LookupError("own")))
            assert clock.elapsed == 2

    run(main())


def test_work_that_takes_too_long_has_ended_when_that_is_raised() -> None:
    ended: list[float] = []

    async def main() -> None:
        async with FakeClock(auto_advance=True) as clock:

            async def work() -> None:
                try:
                    await clock.sleep(100)
                finally:
                    await clock.sleep(1)
                    ended.append(clock.elapsed)

            with pytest.raises(TimeoutError, match="not done within 2 s"):
                await within(clock, 2, work())
            assert ended == [3]

    run(main())


def test_pauses_double_to_their_limit_and_start_over_after_a_rest() -> None:
    async def main() -> None:
        clock = FakeClock()
        plain = Backoff(clock, Random(1), first_seconds=1, limit_seconds=5, jitter=0, reset_seconds=60)
        assert [plain.next_seconds() for _ in range(5)] == [1, 2, 4, 5, 5]
        await clock.advance(60)
        assert plain.next_seconds() == 5
        await clock.advance(60.1)
        assert [plain.next_seconds(), plain.next_seconds()] == [1, 2]

    run(main())


def test_jitter_only_stretches() -> None:
    backoff = Backoff(FakeClock(), Random(1), first_seconds=8, limit_seconds=8, jitter=0.5, reset_seconds=60)
    pauses = [backoff.next_seconds() for _ in range(200)]
    assert 8 <= min(pauses) < 8.2
    assert 11.8 < max(pauses) <= 12
