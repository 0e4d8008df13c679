"""The watch contract, one named test a guarantee. The same as a model: tests/property/test_watch_contract.py."""

from __future__ import annotations

import asyncio

from controlplane.apimachinery.identity import Key
from controlplane.storage.api import CONSISTENT, Storage
from controlplane.storage.cache.image import Budgets
from controlplane.storage.cache.ring import RingBudget
from controlplane.storage.kv.backends import open_kv
from tests.aio import run
from tests.faulty_kv import FaultyKV
from tests.mirrors import EVERYTHING, MemorySink, configmap, opened, remove, selecting, set_data, watching

A, B, C = Key("default", "a"), Key("default", "b"), Key("other", "c")
TINY = Budgets(RingBudget(max_changes=2, min_changes=0), RingBudget(max_changes=2, min_changes=0))


async def create(storage: Storage, key: Key, **labels: str) -> int:
    entry = await storage.create(key, configmap(key.name, key.namespace, labels=labels))
    return entry.mod_revision


def test_ordered_and_unique() -> None:
    async def main() -> None:
        async with opened() as (mirror, storage), watching(storage, revision=mirror.revision) as watch:
            await asyncio.gather(*(create(storage, Key("default", f"n{n}")) for n in range(50)))
            await asyncio.gather(*(set_data(storage, Key("default", f"n{n}"), x="y") for n in range(50)))
            await watch.sink.until_count(100)
            revisions = [revision for _, _, revision in watch.sink.brief()]
            assert revisions == sorted(set(revisions))

    run(main())


def test_gapless_after_a_list() -> None:
    """List at N, then watch from N: all after N, nothing before, whatever happens in between."""

    async def main() -> None:
        async with opened() as (_, storage):
            await create(storage, A)
            listed = await storage.list(None, EVERYTHING, CONSISTENT, version="v1")
            await create(storage, B)
            await remove(storage, A)
            async with watching(storage, revision=listed.revision) as watch:
                await create(storage, C)
                await watch.sink.until_count(3)
            assert [(kind, name) for kind, name, _ in watch.sink.brief()] == [
                ("ADDED", "b"),
                ("DELETED", "a"),
                ("ADDED", "c"),
            ]

    run(main())


def test_resumable_at_every_revision() -> None:
    async def main() -> None:
        async with opened() as (mirror, storage):
            start = mirror.revision
            await create(storage, A)
            for number in range(5):
                await set_data(storage, A, n=str(number))
            await remove(storage, A)
            async with watching(storage, revision=start) as whole:
                await whole.sink.until_count(7)
            told = whole.sink.brief()
            for at, (_, _, revision) in enumerate(told[:-1]):
                async with watching(storage, revision=revision) as rest:
                    await rest.sink.until_count(len(told) - at - 1)
                assert rest.sink.brief() == told[at + 1 :]

    run(main())


def test_filtered_entering_is_added_and_leaving_is_deleted_with_the_old_state() -> None:
    async def main() -> None:
        async with opened() as (mirror, storage):
            async with watching(storage, predicate=selecting("x=1"), revision=mirror.revision) as watch:
                await create(storage, A, x="2")
                entered = await set_data(storage, A, labels={"x": "1"}, k="in")
                await set_data(storage, A, k="changed")
                left = await set_data(storage, A, labels={"x": "2"}, k="out")
                await set_data(storage, A, k="unseen")
                await set_data(storage, A, labels={"x": "1"}, k="back")
                gone = await remove(storage, A)
                await watch.sink.until_count(5)
            events = watch.sink.events()
            assert [(e["type"], e["object"]["data"]["k"]) for e in events] == [
                ("ADDED", "in"),
                ("MODIFIED", "changed"),
                ("DELETED", "changed"),
                ("ADDED", "back"),
                ("DELETED", "back"),
            ]
            revisions = [int(e["object"]["metadata"]["resourceVersion"]) for e in events]
            assert revisions[0] == entered.mod_revision
            assert revisions[2] == left.mod_revision
            assert revisions[4] == gone.mod_revision
            assert events[2]["object"]["metadata"]["labels"] == {"x": "1"}

    run(main())


