"""Checks of watch: ordered, unique, whole, gapless, resumable, filtered, published after commit, never silent."""

from __future__ import annotations

import asyncio

from controlplane.storage.errors import Unavailable
from controlplane.storage.kv.api import ABSENT, Event, KeyValue, WatchBatch
from controlplane.testing.kv.scenario import Scenario

__all__ = ["CHECKS"]


def positions(events: list[Event]) -> list[tuple[int, bytes]]:
    return [(event.mod_revision, event.key) for event in events]


async def watch_delivers_each_write(check: Scenario) -> None:
    key = check.key("a")
    async with check.kv.watch(check.prefix, await check.kv.revision() + 1) as watch:
        created = await check.create("a", b"1")
        updated = await check.update("a", b"2", expect=created)
        deleted = await check.remove("a", expect=updated)
        assert await check.collect(watch, 3) == [
            Event(key, created, KeyValue(key, b"1", created, created, 1)),
            Event(key, updated, KeyValue(key, b"2", created, updated, 2)),
            Event(key, deleted, None),
        ]


async def watch_starts_in_the_past_and_goes_on(check: Scenario) -> None:
    revisions = [await check.create(f"old{n}") for n in range(10)]
    async with check.kv.watch(check.prefix, revisions[4]) as watch:
        past = await check.collect(watch, 6)
        revisions.append(await check.create("new"))
        events = past + await check.collect(watch, 1)
    assert [event.mod_revision for event in events] == revisions[4:]


async def watch_keeps_to_its_prefix(check: Scenario) -> None:
    """In the past and live."""
    names = ("a", "a/", "a/1", "a/2", "a0", "b", "A/1")
    inside = [check.key(name) for name in ("a/", "a/1", "a/2")]
    start = await check.kv.revision() + 1
    revisions = {name: await check.create(name) for name in names}
    async with check.kv.watch(check.key("a/"), start) as watch:
        assert [event.key for event in await check.collect(watch, 3)] == inside
        for name in names:
            await check.update(name, b"2", expect=revisions[name])
        assert [event.key for event in await check.collect(watch, 3)] == inside


async def watch_tells_the_value_before(check: Scenario) -> None:
    start = await check.kv.revision() + 1
    created = await check.create("a", b"1")
    updated = await check.update("a", b"2", expect=created)
    async with check.kv.watch(check.prefix, start, prev=True) as watch:
        events = await check.collect(watch, 2)
        deleted = await check.remove("a", expect=updated)
        again = await check.create("a", b"3")
        events += await check.collect(watch, 2)
    key = check.key("a")
    assert [event.mod_revision for event in events] == [created, updated, deleted, again]
    assert [event.prev for event in events] == [
        None,
        KeyValue(key, b"1", created, created, 1),
        KeyValue(key, b"2", created, updated, 2),
        None,
    ]


async def watch_without_prev_carries_none(check: Scenario) -> None:
    async with check.kv.watch(check.prefix, await check.kv.revision() + 1) as watch:
        created = await check.create("a", b"1")
        await check.remove("a", expect=created)
        assert [event.prev for event in await check.collect(watch, 2)] == [None, None]


