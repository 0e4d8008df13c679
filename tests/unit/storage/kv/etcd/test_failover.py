"""Members that fail are left for the next; nothing hangs; a write is never sent twice."""

from __future__ import annotations

import asyncio
import time

import pytest
from grpc import StatusCode  # type: ignore[import-untyped]  # grpcio ships no types

from controlplane.storage.errors import StoreUnusable, Unavailable
from controlplane.storage.kv.backends import KVOptions, open_kv
from controlplane.storage.kv.etcd.channel import Cluster
from controlplane.storage.kv.etcd.compactor import Compactor
from controlplane.storage.kv.etcd.location import parse_location
from controlplane.testing.clock import FakeClock
from tests.aio import run
from tests.processes import free_port
from tests.unit.storage.kv.etcd.scripted import Scripted, scripted

pytestmark = pytest.mark.alone

OPTIONS = KVOptions(history_seconds=0, request_seconds=1)
TXN, RANGE = "/etcdserverpb.KV/Txn", "/etcdserverpb.KV/Range"


def test_an_unreachable_member_costs_nothing() -> None:
    async def body() -> None:
        async with scripted(Scripted(revision=7)) as script:
            kv = await open_kv(f"etcd:127.0.0.1:{free_port()},{script.endpoint}", OPTIONS)
            assert (await kv.put(b"/a", b"1", expect=0)).revision == 7
            assert await kv.revision() == 7
            await kv.close()

    run(body())


def test_a_member_without_a_leader_is_left_and_a_read_repeated() -> None:
    async def body() -> None:
        async with scripted(Scripted()) as one, scripted(Scripted(revision=8)) as two:
            kv = await open_kv(f"etcd:{one.endpoint},{two.endpoint}", OPTIONS)
            one.refuse = (StatusCode.UNAVAILABLE, "etcdserver: no leader")
            assert await kv.revision() == 8
            await kv.revision()
            assert (one.requests.count(RANGE), two.requests.count(RANGE)) == (1, 2)
            await kv.close()

    run(body())


def test_a_write_of_unknown_outcome_is_not_repeated() -> None:
    async def body() -> None:
        async with scripted(Scripted()) as one, scripted(Scripted()) as two:
            kv = await open_kv(f"etcd:{one.endpoint},{two.endpoint}", OPTIONS)
            one.refuse = (StatusCode.UNAVAILABLE, "etcdserver: request timed out")
            with pytest.raises(Unavailable) as raised:
                await kv.put(b"/a", b"1", expect=0)
            assert raised.value.outcome_known is False
            assert (one.requests.count(TXN), two.requests.count(TXN)) == (1, 0)
            assert (await kv.put(b"/a", b"1", expect=0)).succeeded, "the next one goes to the other member"
            await kv.close()

    run(body())


def test_a_member_that_does_not_answer_is_unavailable_in_time() -> None:
    async def body() -> None:
        async with scripted(Scripted()) as script:
            kv = await open_kv(f"etcd:{script.endpoint}", OPTIONS)
            script.mute = True
            begin = time.monotonic()
            with pytest.raises(Unavailable, match="no answer in time"):
                await kv.revision()
            with pytest.raises(Unavailable, match="no answer in time"):
                async with kv.watch(b"/", 11):
                    pass
            assert time.monotonic() - begin < 2 * OPTIONS.request_seconds + 1
            await kv.close()

    run(body())


def test_closing_fails_what_is_under_way_and_what_comes_after() -> None:
    async def body() -> None:
        async with scripted(Scripted()) as script:
            kv = await open_kv(f"etcd:{script.endpoint}", OPTIONS)
            script.mute = True
            under_way = asyncio.ensure_future(kv.put(b"/a", b"1", expect=0))
            await script.muted.wait()
            await kv.close()
            with pytest.raises(Unavailable) as raised:
                await under_way
            assert raised.value.outcome_known is False
            with pytest.raises(Unavailable) as raised:
                await kv.put(b"/a", b"1", expect=0)
            assert raised.value.outcome_known is True
            await kv.close()

    run(body())


def test_a_full_database_is_named() -> None:
    async def body() -> None:
        async with scripted(Scripted()) as script:
            kv = await open_kv(f"etcd:{script.endpoint}", OPTIONS)
            script.refuse = (StatusCode.RESOURCE_EXHAUSTED, "etcdserver: mvcc: database space exceeded")
            with pytest.raises(Unavailable, match="NOSPACE") as raised:
                await kv.put(b"/a", b"1", expect=0)
            assert raised.value.outcome_known is True
            await kv.close()

    run(body())


def test_nobody_there_makes_the_store_unusable_at_once() -> None:
    begin = time.monotonic()
    with pytest.raises(StoreUnusable, match="is etcd running there"):
        run(open_kv(f"etcd:127.0.0.1:{free_port()}", OPTIONS))
    assert time.monotonic() - begin < 1


def test_the_first_turn_of_a_process_compacts_nothing() -> None:
    async def body() -> None:
        async with scripted(Scripted()) as script:
            cluster = Cluster(parse_location(script.endpoint), None, 1)
            compactor = Compactor(cluster, FakeClock(), 300)
            assert await compactor.round() == 0
            assert script.requests == [TXN]
            await cluster.close()

    run(body())


def test_the_state_is_told_though_a_member_is_away() -> None:
    async def body() -> None:
        async with scripted(Scripted(version="3.6.1")) as one, scripted(Scripted(version="3.6.1")) as two:
            kv = await open_kv(f"etcd:{one.endpoint},{two.endpoint}", KVOptions(history_seconds=0))
            two.mute = True
            begin = time.monotonic()
            status = await kv.status()
            assert time.monotonic() - begin < 5 < KVOptions().request_seconds
            assert (status.version, status.cluster_id, status.revision) == ("etcd 3.6.1", "c1", 10)
            await kv.close()

    run(body())