def test_filtered_by_namespace_and_by_name() -> None:
    async def main() -> None:
        async with opened() as (mirror, storage):
            start = mirror.revision
            by_name, anywhere = selecting(fields="metadata.name=a"), selecting(fields="metadata.name=c")
            async with (
                watching(storage, namespace="default", revision=start) as in_default,
                watching(storage, namespace="default", predicate=by_name, revision=start) as one,
                watching(storage, predicate=anywhere, revision=start) as named,
            ):
                for key in (A, B, C, Key("default-2", "a")):
                    await create(storage, key)
                await in_default.sink.until_count(2)
                await named.sink.until_count(1)
            assert [name for _, name, _ in in_default.sink.brief()] == ["a", "b"]
            assert [name for _, name, _ in one.sink.brief()] == ["a"]
            assert [name for _, name, _ in named.sink.brief()] == ["c"]

    run(main())


def test_state_comes_first_in_key_order_then_the_end_bookmark_then_changes() -> None:
    async def main() -> None:
        async with opened() as (_, storage):
            await create(storage, C)
            await create(storage, B)
            newest = await create(storage, A)
            async with watching(storage, initial_events=True, end_bookmark=True) as watch:
                await watch.sink.until_count(4)
                await remove(storage, B)
                await watch.sink.until_count(5)
            assert [(kind, name) for kind, name, _ in watch.sink.brief()] == [
                ("ADDED", "a"),
                ("ADDED", "b"),
                ("ADDED", "c"),
                ("BOOKMARK", ""),
                ("DELETED", "b"),
            ]
            assert watch.sink.events()[3]["object"] == {
                "kind": "ConfigMap",
                "apiVersion": "v1",
                "metadata": {
                    "resourceVersion": str(newest),
                    "annotations": {"k8s.io/initial-events-end": "true"},
                },
            }

    run(main())


def test_expiring_only_after_compaction() -> None:
    """Older than the ring is read from the store's history; only what the store has compacted is gone."""

    async def main() -> None:
        async with opened(budgets=TINY) as (mirror, storage):
            start = await create(storage, A)
            for number in range(20):
                await set_data(storage, A, n=str(number))
            await remove(storage, A)
            assert storage.count() == 0
            assert len(mirror.image.ordinary) == 2
            async with watching(storage, revision=start) as watch:
                await watch.sink.until_count(21)
                await create(storage, B)
                await watch.sink.until_count(22)
            assert [revision for _, _, revision in watch.sink.brief()] == list(range(start + 1, start + 23))
            await mirror.kv.compact(start + 10)
            async with watching(storage, revision=start + 10) as alive:
                await alive.sink.until_count(12)
            async with watching(storage, revision=start) as expired:
                events = await expired.ended()
            assert [e["type"] for e in events] == ["ERROR"]
            status = events[0]["object"]
            assert (status["code"], status["reason"]) == (410, "Expired")
            assert status["message"] == f"too old resource version: {start} ({start + 10})"

    run(main())


def test_history_knows_selectors() -> None:
    async def main() -> None:
        async with opened(budgets=TINY) as (_, storage):
            start = await create(storage, A, x="1")
            await set_data(storage, A, labels={"x": "2"}, k="out")
            await create(storage, B, x="2")
            await set_data(storage, B, labels={"x": "1"}, k="in")
            await create(storage, C)
            await remove(storage, C)
            async with watching(storage, predicate=selecting("x=1"), revision=start) as watch:
                await watch.sink.until_count(2)
            assert [(kind, name) for kind, name, _ in watch.sink.brief()] == [("DELETED", "a"), ("ADDED", "b")]

    run(main())


def test_published_only_after_commit() -> None:
    """When a watch shows a revision, the store has it."""

    async def main() -> None:
        kv = await open_kv("memory:")
        async with opened(kv=kv) as (mirror, storage):
            async with watching(storage, revision=mirror.revision) as watch:
                seen: list[tuple[int, int]] = []

                async def look() -> None:
                    for count in range(1, 30):
                        await watch.sink.until_count(count)
                        seen.append((watch.sink.brief()[-1][2], await kv.revision()))

                looking = asyncio.ensure_future(look())
                for number in range(30):
                    await create(storage, Key("default", f"n{number}"))
                await looking
            assert all(shown <= stored for shown, stored in seen)
        await kv.close()

    run(main())


