"""Large ranges come in pages of one snapshot, and the loop runs in between."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from controlplane.base.tasks import TaskGroup
from controlplane.storage.errors import Compacted, StorageError, Unavailable
from controlplane.storage.kv.api import prefix_end
from controlplane.storage.kv.backends import KVOptions
from controlplane.storage.kv.etcd import rpc_pb2 as pb
from controlplane.storage.kv.etcd.channel import Cluster
from controlplane.storage.kv.etcd.kv import EtcdKV, open_kv
from controlplane.storage.kv.etcd.location import parse_location
from controlplane.storage.kv.etcd.pages import read_range
from tests.aio import run
from tests.integration.storage.kv.etcd.test_transactions import put_together

pytestmark = [pytest.mark.alone, pytest.mark.etcd]

OPTIONS = KVOptions(history_seconds=0)
OBJECTS = 12_000
CHUNK = 100


async def fill(location: str, prefix: bytes) -> None:
    chunks = [[prefix + b"%05d" % n for n in range(at, at + CHUNK)] for at in range(0, OBJECTS, CHUNK)]
    for chunk in chunks:
        await put_together(location, chunk, 1000)


async def longest_stretch(until: asyncio.Event) -> float:
    """Seconds of processor time, at most, that one turn of the loop took."""
    longest = 0.0
    while not until.is_set():
        begin = time.thread_time()
        await asyncio.sleep(0)
        longest = max(longest, time.thread_time() - begin)
    return longest


async def read_all(kv: EtcdKV, prefix: bytes) -> None:
    async with TaskGroup("measure") as group:
        done = asyncio.Event()
        stretch = group.start(longest_stretch(done), name="stretch")
        result = await kv.range(prefix, prefix_end(prefix))
        done.set()
        seconds = await stretch
    assert [each.key for each in result.items] == [prefix + b"%05d" % n for n in range(OBJECTS)]
    assert {len(each.value) for each in result.items} == {1000}
    assert (result.total, result.more) == (OBJECTS, False)
    assert seconds < 0.05, "bench_etcd measures it; here only what would be a page decoded in one go"
    limited = await kv.range(prefix, prefix_end(prefix), limit=7_000)
    assert (len(limited.items), limited.total, limited.more) == (7_000, OBJECTS, True)
    assert limited.items == result.items[:7_000]


def test_a_range_larger_than_a_page_is_one_snapshot(etcd: str) -> None:
    prefix = b"/%s/" % secrets.token_hex(4).encode()

    async def body() -> None:
        await fill(etcd, prefix)
        kv = await open_kv(etcd, OPTIONS)
        await read_all(kv, prefix)
        await in_one_snapshot(kv, prefix)
        await kv.close()

    run(body())


async def in_one_snapshot(kv: EtcdKV, prefix: bytes) -> None:
    """Writes that land between two pages are in none of them."""
    last = prefix + b"%05d" % (OBJECTS - 1)
    stored = (await kv.range(last, b"")).items[0]
    async with TaskGroup("snapshot") as group:
        reading = group.start(kv.range(prefix, prefix_end(prefix)), name="read")
        await asyncio.sleep(0.005)
        written = await kv.put(last, b"changed", expect=stored.mod_revision)
        result = await reading
    assert result.revision < written.revision, "the write came too early to prove anything"
    assert result.items[-1] == stored


@pytest.mark.parametrize("page_items", [1, 399, 400, 799, 1000])
@pytest.mark.parametrize("wanted", [0, 400, 1000, 1001])
def test_pages_join_wherever_they_are_cut(etcd: str, page_items: int, wanted: int) -> None:
    """Pages of 399 and 799 values end exactly with a piece: nothing but the count follows."""
    prefix = b"/%s/" % secrets.token_hex(4).encode()
    keys = [prefix + b"%04d" % n for n in range(1000)]

    async def body() -> None:
        cluster = Cluster(parse_location(etcd), None, 10)
        for at in range(0, 1000, 100):
            await put_together(etcd, keys[at : at + 100], 100)
        request = pb.RangeRequest(key=prefix, range_end=prefix_end(prefix), limit=wanted)
        result = await read_range(cluster, request, first_items=page_items, page_items=page_items)
        assert [each.key for each in result.items] == keys[: wanted or 1000]
        assert (result.total, result.more) == (1000, wanted == 400)
        await cluster.close()

    run(body())


class Interrupted(Cluster):
    """A cluster that does something else before its third call: between two pages."""

    def __init__(self, location: str, meanwhile: Callable[[], Awaitable[None]]) -> None:
        super().__init__(parse_location(location), None, 10)
        self.calls, self.meanwhile = 0, meanwhile

    async def call(self, method: Any, request: Any, *, repeatable: bool) -> Any:
        self.calls += 1
        if self.calls == 3:
            await self.meanwhile()
        return await super().call(method, request, repeatable=repeatable)


def test_a_snapshot_compacted_between_its_pages_is_told(etcd: str) -> None:
    """Who asked for the latest state may ask again; who asked for a revision must hear that it is gone."""
    prefix = b"/%s/" % secrets.token_hex(4).encode()

    async def read(cluster: Cluster, revision: int) -> type[Exception] | None:
        request = pb.RangeRequest(key=prefix, range_end=prefix_end(prefix), revision=revision)
        try:
            await read_range(cluster, request, first_items=1, page_items=1)
        except StorageError as error:
            return type(error)
        return None

    async def body() -> None:
        kv = await open_kv(etcd, OPTIONS)
        await put_together(etcd, [prefix + b"%03d" % n for n in range(20)], 10)

        async def compact() -> None:
            await kv.compact(await put_together(etcd, [prefix + b"x"], 10))

        for revision, told in ((0, Unavailable), (await kv.revision(), Compacted)):
            cluster = Interrupted(etcd, compact)
            assert await read(cluster, revision) is told
            await cluster.close()
        await kv.close()

    run(body())
