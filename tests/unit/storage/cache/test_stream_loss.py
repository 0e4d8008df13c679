"""Losing the stream: what goes on, what is loaded anew, and that no difference is invented."""

from __future__ import annotations

import asyncio

import pytest

from controlplane.apimachinery.identity import Key
from controlplane.storage.api import CONSISTENT, Freshness, Match
from controlplane.storage.cache import Mirror
from controlplane.storage.errors import Compacted, Unavailable
from controlplane.storage.kv.backends import open_kv
from controlplane.testing.clock import FakeClock
from tests.aio import run
from tests.faulty_kv import FaultyKV
from tests.mirrors import CONFIGMAPS, EVERYTHING, JSON, configmap, opened, remove, set_data, watching

A, B, C = Key("default", "a"), Key("default", "b"), Key("default", "c")


def test_a_lost_stream_is_resumed_and_watches_notice_nothing() -> None:
    async def main() -> None:
        clock, kv = FakeClock(), FaultyKV(await open_kv("memory:"))
        async with opened(kv=kv, clock=clock) as (mirror, storage), opened(kv=kv.kv) as (_, theirs):
            async with watching(storage, revision=mirror.revision) as watch:
                await theirs.create(A, configmap("a"))
                await watch.sink.until_count(1)
                kv.lose_streams()
                await clock.settle()
                assert mirror.not_ready_reason
                await theirs.create(B, configmap("b"))
                await remove(theirs, A)
                await clock.advance(1)
                assert mirror.not_ready_reason == ""
                await theirs.create(C, configmap("c"))
                await watch.sink.until_count(4)
                assert [(kind, name) for kind, name, _ in watch.sink.brief()] == [
                    ("ADDED", "a"),
                    ("ADDED", "b"),
                    ("DELETED", "a"),
                    ("ADDED", "c"),
                ]
            assert kv.ranges == 1
        await kv.close()

    run(main())


def test_a_store_that_stays_away_is_tried_again_ever_more_slowly() -> None:
    async def main() -> None:
        clock, kv = FakeClock(), FaultyKV(await open_kv("memory:"))
        async with opened(kv=kv, clock=clock) as (mirror, storage):
            kv.go(away=True)
            await clock.advance(60)
            kv.go(away=False)
            await clock.advance(1.1)
            assert mirror.not_ready_reason == ""
            await storage.create(A, configmap("a"))
            assert kv.watches_opened == 2
        await kv.close()

    run(main())


@pytest.mark.parametrize("cause", ["compacted", "another cluster"])
def test_what_cannot_be_resumed_is_loaded_anew(cause: str) -> None:
    async def main() -> None:
        clock, kv = FakeClock(), FaultyKV(await open_kv("memory:"))
        async with opened(kv=kv, clock=clock) as (mirror, storage), opened(kv=kv.kv) as (_, theirs):
            made = await theirs.create(A, configmap("a"))
            await clock.settle()
            listed = mirror.revision
            assert listed == made.mod_revision
            async with watching(storage, revision=listed) as watch:
                await clock.settle()
                kv.go(away=True)
                await clock.settle()
                await remove(theirs, A)
                last = await theirs.create(B, configmap("b"))
                if cause == "compacted":
                    await kv.kv.compact(last.mod_revision)
                else:
                    kv.cluster_id = "other"
                kv.go(away=False)
                await clock.advance(5)
                assert await watch.ended() == []  # ended without inventing a difference
            assert mirror.not_ready_reason == ""
            assert mirror.horizon == mirror.revision == last.mod_revision
            names = [storage.key_of(e).name for e in mirror.scan(b"/registry/configmaps/")]
            assert names == ["b"]
            assert storage.count() == 1
            async with watching(storage, revision=listed) as resumed:
                (event,) = await resumed.ended()
                assert (event["object"]["code"], event["object"]["reason"]) == (410, "Expired")
            with pytest.raises(Compacted):
                await storage.list(None, EVERYTHING, Freshness(listed, Match.EXACT), version="v1")
            async with watching(storage, revision=mirror.revision) as following:
                await theirs.create(C, configmap("c"))
                await following.sink.until_count(1)
        await kv.close()

    run(main())


def test_a_store_that_went_back_in_time_is_loaded_anew() -> None:
    async def main() -> None:
        clock, kv = FakeClock(), FaultyKV(await open_kv("memory:"))
        async with opened(kv=kv, clock=clock) as (mirror, storage):
            for number in range(10):
                await storage.create(Key("default", f"n{number}"), configmap(f"n{number}"))
            await clock.settle()
            kv.go(away=True)
            await clock.settle()
            older = await open_kv("memory:")
            kv.cluster_id = (await kv.kv.status()).cluster_id
            await kv.kv.close()
            kv.kv = older
            kv.go(away=False)
            await clock.advance(2)
            assert mirror.not_ready_reason == ""
            assert mirror.revision == await older.revision()
            assert storage.count() == 0
            made = asyncio.ensure_future(storage.create(A, configmap("a")))
            await clock.advance(1)
            read = asyncio.ensure_future(storage.get(A, CONSISTENT))
            await clock.advance(1)
            assert (await read).mod_revision == (await made).mod_revision
        await kv.close()

    run(main())


def test_a_store_that_is_away_at_the_start_is_waited_for() -> None:
    async def main() -> None:
        clock, kv = FakeClock(), FaultyKV(await open_kv("memory:"))
        kv.go(away=True)
        mirror = Mirror(kv, clock=clock)
        storage = mirror.storage(CONFIGMAPS)
        starting = asyncio.ensure_future(mirror.start())
        await clock.advance(5)
        assert not starting.done()
        assert not mirror.loaded
        from controlplane.storage.api import WatchOptions

        with pytest.raises(Unavailable):
            await storage.watch(None, EVERYTHING, JSON, WatchOptions())
        kv.go(away=False)
        await clock.advance(2)
        await starting
        assert mirror.not_ready_reason == ""
        await set_or_create(storage)
        await mirror.close()
        await kv.close()

    async def set_or_create(storage: object) -> None:
        from controlplane.storage.api import Storage

        typed: Storage = storage  # type: ignore[assignment]  # a Storage
        await typed.create(A, configmap("a"))
        assert (await set_data(typed, A, k="v")).mod_revision == 3

    run(main())


def test_a_load_of_many_pages_is_one_snapshot() -> None:
    async def main() -> None:
        kv = await open_kv("memory:")
        async with opened(kv=kv) as (_, first):
            for number in range(2_500):
                await first.create(Key("default", f"n{number:04}"), configmap(f"n{number:04}"))
            async with opened(kv=kv) as (second, storage):
                assert storage.count() == 2_500
                assert second.revision == await kv.revision()
                listed = await storage.list(None, EVERYTHING, CONSISTENT, version="v1")
                assert [storage.key_of(entry).name for entry in listed.entries] == [f"n{n:04}" for n in range(2_500)]
        await kv.close()

    run(main())
