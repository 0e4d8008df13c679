"""Records in a store, as their server keeps them and as the others see them, on virtual time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

import pytest

from controlplane.apiserver.identity.config import ServerIdentity
from controlplane.apiserver.identity.record import PEER_RECORDS, PeerRecord, PeerRecordKeeper
from controlplane.apiserver.identity.records import PeerRecords
from controlplane.base.live import LiveMapping
from controlplane.base.tasks import TaskGroup, cancel_and_wait
from controlplane.storage.cache import Mirror
from controlplane.storage.kv.api import ABSENT
from controlplane.storage.kv.backends import KVOptions, open_kv
from controlplane.testing.clock import FakeClock
from tests.aio import run


class World(NamedTuple):
    """A store in memory, what a server sees of it, and the changes that it has been told of: before and after."""

    mirror: Mirror
    records: PeerRecords
    told: list[tuple[str | None, str | None]]
    clock: FakeClock
    group: TaskGroup

    def keeper(self, holder: str = "a_1", *, clock: FakeClock | None = None) -> PeerRecordKeeper:
        server = ServerIdentity(id="a", holder=holder, hostname="h", peer_ip="10.0.0.1", peer_port=6443)
        storage = self.mirror.storage(PEER_RECORDS)
        return PeerRecordKeeper(storage, server, annotations=LiveMapping(), clock=clock or self.clock)

    async def write(self, name: str, value: bytes) -> None:
        await self.mirror.kv.put(f"/registry/peerserverleases/{name}".encode(), value, expect=ABSENT)
        await self.mirror.fresh(None)


@asynccontextmanager
async def world() -> AsyncIterator[World]:
    clock = FakeClock()
    async with clock, TaskGroup("test") as group:
        kv = await open_kv("memory:", KVOptions(clock=clock))
        mirror = Mirror(kv, clock=clock)
        await mirror.start()
        records, told = PeerRecords(mirror, "self"), list[tuple[str | None, str | None]]()
        records.follow(lambda old, new: told.append((_holder(old), _holder(new))))
        try:
            yield World(mirror, records, told, clock, group)
        finally:
            records.close()
            records.close()  # again: nothing
            await mirror.close()
            await kv.close()


def _holder(record: PeerRecord | None) -> str | None:
    return record.holder if record is not None else None


def test_a_record_is_there_while_it_is_kept_and_15_seconds_longer() -> None:
    async def main() -> None:
        async with world() as w:
            keeping = w.group.start(w.keeper().run(), name="keep")
            await w.clock.advance(60)
            assert w.told == [(None, "a_1")], "a refresh is no change"
            await cancel_and_wait([keeping])  # as when the process is killed
            await w.clock.advance(4)
            assert "a" in w.records.peers
            await w.clock.advance(12)
            assert w.told == [(None, "a_1"), ("a_1", None)]

    run(main())


class Skewed(FakeClock):
    """A machine's clock, of which only the seconds are those of ``true``: it is ``ahead`` of it."""

    def __init__(self, true: FakeClock, ahead: float) -> None:
        super().__init__()
        self._true, self._ahead = true, ahead

    def now(self) -> float:
        return self._true.now() + self._ahead

    def monotonic(self) -> float:
        return self._true.monotonic() + abs(self._ahead)

    async def sleep(self, seconds: float) -> None:
        await self._true.sleep(seconds)


@pytest.mark.parametrize("ahead", [-600.0, 600.0, 86400.0], ids=["behind", "ahead", "a day ahead"])
def test_how_long_a_server_lives_is_not_told_by_its_clock(ahead: float) -> None:
    async def main() -> None:
        async with world() as w:
            keeping = w.group.start(w.keeper(clock=Skewed(w.clock, ahead)).run(), name="keep")
            await w.clock.advance(60)
            assert w.told == [(None, "a_1")], "it lives as long as it keeps its record"
            await cancel_and_wait([keeping])
            await w.clock.advance(4)
            assert "a" in w.records.peers
            await w.clock.advance(12)
            assert w.told == [(None, "a_1"), ("a_1", None)], "and no longer"

    run(main())


def test_a_server_started_again_in_time_is_a_change() -> None:
    async def main() -> None:
        async with world() as w:
            keeping = w.group.start(w.keeper().run(), name="keep")
            await w.clock.advance(1)
            await cancel_and_wait([keeping])
            again = w.keeper("a_2")
            w.group.start(again.run(), name="again")
            await w.clock.advance(1)
            assert w.told == [(None, "a_1"), ("a_1", "a_2")]
            await again.stop()
            await w.mirror.fresh(None)
            assert w.told[2:] == [("a_2", None)]

    run(main())


def test_two_servers_of_one_id_are_told_of_each_other(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with world() as w:
            w.group.start(w.keeper().run(), name="one")
            await w.clock.advance(1)
            w.group.start(w.keeper("a_2").run(), name="other")
            await w.clock.advance(1)
            assert "the same id" not in caplog.text, "as a server that is started again"
            await w.clock.advance(20)
            assert "another server has the same id" in caplog.text

    run(main())


def test_one_that_says_nothing_of_use_is_not_there() -> None:
    async def main() -> None:
        async with world() as w:
            head = b'{"kind":"Endpoints","apiVersion":"v1","metadata":{}'
            await w.write("nowhere", head + b"}")
            await w.write("broken", b"k8s\0")
            await w.write("", head + b"}")
            await w.write("a/b", head + b"}")
            at = b',"subsets":[{"addresses":[{"ip":"10.0.0.2"}],"ports":[{"port":6443}]}]}\n'
            await w.write("of-kube-apiserver", head + at)
            assert w.records.current == {"of-kube-apiserver": PeerRecord("of-kube-apiserver", "10.0.0.2", 6443, "", {})}

    run(main())


def test_what_was_stored_before_is_seen_at_once() -> None:
    async def main() -> None:
        kv = await open_kv("memory:")
        value = (
            b'{"kind":"Endpoints","apiVersion":"v1","metadata":{},'
            b'"subsets":[{"addresses":[{"ip":"10.0.0.2"}],"ports":[{"port":6443}]}]}'
        )
        await kv.put(b"/registry/peerserverleases/b", value, expect=ABSENT)
        mirror = Mirror(kv)
        await mirror.start()
        records = PeerRecords(mirror, "a")
        assert list(records.peers) == ["b"]
        records.close()
        await mirror.close()
        await kv.close()

    run(main())
