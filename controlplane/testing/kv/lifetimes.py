"""Checks of what ends and what stays: compaction, leases, closing, opening again."""

from __future__ import annotations

import asyncio

from controlplane.storage.errors import Compacted, FutureRevision, Unavailable
from controlplane.storage.kv.api import ABSENT, WatchBatch, prefix_end
from controlplane.testing.kv.scenario import Scenario, refusal

__all__ = ["CHECKS", "DURABLE_CHECKS"]


async def compaction_forgets_the_past_and_keeps_what_lives(check: Scenario) -> None:
    created = await check.create("a", b"1")
    updated = await check.update("a", b"2", expect=created)
    other = await check.create("b", b"1")
    floor = await check.update("b", b"2", expect=other)
    newest = await check.create("c", b"1")
    await check.kv.compact(floor)
    for old in (created, other):
        for end in (b"", prefix_end(check.prefix)):
            read = check.kv.range(check.key("a"), end, revision=old)
            error = await refusal(Compacted, read, f"revision {old} was read after compaction through {floor}")
            assert error.requested == old
    assert [(kv.mod_revision, kv.value) for kv in (await check.everything()).items] == [
        (updated, b"2"),
        (floor, b"2"),
        (newest, b"1"),
    ]
    assert len((await check.everything(revision=newest)).items) == 3
    assert await check.update("a", b"3", expect=updated) > newest


async def compaction_is_repeatable(check: Scenario) -> None:
    revision = await check.create("a")
    later = await check.update("a", b"2", expect=revision)
    await check.kv.compact(later)
    await check.kv.compact(later)
    await check.kv.compact(revision)
    assert (await check.kv.status()).compacted_revision in {0, later}, "a floor never falls (0: not known)"
    stored = await check.get("a")
    assert stored is not None
    assert stored.mod_revision == later


async def compaction_of_the_future_is_refused(check: Scenario) -> None:
    await check.create("a")
    ahead = await check.kv.revision() + 1_000_000
    error = await refusal(FutureRevision, check.kv.compact(ahead), "a revision not written yet was compacted")
    assert error.requested == ahead
    assert await check.get("a") is not None


async def a_watch_from_a_compacted_revision_says_so(check: Scenario) -> None:
    revision = start = await check.create("a")
    for n in range(5):
        revision = await check.update("a", b"%d" % n, expect=revision)
    await check.kv.compact(revision)

    async def first_batch() -> WatchBatch:
        async with check.kv.watch(check.prefix, start) as watch:
            return await anext(watch)

    async with asyncio.timeout(check.patience_seconds):
        await refusal(Compacted, first_batch(), "a watch from a forgotten revision delivered")
    async with check.kv.watch(check.prefix, revision + 1) as watch:
        later = await check.update("a", b"later", expect=revision)
        assert [event.mod_revision for event in await check.collect(watch, 1)] == [later]


async def compaction_does_not_disturb_a_watch_that_keeps_up(check: Scenario) -> None:
    async with check.kv.watch(check.prefix, await check.kv.revision() + 1) as watch:
        revision = await check.create("a")
        await check.collect(watch, 1)
        await check.kv.compact(revision)
        updated = await check.update("a", b"2", expect=revision)
        assert [event.mod_revision for event in await check.collect(watch, 1)] == [updated]


async def an_expired_lease_deletes_its_keys(check: Scenario) -> None:
    async with check.kv.watch(check.prefix, await check.kv.revision() + 1) as watch:
        lease = await check.kv.grant(1)
        assert lease != 0
        created = [await check.create(name, lease=lease) for name in ("a", "b")]
        stored = await check.get("a")
        assert stored is not None
        assert stored.lease == lease
        await check.collect(watch, 2)
        events = await check.collect(watch, 2)
    assert {event.key for event in events} == {check.key("a"), check.key("b")}
    assert all(event.kv is None and event.mod_revision > max(created) for event in events)
    assert (await check.everything()).items == []
    assert await check.create("a") > events[-1].mod_revision


