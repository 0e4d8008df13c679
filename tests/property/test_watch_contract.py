"""The watch contract, model-checked: random histories by two servers' writers against ``watch_model``, on each backend.

Between the writes: watches from random revisions with random interests, slow clients, lost streams, a store out of
reach, compaction, servers restarted, clients that hang up and resume. Time runs faster than on the wall, so that
bookmarks and patience have their turn.

What must hold at the end, for every stream of every client: ordered, unique, gapless, filtered, bookmarked (see
``Segment.check``); resumed streams go on exactly where the last one ended; 410 only where the store had compacted the
revision or the mirror had loaded anew above it; every client that is left alone has seen all.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.apimachinery.identity import Key, Obj
from controlplane.storage.api import Entry, Storage
from controlplane.storage.cache import Mirror
from controlplane.storage.cache.image import Budgets
from controlplane.storage.cache.ring import RingBudget
from controlplane.storage.errors import FutureRevision, KeyExists, KeyNotFound, Unavailable
from controlplane.storage.kv.api import KV
from controlplane.storage.kv.backends import KVOptions, open_kv
from tests.aio import run
from tests.etcd_fixture import etcd_server
from tests.faulty_kv import FaultyKV
from tests.mirrors import CONFIGMAPS, configmap
from tests.property.watch_model import Client, History, Interest, Write

LONG = bool(os.environ.get("CONTROLPLANE_TEST_LONG"))
SPEED = 20
"""Seconds of the mirror's clock in a second of the wall: a bookmark every 3 s, patience of 0.15 s."""
SMALL = Budgets(RingBudget(max_changes=12, min_changes=0), RingBudget(max_changes=12, min_changes=0))
"""A ring that most histories outgrow."""

_serial = count()


class FastClock:
    """The machine's clock, running ``SPEED`` times as fast."""

    def now(self) -> float:
        return asyncio.get_running_loop().time() * SPEED

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time() * SPEED

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / SPEED)


class Server:
    """One server: a mirror over its own, breakable, way to the store."""

    def __init__(self, kv: KV, prefix: bytes, *, remote: bool) -> None:
        self.prefix = prefix
        self.kv = FaultyKV(kv, remote=remote, trustworthy=kv.trustworthy_progress)
        self.mirror: Mirror
        self.storage: Storage
        self.horizon = 0

    async def start(self) -> None:
        self.mirror = Mirror(self.kv, prefix=self.prefix, clock=FastClock(), budgets=SMALL)
        self.storage = self.mirror.storage(CONFIGMAPS)
        await self.mirror.start()

    async def stop(self) -> None:
        self.horizon = max(self.horizon, self.mirror.horizon)
        await self.mirror.close()


class World:
    """Two servers on one store, their writers, and clients of both."""

    def __init__(self, kv: KV, prefix: bytes) -> None:
        self.kv = kv
        self.servers = [Server(kv, prefix, remote=True), Server(kv, prefix, remote=False)]
        self.servers[1].kv.remote = kv.revision_nowait() is None
        self.history = History()
        self.clients: list[tuple[Client, int]] = []
        self.versions = count(1)
        self.compacted = 0
        self.base = 0

    async def write(self, server: Server, key: Key, labels: str | None) -> None:
        """Create, update or delete, whichever fits; what is not acknowledged has not happened."""
        version = str(next(self.versions))
        storage = server.storage

        async def accept(_obj: Obj, _entry: Entry) -> None:
            return None

        async def change(obj: Obj, _entry: Entry) -> Obj:
            obj["metadata"]["labels"], obj["data"] = {"x": labels}, {"v": version}
            return obj

        try:
            if labels is None:
                entry = await storage.delete(key, accept, version="v1")
            else:
                try:
                    entry = await storage.update(key, change, version="v1")
                except KeyNotFound:
                    obj = configmap(key.name, key.namespace, labels={"x": labels}, v=version)
                    entry = await storage.create(key, obj)
        except (KeyNotFound, KeyExists, Unavailable, FutureRevision):
            return
        self.history.add(Write(entry.mod_revision, key, labels, version))

    async def watch(self, number: int, interest: Interest, back: int | None) -> None:
        start = None
        if back is not None:
            revisions = [self.base, *(write.revision for write in self.history.ordered())]
            start = revisions[max(0, len(revisions) - 1 - back)]
        client = Client(interest, start=start)
        self.clients.append((client, number))
        await client.connect(self.servers[number].storage)

    async def reconnect(self) -> None:
        for client, number in self.clients:
            await client.connect(self.servers[number].storage)

    async def settle(self) -> None:
        """Heal everything, then let every client see all."""
        for server in self.servers:
            server.kv.go(away=False)
            server.kv.flow.set()
        async with asyncio.timeout(20):
            while True:
                for client, _ in self.clients:
                    if client.segments:
                        client.current.sink.drain()
                await self.reconnect()
                if self._all_seen():
                    return
                await asyncio.sleep(0.01)

    def _all_seen(self) -> bool:
        for client, _ in self.clients:
            segment = client.current
            segment.read()
            if segment.position is None or not client.streaming:
                return False
            if any(e.revision > segment.position for e in self.history.events_after(segment.position, client.interest)):
                return False
        return True

    def check(self) -> None:
        for client, number in self.clients:
            horizon = max(self.compacted, self.servers[number].horizon, self.servers[number].mirror.horizon)
            for segment, following in zip(client.segments, [*client.segments[1:], None], strict=True):
                segment.read()
                segment.check(self.history, client.interest, complete=following is None)
                if segment.expired:
                    assert (segment.position or 0) < horizon, "expired without a compaction"