def test_slow_watcher_holds_up_nobody_and_misses_nothing() -> None:
    async def main() -> None:
        async with opened() as (mirror, storage):
            slow = MemorySink()
            start = mirror.revision
            async with (
                watching(storage, revision=start, sink=slow) as behind,
                watching(storage, revision=start) as quick,
            ):
                await create(storage, A)
                await slow.until_count(1)
                slow.backlog_bytes = 2 << 20
                await create(storage, B)
                await slow.until_count(2)  # it was found full after this one
                for number in range(100):
                    await set_data(storage, B, n=str(number))
                await quick.sink.until_count(102)
                assert len(slow.events()) == 2
                assert mirror.statistics().channels == 1
                slow.drain()
                await slow.until_count(102)
                await create(storage, C)
                await slow.until_count(103)
                assert not behind.task.done()
            assert slow.brief() == quick.sink.brief()

    run(main())


def test_a_stuck_watcher_is_closed() -> None:
    from controlplane.testing.clock import FakeClock

    async def main() -> None:
        clock = FakeClock()
        async with opened(clock=clock) as (mirror, storage):
            stuck = MemorySink()
            stuck.backlog_bytes = 2 << 20
            async with watching(storage, revision=mirror.revision, sink=stuck) as watch:
                await create(storage, A)
                await stuck.until_count(1)
                await clock.advance(59)
                assert not watch.task.done()
                await clock.advance(2)
                await watch.ended()

    run(main())


def test_a_broken_sink_ends_its_own_watch_only() -> None:
    class BrokenSink(MemorySink):
        def write(self, chunk: object) -> None:
            raise ConnectionError(f"broken, {chunk!r}")

    async def main() -> None:
        async with opened() as (mirror, storage):
            start = mirror.revision
            async with (
                watching(storage, revision=start, sink=BrokenSink()) as broken,
                watching(storage, revision=start) as healthy,
            ):
                await asyncio.sleep(0)
                await create(storage, A)
                await create(storage, B)
                await healthy.sink.until_count(2)
                await broken.ended()

    run(main())


def test_frames_are_shared_by_watchers_that_see_the_same() -> None:
    async def main() -> None:
        async with opened() as (mirror, storage):
            start = mirror.revision
            async with watching(storage, revision=start) as one, watching(storage, revision=start) as two:
                await asyncio.sleep(0.01)
                await create(storage, A)
                await one.sink.until_count(1)
                await two.sink.until_count(1)
                assert mirror.statistics().channels == 1
                assert one.sink.chunks[0] is two.sink.chunks[0]

    run(main())


def test_a_revision_of_several_events_leaves_in_one_write() -> None:
    """A foreign transaction is one revision: its frames are one chunk, also while watchers join."""

    async def main() -> None:
        async with opened() as (mirror, storage):
            keys = [Key("default", f"n{n}") for n in range(3)]
            made = [await storage.create(key, configmap(key.name)) for key in keys]
            start = mirror.revision
            async with watching(storage, revision=start) as watch:
                await asyncio.sleep(0.01)
                from controlplane.storage.kv.api import Event

                for entry in made:
                    mirror.image.apply(Event(entry.key, start + 1, None))
                await watch.sink.until_count(3)
                assert len(watch.sink.chunks) == 1

    run(main())


def test_future_revision_is_an_error_in_the_stream() -> None:
    from controlplane.testing.clock import FakeClock

    async def main() -> None:
        clock = FakeClock()
        async with opened(clock=clock) as (_, storage), watching(storage, revision=1000) as watch:
            await clock.advance(3)
            (event,) = await watch.ended()
            assert event["type"] == "ERROR"
            assert event["object"]["code"] == 504
            assert event["object"]["message"] == "Timeout: Too large resource version: 1000, current: 1"
            assert event["object"]["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"

    run(main())


def test_a_lagging_mirror_is_waited_for() -> None:
    """A watch from a revision that another server has answered, and this mirror does not have yet."""

    async def main() -> None:
        kv = FaultyKV(await open_kv("memory:"))
        async with opened(kv=kv) as (_, storage):
            kv.flow.clear()
            start = await create(storage, A)
            async with watching(storage, revision=start) as watch:
                await asyncio.sleep(0.02)
                kv.flow.set()
                await create(storage, B)
                await watch.sink.until_count(1)
            assert [name for _, name, _ in watch.sink.brief()] == ["b"]
        await kv.close()

    run(main())
