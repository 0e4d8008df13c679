"""Writes of others: transactions of several keys, and a second store on the same etcd."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from controlplane.storage.kv.api import Event, KeyValue
from controlplane.storage.kv.backends import KVOptions, open_kv
from controlplane.storage.kv.etcd import EtcdKV
from controlplane.storage.kv.etcd import rpc_pb2 as pb
from controlplane.storage.kv.etcd.channel import Cluster
from controlplane.storage.kv.etcd.kv import open_kv as open_etcd
from controlplane.storage.kv.etcd.location import parse_location
from tests.aio import run

pytestmark = pytest.mark.etcd

OPTIONS = KVOptions(history_seconds=0)


@asynccontextmanager
async def opened(location: str) -> AsyncIterator[EtcdKV]:
    kv = await open_etcd(location, OPTIONS)
    try:
        yield kv
    finally:
        await kv.close()


async def put_together(location: str, keys: list[bytes], size: int) -> int:
    """A foreign client's transaction: all keys in one revision."""
    cluster = Cluster(parse_location(location), None, 10)
    puts = [pb.RequestOp(request_put=pb.PutRequest(key=key, value=bytes(size))) for key in keys]
    response = await cluster.call(lambda member: member.txn, pb.TxnRequest(success=puts), repeatable=False)
    await cluster.close()
    return response.header.revision


@pytest.mark.parametrize("size", [pytest.param(10, id="small"), pytest.param(8_000, id="of several pieces")])
@pytest.mark.parametrize("live", [True, False], ids=["live", "from history"])
def test_a_transaction_of_many_keys_arrives_whole_and_in_key_order(etcd: str, size: int, *, live: bool) -> None:
    prefix = b"/%s/" % secrets.token_hex(4).encode()
    keys = [prefix + b"%03d" % n for n in reversed(range(100))]

    async def body() -> None:
        async with opened(etcd) as kv:
            start = await kv.revision() + 1
            revisions: list[int] = []
            if not live:
                revisions += [await put_together(etcd, keys, size), await put_together(etcd, keys, size)]
            async with kv.watch(prefix, start) as watch:
                if live:
                    revisions += [await put_together(etcd, keys, size), await put_together(etcd, keys, size)]
                seen: list[list[Event]] = []
                while sum(map(len, seen)) < 200:
                    batch = await anext(watch)
                    seen.append(list(batch.events))
            for events in seen:
                assert len(events) % 100 == 0, "a revision was cut"
            flat = [(each.mod_revision, each.key) for events in seen for each in events]
            assert flat == [(revision, key) for revision in revisions for key in sorted(keys)]

    run(body())


def test_two_stores_on_one_etcd_see_each_other(etcd: str) -> None:
    key = b"/%s/a" % secrets.token_hex(4).encode()

    async def body() -> None:
        async with opened(etcd) as one, opened(etcd) as two:
            async with two.watch(key, await two.revision() + 1) as watch:
                written = await one.put(key, b"1", expect=0)
                stored = KeyValue(key, b"1", written.revision, written.revision)
                assert (await anext(watch)).events == [Event(key, written.revision, stored)]
            assert (await two.range(key, b"")).items == [stored]
            assert await two.revision() >= written.revision
            lost = await two.put(key, b"2", expect=0)
            assert (lost.succeeded, lost.current) == (False, stored)
            deleted = await two.delete(key, expect=written.revision)
            assert (deleted.succeeded, deleted.current) == (True, stored)
            assert (await one.range(key, b"")).items == []
            assert (await one.status()).cluster_id == (await two.status()).cluster_id

    run(body())


def test_of_two_racing_writers_one_wins(etcd: str) -> None:
    key = b"/%s/a" % secrets.token_hex(4).encode()

    async def body() -> None:
        async with opened(etcd) as one, opened(etcd) as two:
            results = await asyncio.gather(*(kv.put(key, b"x", expect=0) for kv in (one, two) * 20))
            winners = [result for result in results if result.succeeded]
            assert len(winners) == 1
            assert {r.current.mod_revision for r in results if r.current is not None} == {winners[0].revision}

    run(body())


def test_a_value_that_etcd_finds_too_large_is_refused_as_such(etcd: str) -> None:
    """The largest value of ours is a request over etcd's own default limit."""
    from controlplane.storage.errors import ValueTooLarge
    from controlplane.storage.kv.api import VALUE_LIMIT_BYTES

    async def body() -> None:
        kv = await open_kv(f"etcd:{etcd}", OPTIONS)
        with pytest.raises(ValueTooLarge) as raised:
            await kv.put(b"/large", bytes(VALUE_LIMIT_BYTES), expect=0)
        assert VALUE_LIMIT_BYTES - 1000 < raised.value.limit_bytes < VALUE_LIMIT_BYTES
        fits = await kv.put(b"/large/%s" % secrets.token_hex(4).encode(), bytes(VALUE_LIMIT_BYTES - 1000), expect=0)
        assert fits.succeeded
        await kv.close()

    run(body())