Step = Callable[[World], Coroutine[Any, Any, None]]

SERVER = st.integers(0, 1)
KEYS = st.builds(Key, st.sampled_from(["n1", "n2"]), st.sampled_from(["a", "b", "c"]))
LABELS = st.sampled_from(["1", "2", None])
INTERESTS = st.builds(Interest, st.sampled_from([None, "n1"]), st.sampled_from(["", "1"]))


def writes(batch: list[tuple[int, Key, str | None]]) -> Step:
    async def step(world: World) -> None:
        await asyncio.gather(*(world.write(world.servers[n], key, labels) for n, key, labels in batch))

    return step


def watch(number: int, interest: Interest, back: int | None) -> Step:
    async def step(world: World) -> None:
        await world.watch(number, interest, back)

    return step


def lose_stream(number: int) -> Step:
    async def step(world: World) -> None:
        world.servers[number].kv.lose_streams()

    return step


def reach(number: int, away: bool) -> Step:
    async def step(world: World) -> None:
        world.servers[number].kv.go(away=away)

    return step


def flow(number: int, on: bool) -> Step:
    async def step(world: World) -> None:
        (world.servers[number].kv.flow.set if on else world.servers[number].kv.flow.clear)()

    return step


def compact(back: int) -> Step:
    async def step(world: World) -> None:
        revision = await world.kv.revision() - back
        if revision > world.compacted:
            await world.kv.compact(revision)
            world.compacted = revision

    return step


def restart(number: int) -> Step:
    async def step(world: World) -> None:
        server = world.servers[number]
        server.kv.go(away=False)
        await server.stop()
        await server.start()

    return step


def hang_up(which: int) -> Step:
    async def step(world: World) -> None:
        if world.clients:
            await world.clients[which % len(world.clients)][0].disconnect()

    return step


def slow_down(which: int, size_bytes: int) -> Step:
    async def step(world: World) -> None:
        if world.clients:
            segment = world.clients[which % len(world.clients)][0].current
            if size_bytes:
                segment.sink.backlog_bytes = size_bytes
            else:
                segment.sink.drain()

    return step


def reconnect() -> Step:
    async def step(world: World) -> None:
        await world.reconnect()

    return step


def pause(milliseconds: int) -> Step:
    async def step(_: World) -> None:
        await asyncio.sleep(milliseconds / 1000)

    return step


WRITES = st.builds(writes, st.lists(st.tuples(SERVER, KEYS, LABELS), min_size=3, max_size=12))
STEPS = st.one_of(
    WRITES,
    WRITES,
    WRITES,
    st.builds(watch, SERVER, INTERESTS, st.none() | st.integers(0, 30)),
    st.builds(lose_stream, SERVER),
    st.builds(reach, SERVER, st.booleans()),
    st.builds(flow, SERVER, st.booleans()),
    st.builds(compact, st.integers(0, 10)),
    st.builds(restart, SERVER),
    st.builds(hang_up, st.integers(0, 5)),
    st.builds(slow_down, st.integers(0, 5), st.sampled_from([0, 2 << 20])),
    st.builds(reconnect),
    st.builds(pause, st.integers(0, 20)),
)
HISTORIES = st.lists(STEPS, min_size=20, max_size=60)


async def play(steps: list[Step], kv: KV, prefix: bytes) -> None:
    world = World(kv, prefix)
    for server in world.servers:
        await server.start()
    world.base = await kv.revision()
    try:
        for number in (0, 1):
            await world.watch(number, Interest(None, ""), 0)
            await world.watch(number, Interest("n1", "1"), None)
        for step in steps:
            await step(world)
            await asyncio.sleep(0)
        await world.settle()
        world.check()
    finally:
        for client, _ in world.clients:
            await client.disconnect()
        for server in world.servers:
            await server.stop()


@asynccontextmanager
async def store(url: str) -> AsyncIterator[KV]:
    kv = await open_kv(url, KVOptions(history_seconds=0))
    try:
        yield kv
    finally:
        await kv.close()


def play_on(url: str, steps: list[Step]) -> None:
    async def main() -> None:
        async with store(url) as kv:
            await play(steps, kv, b"/registry-%d/" % next(_serial))

    run(main())


@settings(max_examples=1000 if LONG else 60)
@given(steps=HISTORIES)
def test_watch_contract_on_memory(steps: list[Step]) -> None:
    play_on("memory:", steps)


@settings(max_examples=300 if LONG else 20)
@given(steps=HISTORIES)
def test_watch_contract_on_sqlite(steps: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        play_on(f"sqlite:{Path(directory) / 'store.db'}", steps)


@pytest.mark.etcd
def test_watch_contract_on_etcd() -> None:
    with etcd_server("local") as location:

        @settings(max_examples=300 if LONG else 20)
        @given(steps=HISTORIES)
        def check(steps: list[Step]) -> None:
            play_on(f"etcd:{location}", steps)

        check()