async def watches_see_the_same_history_under_load(check: Scenario) -> None:
    """Watches that begin anywhere while several write: each sees every revision from its start, once, in order."""
    first = await check.kv.revision() + 1
    acknowledged: dict[int, bytes] = {}
    writers, writes = 6, 40

    async def write(writer: int) -> None:
        key, revision = check.key(f"w{writer}"), ABSENT
        for n in range(writes):
            if revision and n % 9 == 8:
                result = await check.kv.delete(key, expect=revision)
                revision = ABSENT
            else:
                result = await check.kv.put(key, b"%d" % n, expect=revision)
                revision = result.revision
            assert result.succeeded
            acknowledged[result.revision] = key

    async def follow(start: int, seen: list[Event]) -> None:
        async with check.kv.watch(check.prefix, start) as watch:
            while not seen or seen[-1].key != check.key("last"):
                seen += (await anext(watch)).events

    starts: list[int] = []
    views: list[list[Event]] = []
    async with asyncio.timeout(3 * check.patience_seconds), asyncio.TaskGroup() as group:
        writing = [group.create_task(write(n)) for n in range(writers)]
        while not all(task.done() for task in writing):
            if len(views) < 8:
                newest = await check.kv.revision()
                starts.append(newest + 1 if len(views) % 2 else (first + newest + 1) // 2)
                views.append([])
                group.create_task(follow(starts[-1], views[-1]))
            await asyncio.sleep(0.002)
        acknowledged[await check.create("last")] = check.key("last")
    history = sorted(acknowledged.items())
    for start, seen in zip(starts, views, strict=True):
        assert positions(seen) == [position for position in history if position[0] >= start], f"watch from {start}"


async def watch_resumes_after_any_batch(check: Scenario) -> None:
    start = await check.kv.revision() + 1
    revisions = [await check.create(f"k{n:02}") for n in range(30)]
    seen: list[int] = []
    while len(seen) < len(revisions):
        async with asyncio.timeout(check.patience_seconds), check.kv.watch(check.prefix, start) as watch:
            batch = await anext(watch)
            while not batch.events:
                batch = await anext(watch)
        seen += [event.mod_revision for event in batch.events]
        start = batch.revision + 1
        if len(seen) >= len(revisions) and len(revisions) < 40:
            revisions.append(await check.create(f"k{len(revisions)}"))
    assert seen == revisions


async def watch_may_start_one_past_the_newest(check: Scenario) -> None:
    await check.create("before")
    async with check.kv.watch(check.prefix, await check.kv.revision() + 1) as watch:
        revision = await check.create("after")
        assert positions(await check.collect(watch, 1)) == [(revision, check.key("after"))]


async def watch_answers_a_request_for_progress(check: Scenario) -> None:
    """Where an answer can be trusted (``trustworthy_progress``; else none comes), also where nothing of its prefix was
    written: the batch then carries the store's revision and no events."""
    if not check.kv.trustworthy_progress:
        return
    async with check.kv.watch(check.key("quiet/"), await check.kv.revision() + 1) as watch:
        written = await check.create("elsewhere")

        async def ask() -> None:
            while True:
                await watch.request_progress()
                await asyncio.sleep(0.2)

        async with asyncio.timeout(check.patience_seconds):
            asking = asyncio.ensure_future(ask())
            try:
                batch = await anext(watch)
                while batch.revision < written:
                    batch = await anext(watch)
            finally:
                asking.cancel()
        assert list(batch.events) == []


async def progress_does_not_overtake_events(check: Scenario) -> None:
    """Where the backend says so (``trustworthy_progress``)."""
    if not check.kv.trustworthy_progress:
        return
    async with check.kv.watch(check.prefix, await check.kv.revision() + 1) as watch:
        for n in range(20):
            written = await check.create(f"k{n}")
            await watch.request_progress()
            seen: list[int] = []
            batch = WatchBatch(0, ())
            async with asyncio.timeout(check.patience_seconds):
                while batch.revision < written:
                    batch = await anext(watch)
                    seen += [event.mod_revision for event in batch.events]
            assert seen == [written], f"progress to {batch.revision} arrived before the event at {written}"


async def watch_of_a_slow_consumer_skips_nothing(check: Scenario) -> None:
    """It may be lost, loudly; reopened after its last batch it has everything."""
    start = await check.kv.revision() + 1
    seen: list[int] = []
    revisions: list[int] = []
    while not revisions or len(seen) < len(revisions):
        try:
            async with asyncio.timeout(check.patience_seconds), check.kv.watch(check.prefix, start) as watch:
                if not revisions:
                    for n in range(100):
                        batch_of = range(4)
                        created = (check.create(f"k{n:03}/{part}", bytes(50_000)) for part in batch_of)
                        revisions += await asyncio.gather(*created)
                while len(seen) < len(revisions):
                    batch = await anext(watch)
                    seen += [event.mod_revision for event in batch.events]
                    start = batch.revision + 1
        except Unavailable:
            continue
    assert seen == sorted(revisions)


async def watch_shows_only_what_can_be_read(check: Scenario) -> None:
    async def write() -> None:
        for n in range(50):
            await check.create(f"k{n}")

    async with check.kv.watch(check.prefix, await check.kv.revision() + 1) as watch:
        writing = asyncio.ensure_future(write())
        seen = 0
        async with asyncio.timeout(check.patience_seconds):
            while seen < 50:
                for event in (await anext(watch)).events:
                    stored = await check.kv.range(event.key, b"")
                    assert stored.revision >= event.mod_revision
                    assert stored.items == [event.kv]
                    seen += 1
        await writing


async def a_cancelled_step_loses_nothing(check: Scenario) -> None:
    async with check.kv.watch(check.prefix, await check.kv.revision() + 1) as watch:
        revisions: list[int] = []
        seen: list[int] = []
        for n in range(20):
            step = asyncio.ensure_future(anext(watch))
            await asyncio.sleep(0)
            step.cancel()
            (outcome,) = await asyncio.gather(step, return_exceptions=True)
            if isinstance(outcome, WatchBatch):
                seen += [event.mod_revision for event in outcome.events]
            else:
                assert isinstance(outcome, asyncio.CancelledError), outcome
            revisions.append(await check.create(f"k{n}"))
        events = await check.collect(watch, len(revisions) - len(seen))
        assert seen + [event.mod_revision for event in events] == revisions


async def closing_ends_a_watch_loudly(check: Scenario) -> None:
    async with check.kv.watch(check.prefix, await check.kv.revision() + 1) as watch:
        step = asyncio.ensure_future(anext(watch))
        await asyncio.sleep(0.05)
        await check.kv.close()
        async with asyncio.timeout(check.patience_seconds):
            (outcome,) = await asyncio.gather(step, return_exceptions=True)
    assert isinstance(outcome, Unavailable), f"the watch ended with {outcome!r}"


CHECKS = (
    watch_delivers_each_write,
    watch_starts_in_the_past_and_goes_on,
    watch_keeps_to_its_prefix,
    watch_tells_the_value_before,
    watch_without_prev_carries_none,
    watches_see_the_same_history_under_load,
    watch_resumes_after_any_batch,
    watch_may_start_one_past_the_newest,
    watch_answers_a_request_for_progress,
    progress_does_not_overtake_events,
    watch_of_a_slow_consumer_skips_nothing,
    watch_shows_only_what_can_be_read,
    a_cancelled_step_loses_nothing,
    closing_ends_a_watch_loudly,
)
