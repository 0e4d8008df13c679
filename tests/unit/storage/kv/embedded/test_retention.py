"""How long the past is kept: by age and by number of writes."""

from __future__ import annotations

import pytest

from controlplane.storage.kv.api import ABSENT
from controlplane.storage.kv.backends import KVOptions, open_kv
from controlplane.storage.kv.embedded.retention import Retention
from controlplane.testing.clock import FakeClock
from tests.aio import run


def test_writes_are_forgotten_when_they_are_old_enough() -> None:
    async def scenario() -> None:
        clock = FakeClock()
        kv = await open_kv("memory:", KVOptions(clock=clock, history_seconds=100))
        floors: list[int] = []
        for _ in range(30):
            await kv.put(b"%d" % len(floors), b"", expect=ABSENT)
            await clock.advance(10)
            floors.append((await kv.status()).compacted_revision)
        for step, floor in enumerate(floors):
            newest = step + 2
            kept_seconds = (newest - floor) * 10
            assert floor == 0 or 100 <= kept_seconds <= 120, f"{kept_seconds} s of history"
        assert floors[-1] > 15
        await kv.close()

    run(scenario())


def test_an_idle_store_keeps_its_floor_at_what_was_written() -> None:
    async def scenario() -> None:
        clock = FakeClock()
        kv = await open_kv("memory:", KVOptions(clock=clock, history_seconds=100))
        written = await kv.put(b"a", b"", expect=ABSENT)
        await clock.advance(1_000)
        assert (await kv.status()).compacted_revision == written.revision
        assert len((await kv.range(b"a", b"")).items) == 1
        await kv.close()

    run(scenario())


def test_without_history_seconds_nothing_is_forgotten_unasked() -> None:
    async def scenario() -> None:
        clock = FakeClock()
        kv = await open_kv("memory:", KVOptions(clock=clock, history_seconds=0))
        await kv.put(b"a", b"", expect=ABSENT)
        await clock.advance(10_000)
        assert (await kv.status()).compacted_revision == 0
        await kv.close()

    run(scenario())


@pytest.mark.parametrize(("revision", "floor"), [(900, 0), (1_500, 500)])
def test_too_many_young_writes_are_forgotten_too(revision: int, floor: int) -> None:
    async def scenario() -> None:
        clock = FakeClock(auto_advance=True)
        floors: list[int] = []

        class Enough(Exception):
            pass

        async def compact(at: int) -> None:
            floors.append(at)
            raise Enough

        retention = Retention(clock, 100, lambda: revision, compact, limit_writes=1_000)
        with pytest.raises(Enough):
            async with clock:
                await retention.run()
        assert floors == [floor]

    run(scenario())
