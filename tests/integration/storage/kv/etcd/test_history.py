"""Compaction, by us and by others, and what it does to those who were away."""

from __future__ import annotations

import asyncio
import secrets

import pytest

from controlplane.storage.errors import Compacted
from controlplane.storage.kv.backends import KVOptions
from controlplane.storage.kv.etcd.channel import Cluster
from controlplane.storage.kv.etcd.compactor import COMPACT_KEY, Compactor
from controlplane.storage.kv.etcd.kv import open_kv
from controlplane.storage.kv.etcd.leases import OBJECTS, Leases
from controlplane.storage.kv.etcd.location import parse_location
from controlplane.testing.clock import FakeClock
from controlplane.testing.etcd import EtcdProcess
from tests.aio import run
from tests.etcd_fixture import needs_etcd

pytestmark = pytest.mark.etcd

OPTIONS = KVOptions(history_seconds=0)


def test_a_watch_that_was_away_while_its_place_was_compacted_is_told(etcd: str) -> None:
    key = b"/%s/a" % secrets.token_hex(4).encode()

    async def body() -> None:
        kv = await open_kv(etcd, OPTIONS)
        revision = (await kv.put(key, b"0", expect=0)).revision
        async with kv.watch(key, revision) as watch:
            seen = (await anext(watch)).revision
        for n in range(5):
            revision = (await kv.put(key, b"%d" % n, expect=revision)).revision
        await kv.compact(revision)
        with pytest.raises(Compacted) as raised:
            async with kv.watch(key, seen + 1) as watch:
                await anext(watch)
        assert raised.value.requested == seen + 1
        assert raised.value.compacted == revision
        await kv.close()

    run(body())


def test_a_deletion_at_the_compaction_is_not_skipped(etcd: str) -> None:
    """etcd before 3.4.34 and 3.5.16 serves a watch from the compacted revision without its deletion."""
    key = b"/%s/a" % secrets.token_hex(4).encode()

    async def body() -> None:
        kv = await open_kv(etcd, OPTIONS)
        created = await kv.put(key, b"1", expect=0)
        deleted = await kv.delete(key, expect=created.revision)
        await kv.put(key + b"/other", b"1", expect=0)
        await kv.compact(deleted.revision)
        with pytest.raises(Compacted):
            async with kv.watch(key, deleted.revision) as watch:
                await anext(watch)
        await kv.close()

    run(body())


def test_servers_take_turns_to_compact() -> None:
    """On an etcd of its own: the key of the turns is the same for all who share one."""
    needs_etcd()

    async def body() -> None:
        async with EtcdProcess() as etcd:
            kv = await open_kv(etcd.endpoint, OPTIONS)
            cluster = Cluster(parse_location(etcd.endpoint), None, 10)
            clock = FakeClock()
            one, two = (Compactor(cluster, clock, 300) for _ in range(2))
            assert await one.round() == 0, "the first round only takes the turn"
            first = await kv.revision()
            assert await two.round() == 0, "it is not the other's turn: it learns"
            created = await kv.put(b"/a", b"1", expect=0)
            assert await one.round() == first
            assert int((await kv.range(COMPACT_KEY, b"")).items[0].value) == first
            assert (await kv.status()).compacted_revision == first
            assert await two.round() == 0
            second = await kv.revision()
            assert await two.round() > first, "when the first has gone, the other goes on"
            assert second > created.revision
            with pytest.raises(Compacted):
                await kv.range(b"/a", b"", revision=first - 1)
            await cluster.close()
            await kv.close()

    run(body())


def test_history_is_compacted_every_interval_while_the_store_is_open() -> None:
    needs_etcd()

    async def body() -> None:
        async with EtcdProcess() as etcd:
            kv = await open_kv(etcd.endpoint, KVOptions(history_seconds=0.05))
            first = (await kv.put(b"/a", b"1", expect=0)).revision
            while True:
                try:
                    await kv.range(b"/a", b"", revision=first - 1)
                except Compacted:
                    break
                await kv.put(b"/b/%s" % secrets.token_hex(4).encode(), b"1", expect=0)
            await kv.close()

    run(body())


def test_a_lease_serves_many_keys_while_enough_of_it_is_left(etcd: str) -> None:
    async def body() -> None:
        cluster = Cluster(parse_location(etcd), None, 10)
        clock = FakeClock()
        leases = Leases(cluster, clock)
        shared = await asyncio.gather(*(leases.get(1000) for _ in range(64)))
        assert len(set(shared)) == 1, "one grant for all who ask at once"
        assert await leases.get(3600) != shared[0], "another time to live, another lease"
        await clock.advance(49)
        assert await leases.get(1000) == shared[0]
        await clock.advance(2)
        renewed = await leases.get(1000)
        assert renewed != shared[0], "less than the time to live is left of it"
        assert [await leases.get(1000) for _ in range(OBJECTS - 1)] == [renewed] * (OBJECTS - 1)
        assert await leases.get(1000) != renewed, "it has enough keys"
        await cluster.close()

    run(body())
