"""etcd killed and started again under load: clear errors meanwhile, the same store afterwards, nothing lost."""

from __future__ import annotations

import asyncio
import time

import pytest

from controlplane.base.tasks import TaskGroup
from controlplane.storage.errors import Unavailable
from controlplane.storage.kv.api import prefix_end
from controlplane.storage.kv.backends import KVOptions
from controlplane.storage.kv.etcd.kv import EtcdKV, open_kv
from controlplane.testing.etcd import EtcdProcess
from tests.aio import run
from tests.etcd_fixture import needs_etcd

pytestmark = [pytest.mark.alone, pytest.mark.etcd]

OPTIONS = KVOptions(history_seconds=0, request_seconds=5)
PREFIX = b"/load/"
WRITERS = 8
KILLS = 3


class Load:
    """Writers that create keys, and one follower that resumes after every loss."""

    def __init__(self, kv: EtcdKV, start: int) -> None:
        self.kv = kv
        self.start = start
        self.acknowledged: dict[bytes, int] = {}
        self.unknown: set[bytes] = set()
        self.failures = 0
        self.slowest_failure = 0.0
        self.progressed = asyncio.Event()
        self.stopping = asyncio.Event()
        self.seen: dict[bytes, int] = {}

    async def write(self, writer: int) -> None:
        number = 0
        while not self.stopping.is_set():
            number += 1
            key = PREFIX + b"%d/%06d" % (writer, number)
            begin = time.monotonic()
            try:
                result = await self.kv.put(key, b"x" * 500, expect=0)
            except Unavailable as error:
                self.failures += 1
                self.slowest_failure = max(self.slowest_failure, time.monotonic() - begin)
                if not error.outcome_known:
                    self.unknown.add(key)
                await asyncio.sleep(0.01)
            else:
                assert result.succeeded
                self.acknowledged[key] = result.revision
                self.progressed.set()

    async def follow(self) -> None:
        after = self.start
        while True:
            try:
                async with self.kv.watch(PREFIX, after + 1) as watch:
                    async for batch in watch:
                        for event in batch.events:
                            assert event.mod_revision > after or event.key not in self.seen
                            self.seen[event.key] = event.mod_revision
                        after = batch.revision
                        self.progressed.set()
            except Unavailable:
                await asyncio.sleep(0.01)

    async def more(self) -> None:
        """Wait until another write has been acknowledged."""
        count = len(self.acknowledged)
        while len(self.acknowledged) <= count:
            self.progressed.clear()
            await self.progressed.wait()

    async def caught_up(self) -> None:
        while not self.acknowledged.keys() <= self.seen.keys():
            self.progressed.clear()
            await self.progressed.wait()


def test_killed_and_restarted_under_load_nothing_acknowledged_is_lost() -> None:
    needs_etcd()

    async def body() -> None:
        async with EtcdProcess(fsync=True) as etcd:
            kv = await open_kv(etcd.endpoint, OPTIONS)
            load = Load(kv, await kv.revision())
            async with TaskGroup("load") as group:
                group.start(load.follow(), name="follow")
                writers = [group.start(load.write(n), name=f"write-{n}") for n in range(WRITERS)]
                for _ in range(KILLS):
                    await load.more()
                    await etcd.kill()
                    with pytest.raises(Unavailable):
                        await kv.revision()
                    await etcd.start()
                await load.more()
                load.stopping.set()
                await asyncio.wait(writers)
                await load.caught_up()
            stored = {each.key: each.mod_revision for each in (await kv.range(PREFIX, prefix_end(PREFIX))).items}
            assert load.acknowledged.items() <= stored.items(), "an acknowledged write is missing"
            assert stored.keys() - load.acknowledged.keys() <= load.unknown, "a write that failed for certain is there"
            assert load.seen.items() <= stored.items()
            assert load.failures >= KILLS
            assert load.slowest_failure < OPTIONS.request_seconds + 1
            await kv.close()

    run(body(), seconds=100)


def test_a_store_works_again_within_two_seconds_of_a_restart() -> None:
    needs_etcd()

    async def body() -> float:
        async with EtcdProcess() as etcd:
            kv = await open_kv(etcd.endpoint, OPTIONS)
            await etcd.kill()
            for _ in range(20):
                with pytest.raises(Unavailable):
                    await kv.revision()
                await asyncio.sleep(0.05)
            await etcd.start()
            begin = time.monotonic()
            while True:
                try:
                    await kv.revision()
                    break
                except Unavailable:
                    await asyncio.sleep(0.01)
            await kv.close()
            return time.monotonic() - begin

    assert run(body()) < 2
