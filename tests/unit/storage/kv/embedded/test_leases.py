"""Leases on virtual time: when they end, in which revisions, and that nothing polls."""

from __future__ import annotations

from controlplane.storage.kv.api import ABSENT, KV
from controlplane.storage.kv.backends import KVOptions, open_kv
from controlplane.testing.clock import FakeClock
from tests.aio import run


async def names(kv: KV) -> list[bytes]:
    return [item.key for item in (await kv.range(b"", b"\x00")).items]


def test_a_lease_ends_when_its_time_has_come_and_not_before() -> None:
    async def scenario() -> None:
        clock = FakeClock()
        kv = await open_kv("memory:", KVOptions(clock=clock, history_seconds=0))
        assert clock.sleepers == 0, "without leases nothing waits for time"
        lease = await kv.grant(10)
        for name in (b"b", b"a"):
            await kv.put(name, b"", expect=ABSENT, lease=lease)
        async with kv.watch(b"", 4) as watch:
            await clock.advance(9.9)
            assert await names(kv) == [b"a", b"b"]
            await clock.advance(0.2)
            assert await names(kv) == []
            events = [(e.key, e.mod_revision, e.kv) for e in (await anext(watch)).events]
            assert events == [(b"a", 4, None), (b"b", 5, None)], "each expiry has its own revision"
        assert clock.sleepers == 0
        await kv.close()

    run(scenario())


def test_a_shorter_lease_granted_later_ends_first() -> None:
    async def scenario() -> None:
        clock = FakeClock()
        kv = await open_kv("memory:", KVOptions(clock=clock, history_seconds=0))
        for name, ttl_seconds in ((b"long", 100), (b"short", 5), (b"middle", 50)):
            await kv.put(name, b"", expect=ABSENT, lease=await kv.grant(ttl_seconds))
        assert clock.sleepers == 1, "one timer for all"
        for seconds, left in ((5.1, [b"long", b"middle"]), (45.0, [b"long"]), (50.0, [])):
            await clock.advance(seconds)
            assert await names(kv) == left
        await kv.close()

    run(scenario())


def test_a_key_that_left_the_lease_stays() -> None:
    async def scenario() -> None:
        clock = FakeClock()
        kv = await open_kv("memory:", KVOptions(clock=clock, history_seconds=0))
        first, second = await kv.grant(10), await kv.grant(20)
        kept = await kv.put(b"kept", b"", expect=ABSENT, lease=first)
        moved = await kv.put(b"moved", b"", expect=ABSENT, lease=first)
        await kv.put(b"kept", b"", expect=kept.revision)
        await kv.put(b"moved", b"", expect=moved.revision, lease=second)
        gone = await kv.put(b"gone", b"", expect=ABSENT, lease=first)
        await kv.delete(b"gone", expect=gone.revision)
        await clock.advance(10.1)
        assert await names(kv) == [b"kept", b"moved"]
        await clock.advance(10)
        assert await names(kv) == [b"kept"]
        await kv.close()

    run(scenario())