async def a_key_put_again_without_the_lease_outlives_it(check: Scenario) -> None:
    lease = await check.kv.grant(1)
    kept = await check.create("kept", lease=lease)
    await check.create("lost", lease=lease)
    kept = await check.update("kept", b"2", expect=kept)
    async with check.kv.watch(check.prefix, kept + 1) as watch:
        events = await check.collect(watch, 1)
    assert [(event.key, event.kv) for event in events] == [(check.key("lost"), None)]
    stored = await check.get("kept")
    assert stored is not None
    assert (stored.mod_revision, stored.lease) == (kept, 0)


async def leases_last_as_long_as_asked(check: Scenario) -> None:
    short, long = await check.kv.grant(1), await check.kv.grant(600)
    assert short != long
    await check.create("long", lease=long)
    gone_after = await check.create("short", lease=short)
    assert await check.get("short") is not None
    async with check.kv.watch(check.prefix, gone_after + 1) as watch:
        events = await check.collect(watch, 1)
    assert [event.key for event in events] == [check.key("short")]
    assert await check.get("long") is not None


async def an_unknown_lease_is_refused(check: Scenario) -> None:
    put = check.kv.put(check.key("a"), b"1", expect=ABSENT, lease=4711)
    await refusal(ValueError, put, "a key was put under a lease that nobody granted")
    assert await check.get("a") is None


async def a_closed_store_refuses(check: Scenario) -> None:
    await check.create("a")
    await check.kv.close()
    await check.kv.close()
    for attempt in (check.everything(), check.kv.revision(), check.create("b")):
        await refusal(Unavailable, attempt, "a closed store answered")


async def everything_outlives_the_process(check: Scenario) -> None:
    """Values, revisions, versions, deletions, history and identity are the same when opened again."""
    start = await check.kv.revision() + 1
    created = await check.create("a", b"1")
    updated = await check.update("a", b"2", expect=created)
    gone = await check.create("b")
    await check.remove("b", expect=gone)
    items, status = (await check.everything()).items, await check.kv.status()
    async with check.kv.watch(check.prefix, start, prev=True) as watch:
        history = await check.collect(watch, 4)
    kv = await check.reopened()
    assert (await check.everything()).items == items
    assert await kv.revision() >= status.revision
    assert (await kv.status()).cluster_id == status.cluster_id
    async with kv.watch(check.prefix, start, prev=True) as watch:
        assert await check.collect(watch, 4) == history
    assert await check.update("a", b"3", expect=updated) > status.revision


async def the_floor_outlives_the_process(check: Scenario) -> None:
    created = await check.create("a", b"1")
    updated = await check.update("a", b"2", expect=created)
    deleted = await check.remove("a", expect=updated)
    await check.kv.compact(deleted)
    kv = await check.reopened()
    assert await kv.revision() >= deleted, "a store compacted to empty forgot its revision"
    await refusal(Compacted, check.everything(revision=created), "a compacted revision came back on opening again")
    assert await check.create("a") > deleted


async def leases_outlive_the_process(check: Scenario) -> None:
    lease = await check.kv.grant(2)
    created = await check.create("a", lease=lease)
    kv = await check.reopened()
    async with kv.watch(check.prefix, created + 1) as watch:
        events = await check.collect(watch, 1)
    assert [(event.key, event.kv) for event in events] == [(check.key("a"), None)]


CHECKS = (
    compaction_forgets_the_past_and_keeps_what_lives,
    compaction_is_repeatable,
    compaction_of_the_future_is_refused,
    a_watch_from_a_compacted_revision_says_so,
    compaction_does_not_disturb_a_watch_that_keeps_up,
    an_expired_lease_deletes_its_keys,
    a_key_put_again_without_the_lease_outlives_it,
    leases_last_as_long_as_asked,
    an_unknown_lease_is_refused,
    a_closed_store_refuses,
)

DURABLE_CHECKS = (
    everything_outlives_the_process,
    the_floor_outlives_the_process,
    leases_outlive_the_process,
)
