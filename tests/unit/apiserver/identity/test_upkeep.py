"""When something is written: at once, at intervals, when it changes, soon after a failure, never after the end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from controlplane.apiserver.identity.upkeep import Upkeep
from controlplane.base.live import LiveMapping
from controlplane.base.tasks import TaskGroup
from controlplane.storage.errors import Unavailable
from controlplane.testing.clock import FakeClock
from tests.aio import run


class Writes:
    """When it was written; the next ``failing`` fail; each takes ``seconds``."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock, self.at, self.failing, self.seconds, self.done = clock, list[float](), 0, 0.0, 0

    async def write(self) -> None:
        self.at.append(self.clock.elapsed)
        if self.seconds:
            await self.clock.sleep(self.seconds)
        if self.failing:
            self.failing -= 1
            raise Unavailable("away")
        self.done += 1


Scenario = Callable[[Upkeep, Writes, FakeClock, LiveMapping], Awaitable[None]]


def kept(scenario: Scenario, *, failing: int = 0, seconds: float = 0.0) -> None:
    async def main() -> None:
        clock, annotations = FakeClock(), LiveMapping()
        async with clock, TaskGroup("test") as group:
            writes = Writes(clock)
            writes.failing, writes.seconds = failing, seconds
            upkeep = Upkeep(
                "test",
                writes.write,
                annotations=annotations,
                interval_seconds=10,
                longest_pause_seconds=1,
                clock=clock,
            )
            group.start(upkeep.run(), name="run")
            await clock.advance(0)
            await scenario(upkeep, writes, clock, annotations)

    run(main())


def test_at_once_and_at_intervals() -> None:
    async def scenario(upkeep: Upkeep, writes: Writes, clock: FakeClock, _annotations: LiveMapping) -> None:
        assert upkeep.written.is_set()
        await clock.advance(25)
        assert writes.at == [0, 10, 20]

    kept(scenario)


def test_as_soon_as_it_changes() -> None:
    async def scenario(_upkeep: Upkeep, writes: Writes, clock: FakeClock, annotations: LiveMapping) -> None:
        await clock.advance(4)
        annotations.set("a", "1")
        await clock.advance(0)
        assert writes.at == [0, 4]
        await clock.advance(10)
        assert writes.at == [0, 4, 14]

    kept(scenario)


def test_sooner_after_a_failure_with_growing_pauses(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(upkeep: Upkeep, writes: Writes, clock: FakeClock, _annotations: LiveMapping) -> None:
        assert not upkeep.written.is_set()
        await clock.advance(3.5)
        assert writes.at == pytest.approx([0, 0.1, 0.3, 0.7, 1.5, 2.5])
        assert upkeep.written.is_set()
        await clock.advance(10)
        assert len(writes.at) == 7

    kept(scenario, failing=5)
    assert caplog.text.count("cannot be written") == 1, "once says it"


def test_the_end_waits_for_a_write_and_nothing_is_written_after_it() -> None:
    async def scenario(upkeep: Upkeep, writes: Writes, clock: FakeClock, annotations: LiveMapping) -> None:
        async with TaskGroup("stop") as group:
            stopping = group.start(upkeep.stop(), name="stop")
            await clock.advance(0.4)
            assert not stopping.done()
            await clock.advance(0.4)
            await stopping
        assert writes.done == 1
        annotations.set("a", "1")
        await clock.advance(60)
        assert writes.at == [0]

    kept(scenario, seconds=0.8)


def test_the_end_does_not_wait_for_ever() -> None:
    async def scenario(upkeep: Upkeep, writes: Writes, clock: FakeClock, _annotations: LiveMapping) -> None:
        async with TaskGroup("stop") as group:
            stopping = group.start(upkeep.stop(), name="stop")
            await clock.advance(1)
            await stopping
        assert writes.done == 0

    kept(scenario, seconds=1000)
