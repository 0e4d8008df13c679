"""Bookmarks, timeouts and ends of watches, on virtual time."""

from __future__ import annotations

import asyncio

from controlplane.apimachinery.identity import Key
from controlplane.testing.clock import FakeClock
from tests.aio import run
from tests.mirrors import MemorySink, configmap, opened, selecting, watching

A, B = Key("default", "a"), Key("default", "b")


def test_bookmarked_every_minute_with_the_revision_of_the_whole_mirror() -> None:
    async def main() -> None:
        clock = FakeClock()
        async with opened(clock=clock) as (mirror, storage):
            quiet = selecting("none=such")
            async with watching(storage, revision=mirror.revision, bookmarks=True, predicate=quiet) as watch:
                await clock.settle()
                made = await storage.create(A, configmap("a"))
                await clock.advance(59)
                assert watch.sink.events() == []
                await clock.advance(1.5)
                assert watch.sink.events() == [
                    {
                        "type": "BOOKMARK",
                        "object": {
                            "kind": "ConfigMap",
                            "apiVersion": "v1",
                            "metadata": {"resourceVersion": str(made.mod_revision)},
                        },
                    }
                ]
                await clock.advance(60)
                assert len(watch.sink.events()) == 2

    run(main())


def test_a_bookmark_is_never_ahead_of_what_has_been_delivered() -> None:
    async def main() -> None:
        clock = FakeClock()
        async with opened(clock=clock) as (mirror, storage):
            sink = MemorySink()
            async with watching(storage, revision=mirror.revision, bookmarks=True, sink=sink):
                await storage.create(A, configmap("a"))
                await sink.until_count(1)
                sink.backlog_bytes = 2 << 20
                await storage.create(B, configmap("b"))
                await sink.until_count(2)
                await storage.create(Key("default", "c"), configmap("c"))
                await clock.advance(58)
                sink.backlog_bytes = 2 << 20
                await clock.advance(1.9)
                assert len(sink.events()) == 2
                sink.drain()
                await sink.until_count(3)
                await clock.advance(1)
                assert [kind for kind, _, _ in sink.brief()] == ["ADDED", "ADDED", "ADDED", "BOOKMARK"]
                assert sink.brief()[3][2] == sink.brief()[2][2]

    run(main())


def test_a_watcher_found_full_at_its_bookmark_is_told_nothing_twice() -> None:
    """Found by tests/property/test_watch_contract.py: the channel had seen nothing since the watcher joined it."""

    async def main() -> None:
        clock = FakeClock()
        async with opened(clock=clock) as (mirror, storage):
            start = mirror.revision
            await storage.create(A, configmap("a"))
            sink = MemorySink()
            async with watching(storage, revision=start, bookmarks=True, sink=sink):
                await sink.until_count(1)
                sink.backlog_bytes = 2 << 20
                await clock.advance(61)
                sink.drain()
                await storage.create(B, configmap("b"))
                await sink.until_count(2)
                await clock.advance(1)
                assert [(kind, name) for kind, name, _ in sink.brief() if kind != "BOOKMARK"] == [
                    ("ADDED", "a"),
                    ("ADDED", "b"),
                ]

    run(main())


def test_bookmarks_are_shared_and_only_for_those_who_ask() -> None:
    async def main() -> None:
        clock = FakeClock()
        async with opened(clock=clock) as (mirror, storage):
            start = mirror.revision
            async with (
                watching(storage, revision=start, bookmarks=True) as one,
                watching(storage, revision=start, bookmarks=True, predicate=selecting("a=b")) as two,
                watching(storage, revision=start) as without,
            ):
                await clock.advance(61)
                assert one.sink.chunks[0] is two.sink.chunks[0]
                assert without.sink.chunks == []

    run(main())


def test_timeout_ends_the_watch_with_a_last_bookmark_before() -> None:
    async def main() -> None:
        clock = FakeClock()
        async with opened(clock=clock) as (mirror, storage):
            async with watching(storage, revision=mirror.revision, bookmarks=True, timeout_seconds=30) as watch:
                await clock.advance(27)
                assert watch.sink.events() == []
                await clock.advance(1.5)
                assert [kind for kind, _, _ in watch.sink.brief()] == ["BOOKMARK"]
                assert not watch.task.done()
                await clock.advance(2)
                await watch.ended()
                assert len(watch.sink.events()) == 1
            assert mirror.statistics()[4:6] == (0, 0)

    run(main())


def test_a_short_watch_ends_in_time_and_needs_no_bookmark() -> None:
    async def main() -> None:
        clock = FakeClock()
        async with opened(clock=clock) as (mirror, storage):
            async with watching(storage, revision=mirror.revision, bookmarks=True, timeout_seconds=1) as watch:
                await clock.advance(0.9)
                assert not watch.task.done()
                await clock.advance(0.3)
                assert await watch.ended() == []

    run(main())


def test_what_is_pending_is_written_before_a_watch_is_ended() -> None:
    async def main() -> None:
        async with opened() as (mirror, storage):
            async with watching(storage, revision=mirror.revision) as watch:
                await asyncio.sleep(0.01)
                made = await storage.create(A, configmap("a"))
                await mirror.fresh(made.mod_revision)
                mirror.end_watches()
                events = await watch.ended()
            assert [e["type"] for e in events] == ["ADDED"]

    run(main())


def test_a_client_that_goes_away_leaves_nothing_behind() -> None:
    async def main() -> None:
        async with opened() as (mirror, storage):
            async with watching(storage, revision=mirror.revision) as watch:
                await asyncio.sleep(0.01)
                assert mirror.statistics().watchers == 1
                watch.sink.close()
                await watch.ended()
            assert mirror.statistics()[4:6] == (0, 0)

    run(main())


def test_a_cancelled_watch_is_cancelled() -> None:
    """The carrier's cancellation goes through, also when the watch has been woken at the same time."""

    async def main() -> None:
        async with opened() as (mirror, storage):
            from controlplane.storage.api import WatchOptions
            from tests.mirrors import EVERYTHING, JSON

            for also_ended in (False, True):
                go = await storage.watch(None, EVERYTHING, JSON, WatchOptions(revision=mirror.revision))
                task = asyncio.ensure_future(_as_task(go))
                await asyncio.sleep(0.01)
                if also_ended:
                    mirror.end_watches()
                task.cancel()
                await asyncio.wait([task])
                assert task.cancelled()
            assert mirror.statistics()[4:6] == (0, 0)

    async def _as_task(go: object) -> None:
        assert callable(go)
        await go(MemorySink())

    run(main())
