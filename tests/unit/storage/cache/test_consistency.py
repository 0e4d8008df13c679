"""Consistent reads: the shared question, progress and marker, the fallback, and staleness."""

from __future__ import annotations

import asyncio

import pytest

from controlplane.apimachinery.identity import Key
from controlplane.storage.api import ANY, CONSISTENT, Freshness
from controlplane.storage.errors import FutureRevision, Stale
from controlplane.storage.kv.backends import open_kv
from controlplane.testing.clock import FakeClock
from tests.aio import run
from tests.faulty_kv import FaultyKV
from tests.mirrors import EVERYTHING, configmap, opened, set_data

A, B = Key("default", "a"), Key("default", "b")
MARKER = b"/registry/controlplane/progress"


def test_the_embedded_store_is_asked_nothing() -> None:
    async def main() -> None:
        kv = FaultyKV(await open_kv("memory:"), remote=False)
        async with opened(kv=kv) as (_, storage):
            made = await storage.create(A, configmap("a"))
            got = await storage.get(A, CONSISTENT)
            assert got.mod_revision == made.mod_revision
            assert kv.revisions_asked == 0
            assert kv.ranges == 1  # the load
        await kv.close()

    run(main())


def test_waiters_share_a_question() -> None:
    async def main() -> None:
        kv = FaultyKV(await open_kv("memory:"))
        async with opened(kv=kv) as (_, storage):
            await storage.create(A, configmap("a"))
            await storage.get(A, CONSISTENT)
            before = kv.revisions_asked
            got = await asyncio.gather(*(storage.get(A, CONSISTENT) for _ in range(50)))
            assert len(got) == 50
            assert kv.revisions_asked == before + 1
        await kv.close()

    run(main())


def test_who_comes_after_the_question_was_sent_waits_for_the_next() -> None:
    async def main() -> None:
        kv = FaultyKV(await open_kv("memory:"))
        async with opened(kv=kv) as (_, storage):
            await storage.create(A, configmap("a"))
            kv.answer.clear()
            first = asyncio.ensure_future(storage.get(A, CONSISTENT))
            await asyncio.sleep(0.01)
            second = asyncio.ensure_future(storage.get(A, CONSISTENT))
            await asyncio.sleep(0.01)
            assert kv.revisions_asked == 1
            kv.answer.set()
            await asyncio.gather(first, second)
            assert kv.revisions_asked == 2
        await kv.close()

    run(main())


def test_a_write_by_another_server_is_seen_by_the_next_read() -> None:
    async def main() -> None:
        kv = FaultyKV(await open_kv("memory:"))
        async with opened(kv=kv) as (_, ours), opened(kv=kv.kv) as (_, theirs):
            await theirs.create(A, configmap("a"))
            for number in range(100):
                written = await set_data(theirs, A, n=str(number))
                assert (await ours.get(A, CONSISTENT)).mod_revision == written.mod_revision
                listed = await ours.list(None, EVERYTHING, CONSISTENT, version="v1")
                assert listed.revision >= written.mod_revision
                assert listed.entries[0].mod_revision == written.mod_revision
        await kv.close()

    run(main())


@pytest.mark.parametrize("trustworthy", [pytest.param(True, id="progress"), pytest.param(False, id="marker")])
def test_revisions_of_foreign_keys_do_not_hold_up_reads(trustworthy: bool) -> None:
    """The store's revision was raised by a key outside the mirror's prefix, so that no event will come."""

    async def main() -> None:
        kv = FaultyKV(await open_kv("memory:"), trustworthy=trustworthy)
        async with opened(kv=kv) as (mirror, storage):
            await storage.create(A, configmap("a"))
            outside = await kv.kv.put(b"/elsewhere", b"x", expect=0)
            got = await asyncio.gather(*(storage.get(A, CONSISTENT) for _ in range(20)))
            assert len(got) == 20
            assert mirror.revision >= outside.revision
            markers = kv.puts.count(MARKER)
            assert (markers, kv.progress_asked) == ((0, 1) if trustworthy else (1, 0))
            await kv.kv.put(b"/elsewhere", b"y", expect=outside.revision)
            await storage.get(A, CONSISTENT)
            assert kv.puts.count(MARKER) == 2 * markers
        await kv.close()

    run(main())


