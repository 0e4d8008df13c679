"""The work queue, on virtual time: every delay is asserted exactly."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from controlplane.base.tasks import TaskGroup
from controlplane.reconcile import metrics
from controlplane.reconcile.queue import WorkQueue
from controlplane.testing.clock import FakeClock
from tests.aio import run

Body = Callable[[WorkQueue[str], FakeClock], Awaitable[None]]


def with_queue(body: Body, name: str = "test") -> None:
    """Run ``body`` with a queue whose delays are delivered, on a clock that stands until it is advanced."""

    async def main() -> None:
        clock = FakeClock()
        queue: WorkQueue[str] = WorkQueue(name, clock)
        async with TaskGroup("test") as group:
            group.start(queue.run(), name="delays")
            await body(queue, clock)
        queue.discard()

    run(main())


def test_a_key_added_twice_is_given_once() -> None:
    async def body(queue: WorkQueue[str], _clock: FakeClock) -> None:
        queue.add("a")
        queue.add("b")
        queue.add("a")
        assert len(queue) == 2
        assert [await queue.get(), await queue.get()] == ["a", "b"]
        assert len(queue) == 0

    with_queue(body)


def test_a_key_added_while_worked_on_comes_back_when_done_and_not_before() -> None:
    async def body(queue: WorkQueue[str], _clock: FakeClock) -> None:
        queue.add("a")
        assert await queue.get() == "a"
        queue.add("a")
        queue.add("a")
        assert len(queue) == 0
        queue.done("a")
        assert len(queue) == 1
        assert await queue.get() == "a"
        queue.done("a")
        assert len(queue) == 0

    with_queue(body)


@pytest.mark.parametrize(
    ("failures", "delay"),
    [(0, 0.005), (1, 0.01), (2, 0.02), (7, 0.64), (17, 655.36), (18, 1000.0), (60, 1000.0), (5000, 1000.0)],
)
def test_a_failing_key_waits_twice_as_long_each_time_up_to_the_limit(failures: int, delay: float) -> None:
    async def body(queue: WorkQueue[str], clock: FakeClock) -> None:
        queue._failures["a"] = failures
        queue.add_rate_limited("a")
        assert queue.failures("a") == failures + 1
        await clock.advance(delay - 0.001)
        assert len(queue) == 0
        await clock.advance(0.001)
        assert len(queue) == 1

    with_queue(body)


def test_a_forgotten_key_starts_over() -> None:
    async def body(queue: WorkQueue[str], clock: FakeClock) -> None:
        for delay in (0.005, 0.01, 0.02):
            queue.add_rate_limited("a")
            await clock.advance(delay / 2)
            assert len(queue) == 0
            await clock.advance(delay / 2)
            assert await queue.get() == "a"
            queue.done("a")
        queue.forget("a")
        assert queue.failures("a") == 0
        queue.add_rate_limited("a")
        await clock.advance(0.005)
        assert len(queue) == 1

    with_queue(body)


@pytest.mark.parametrize(
    ("delays", "at"),
    [
        pytest.param([5.0], [5.0], id="one"),
        pytest.param([5.0, 3.0], [3.0], id="the earlier counts, though asked later"),
        pytest.param([3.0, 5.0], [3.0], id="the earlier counts, though asked first"),
        pytest.param([0.0], [0.0], id="no delay"),
        pytest.param([-1.0], [0.0], id="a delay in the past"),
    ],
)
def test_of_several_delays_the_earliest_counts_and_only_it(delays: list[float], at: list[float]) -> None:
    async def body(queue: WorkQueue[str], clock: FakeClock) -> None:
        for delay in delays:
            queue.add_after("a", delay)
        came: list[float] = []
        for _ in range(20):
            await clock.settle()
            while len(queue):
                await queue.get()
                queue.done("a")
                came.append(clock.elapsed)
            await clock.advance(0.5)
        assert came == at

    with_queue(body)


def test_a_sooner_delay_wakes_the_queue_that_sleeps_for_a_later_one() -> None:
    async def body(queue: WorkQueue[str], clock: FakeClock) -> None:
        queue.add_after("late", 100)
        await clock.advance(1)
        queue.add_after("soon", 2)
        await clock.advance(2)
        assert await queue.get() == "soon"
        assert clock.elapsed == 3
        await clock.advance(97)
        assert await queue.get() == "late"

    with_queue(body)


def test_a_worker_that_is_cancelled_loses_no_key() -> None:
    async def body(queue: WorkQueue[str], clock: FakeClock) -> None:
        got: list[str] = []

        async def work() -> None:
            got.append(await queue.get())

        async with TaskGroup("workers") as group:
            first = group.start(work(), name="1")
            group.start(work(), name="2")
            await clock.settle()
            queue.add("a")  # calls the first worker
            first.cancel()  # which cannot come any more
            await clock.settle()
            assert got == ["a"]

    with_queue(body)


def test_a_worker_cancelled_while_it_waits_is_not_called() -> None:
    async def body(queue: WorkQueue[str], clock: FakeClock) -> None:
        async with TaskGroup("workers") as group:
            waiting = group.start(queue.get(), name="1")
            await clock.settle()
            waiting.cancel()
            await asyncio.wait([waiting])
        queue.add("a")
        assert await queue.get() == "a"

    with_queue(body)


def test_metrics_follow_the_keys() -> None:
    async def body(queue: WorkQueue[str], clock: FakeClock) -> None:
        labels = ("metrics-test",)
        depth, adds = metrics.DEPTH.labels_cached(labels), metrics.ADDS.labels_cached(labels)
        waited, worked = metrics.QUEUE_SECONDS.labels_cached(labels), metrics.WORK_SECONDS.labels_cached(labels)
        unfinished, longest = metrics.UNFINISHED.labels_cached(labels), metrics.LONGEST_RUNNING.labels_cached(labels)
        queue.add("a")
        queue.add("b")
        assert (depth.value, adds.value) == (2, 2)
        await clock.advance(2)
        await queue.get()
        await clock.advance(1)
        await queue.get()
        assert waited.sum == 2 + 3
        await clock.advance(1)
        assert (unfinished.value, longest.value) == (2 + 1, 2)
        queue.done("a")
        queue.done("b")
        assert worked.sum == 2 + 1
        assert (depth.value, unfinished.value, longest.value) == (0, 0, 0)
        queue.add_rate_limited("a")
        assert metrics.RETRIES.labels_cached(labels).value == 1

    with_queue(body, "metrics-test")


def test_a_queue_given_up_takes_its_depth_with_it() -> None:
    depth = metrics.DEPTH.labels_cached(("given-up",))

    async def body(queue: WorkQueue[str], _clock: FakeClock) -> None:
        queue.add("a")
        queue.add("b")
        await queue.get()
        assert depth.value == 1

    with_queue(body, "given-up")
    assert depth.value == 0