def test_two_servers_write_one_marker_in_turn() -> None:
    async def main() -> None:
        kv = FaultyKV(await open_kv("memory:"), trustworthy=False)
        async with opened(kv=kv) as (one, _), opened(kv=kv) as (two, _):
            revisions = [await server.consistency.mark() for server in (one, two, two, one)]
            assert revisions == sorted(set(revisions))
        await kv.close()

    run(main())


def test_after_three_seconds_the_store_answers() -> None:
    async def main() -> None:
        clock, kv = FakeClock(), FaultyKV(await open_kv("memory:"))
        async with opened(kv=kv, clock=clock) as (_, storage):
            await storage.create(A, configmap("a"))
            await storage.get(A, CONSISTENT)
            kv.flow.clear()
            changed = await set_data(storage, A, k="new")
            made = await storage.create(B, configmap("b"))
            got = asyncio.ensure_future(storage.get(A, CONSISTENT))
            listed = asyncio.ensure_future(storage.list(None, EVERYTHING, CONSISTENT, version="v1", limit=1))
            await clock.advance(2.5)
            assert not got.done()
            assert not listed.done()
            await clock.advance(0.5)
            assert (await got).mod_revision == changed.mod_revision
            page = await listed
            assert [storage.key_of(entry) for entry in page.entries] == [A]
            assert (page.revision, page.remaining) == (made.mod_revision, 1)
        await kv.close()

    run(main())


def test_without_a_stream_a_consistent_read_is_stale_and_any_read_serves() -> None:
    async def main() -> None:
        clock, kv = FakeClock(), FaultyKV(await open_kv("memory:"))
        async with opened(kv=kv, clock=clock) as (mirror, storage):
            made = await storage.create(A, configmap("a"))
            await storage.get(A, CONSISTENT)
            kv.go(away=True)
            await clock.advance(0.1)
            assert mirror.not_ready_reason
            assert "cut the store off" in mirror.not_ready_reason
            got = asyncio.ensure_future(storage.get(A, CONSISTENT))
            listed = asyncio.ensure_future(storage.list(None, EVERYTHING, CONSISTENT, version="v1"))
            await clock.advance(3)
            for read in (got, listed):
                with pytest.raises(Stale):
                    await read
            assert (await storage.get(A, ANY)).mod_revision == made.mod_revision
            assert len((await storage.list(None, EVERYTHING, ANY, version="v1")).entries) == 1
            kv.go(away=False)
            await clock.advance(2)
            assert mirror.not_ready_reason == ""
            again = asyncio.ensure_future(storage.get(A, CONSISTENT))
            await clock.advance(0.5)
            assert (await again).mod_revision == made.mod_revision
        await kv.close()

    run(main())


def test_a_read_not_older_than_the_future_fails_within_three_seconds_and_writes_nothing() -> None:
    async def main() -> None:
        clock, kv = FakeClock(), FaultyKV(await open_kv("memory:"), trustworthy=False)
        async with opened(kv=kv, clock=clock) as (mirror, storage):
            await storage.create(A, configmap("a"))
            future = mirror.revision + 100
            got = asyncio.ensure_future(storage.get(A, Freshness(future)))
            listed = asyncio.ensure_future(storage.list(None, EVERYTHING, Freshness(future), version="v1"))
            await clock.advance(3)
            for read in (got, listed):
                with pytest.raises(FutureRevision) as error:
                    await read
                assert (error.value.requested, error.value.current) == (future, mirror.revision)
            assert MARKER not in kv.puts
        await kv.close()

    run(main())
