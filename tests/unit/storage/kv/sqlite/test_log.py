"""The SQLite log: pruning, space, large reads, and what a full disk does."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from blockbuster import blockbuster_ctx

from controlplane.base.clock import SystemClock
from controlplane.storage.errors import Compacted, Unavailable
from controlplane.storage.kv.api import ABSENT, KV, VALUE_LIMIT_BYTES, prefix_end
from controlplane.storage.kv.backends import open_kv
from controlplane.storage.kv.embedded.engine import EmbeddedKV
from controlplane.storage.kv.sqlite.opening import open_log
from controlplane.storage.maintenance import check
from tests.aio import run


async def churn(kv: KV, key: bytes, writes: int, size: int = 10) -> int:
    """Rewrite one key; its last revision."""
    revision = ABSENT
    for _ in range(writes):
        revision = (await kv.put(key, bytes(size), expect=revision)).revision
    return revision


async def rows(kv: KV, path: Path) -> int:
    """Rows of the log once pruning has reached the floor. Each look follows a commit, so the writer gets on."""
    pruned, compacted, count = 0, 1, 0
    while pruned < compacted:
        await kv.grant(600)
        with closing(sqlite3.connect(path)) as db:
            pruned, compacted = db.execute("SELECT pruned, compacted FROM meta").fetchone()
            (count,) = db.execute("SELECT count(*) FROM log").fetchone()
    return count


def test_compaction_removes_rows_in_batches_while_writes_go_on(tmp_path: Path) -> None:
    async def scenario() -> None:
        path = tmp_path / "store.db"
        kv = await open_kv(f"sqlite:{path}")
        revision = await churn(kv, b"/a", 1_000)
        gone = await churn(kv, b"/b", 300)
        await kv.delete(b"/b", expect=gone)
        await kv.compact(await kv.revision())
        others = await asyncio.gather(*(kv.put(b"/c%d" % n, b"", expect=ABSENT) for n in range(100)))
        assert all(result.succeeded for result in others)
        assert await rows(kv, path) == 101
        assert (await kv.range(b"/a", b"")).items[0].mod_revision == revision
        await kv.close()
        assert check(path).problems == ()

    run(scenario())


def test_a_store_pruned_to_empty_keeps_its_revision(tmp_path: Path) -> None:
    async def scenario() -> None:
        path = tmp_path / "store.db"
        kv = await open_kv(f"sqlite:{path}")
        deleted = await kv.delete(b"/a", expect=await churn(kv, b"/a", 5))
        await kv.compact(deleted.revision)
        assert await rows(kv, path) == 0
        await kv.close()
        kv = await open_kv(f"sqlite:{path}")
        assert await kv.revision() == deleted.revision
        assert (await kv.status()).compacted_revision == deleted.revision
        assert (await kv.put(b"/a", b"", expect=ABSENT)).revision == deleted.revision + 1
        await kv.close()
        assert check(path).problems == ()

    run(scenario())


def test_pruning_that_was_cut_off_goes_on_at_the_next_start(tmp_path: Path) -> None:
    async def scenario() -> None:
        path = tmp_path / "store.db"
        kv = await open_kv(f"sqlite:{path}")
        revision = await churn(kv, b"/a", 1_000)
        await kv.close()
        with closing(sqlite3.connect(path)) as db, db:
            db.execute("UPDATE meta SET compacted = ?", (revision,))
        kv = await open_kv(f"sqlite:{path}")
        assert await rows(kv, path) == 1
        with pytest.raises(Compacted):
            await kv.range(b"/a", b"", revision=revision - 1)
        await kv.close()

    run(scenario())


def test_a_group_of_any_size_is_whole(tmp_path: Path) -> None:
    async def scenario() -> None:
        kv = await open_kv(f"sqlite:{tmp_path}/store.db")
        written = 0
        for size in (1, 2, 8, 9, 32, 33, 128, 129, 1_000):
            await asyncio.gather(*(kv.put(b"/%04d/%04d" % (size, n), b"v", expect=ABSENT) for n in range(size)))
            written += size
        assert (await kv.range(b"/", prefix_end(b"/"), count_only=True)).total == written
        assert len((await kv.range(b"/", prefix_end(b"/"))).items) == written
        await kv.close()

    run(scenario())
    assert check(tmp_path / "store.db").problems == ()


def test_a_group_with_leases_is_whole(tmp_path: Path) -> None:
    async def scenario() -> None:
        kv = await open_kv(f"sqlite:{tmp_path}/store.db")
        puts = [kv.put(b"/%d" % n, b"v", expect=ABSENT) for n in range(10)]
        leases = await asyncio.gather(*(kv.grant(60) for _ in range(5)), *puts)
        assert len(set(leases)) == len(leases)
        await kv.close()

    run(scenario())
    assert check(tmp_path / "store.db").problems == ()


def test_many_and_large_values_are_read_in_pages(tmp_path: Path) -> None:
    """More than one page by count and by bytes, through ranges and through a watch from the past."""

    async def scenario() -> None:
        kv = await open_kv(f"sqlite:{tmp_path}/store.db")
        await asyncio.gather(*(kv.put(b"/s/%05d" % n, b"v", expect=ABSENT) for n in range(2_500)))
        for n in range(6):
            await kv.put(b"/l/%d" % n, bytes(VALUE_LIMIT_BYTES), expect=ABSENT)
        everything = await kv.range(b"/", prefix_end(b"/"))
        assert [len(kv.value) for kv in everything.items] == [VALUE_LIMIT_BYTES] * 6 + [1] * 2_500
        seen: list[int] = []
        batches = 0
        async with kv.watch(b"/", 2) as watch:
            while len(seen) < 2_506:
                batch = await anext(watch)
                seen += [event.mod_revision for event in batch.events]
                batches += 1
        assert seen == list(range(2, 2_508))
        assert batches >= 4
        await kv.close()

    run(scenario())


def test_reading_the_past_while_it_is_compacted_is_right_or_refused(tmp_path: Path) -> None:
    async def scenario() -> None:
        kv = await open_kv(f"sqlite:{tmp_path}/store.db")
        for n in range(50):
            await kv.put(b"/%02d" % n, b"old", expect=ABSENT)
        then = await kv.revision()
        for kv_ in (await kv.range(b"/", prefix_end(b"/"))).items:
            await kv.put(kv_.key, b"new", expect=kv_.mod_revision)
        reads = [asyncio.ensure_future(kv.range(b"/", prefix_end(b"/"), revision=then)) for _ in range(10)]
        newest = [asyncio.ensure_future(kv.range(b"/", prefix_end(b"/"))) for _ in range(10)]
        await kv.compact(await kv.revision())
        for outcome in await asyncio.gather(*reads, return_exceptions=True):
            if not isinstance(outcome, BaseException):
                assert [item.value for item in outcome.items] == [b"old"] * 50
            else:
                assert isinstance(outcome, Compacted)
        for result in await asyncio.gather(*newest):
            assert [item.value for item in result.items] == [b"new"] * 50
        await kv.close()

    run(scenario())


def test_a_full_store_refuses_writes_keeps_reading_and_recovers(tmp_path: Path) -> None:
    async def scenario() -> None:
        log = await open_log(str(tmp_path / "store.db"), pages_max=150)
        kv = EmbeddedKV(log, await log.load(), SystemClock(), history_seconds=0)
        stored: dict[bytes, int] = {}
        refusal: Unavailable | None = None
        while refusal is None:
            key = b"/%04d" % len(stored)
            try:
                stored[key] = (await kv.put(key, bytes(20_000), expect=ABSENT)).revision
            except Unavailable as error:
                refusal = error
        assert refusal.outcome_known
        assert "store.db" in str(refusal)
        assert "free space" in str(refusal)
        revision = await kv.revision()
        attempts = (kv.put(b"/x%d" % n, bytes(20_000), expect=ABSENT) for n in range(5))
        outcomes = await asyncio.gather(*attempts, return_exceptions=True)
        assert all(isinstance(outcome, Unavailable) and outcome.outcome_known for outcome in outcomes)
        items = (await kv.range(b"/", prefix_end(b"/"))).items
        assert {item.key: item.mod_revision for item in items} == stored, "what was acknowledged, and nothing else"
        assert await kv.revision() == revision
        victims = list(stored.items())[:10]
        await kv.close()
        # Space comes back: the bound is lifted, room is made under it, and it goes on.
        log = await open_log(str(tmp_path / "store.db"), pages_max=160)
        kv = EmbeddedKV(log, await log.load(), SystemClock(), history_seconds=0)
        for key, at in victims:
            assert (await kv.delete(key, expect=at)).succeeded
        await kv.compact(await kv.revision())
        await rows(kv, tmp_path / "store.db")
        assert (await kv.put(b"/again", bytes(20_000), expect=ABSENT)).succeeded
        await kv.close()
        assert check(tmp_path / "store.db").problems == ()

    run(scenario())


def test_nothing_blocks_the_loop(tmp_path: Path) -> None:
    async def scenario() -> None:
        with blockbuster_ctx():
            kv = await open_kv(f"sqlite:{tmp_path}/store.db")
            await asyncio.gather(*(kv.put(b"/%03d" % n, b"v", expect=ABSENT) for n in range(300)))
            refused = await kv.put(b"/001", b"v", expect=ABSENT)
            assert refused.current is not None
            await kv.delete(b"/001", expect=refused.current.mod_revision)
            assert (await kv.range(b"/", prefix_end(b"/"), limit=10)).total == 299
            assert (await kv.range(b"/", prefix_end(b"/"), revision=100)).total == 99
            await kv.compact(50)
            async with kv.watch(b"/", 200, prev=True) as watch:
                await anext(watch)
            await kv.grant(60)
            await kv.status()
            await kv.close()

    run(scenario())


def test_a_reader_recovers_from_a_failed_connection(tmp_path: Path) -> None:
    async def scenario() -> None:
        log = await open_log(str(tmp_path / "store.db"))
        kv = EmbeddedKV(log, await log.load(), SystemClock(), history_seconds=0)
        await kv.put(b"/a", b"v", expect=ABSENT)
        assert (await kv.range(b"/a", b"")).total == 1
        connection = log._points._connection
        assert connection is not None
        await log._point_thread.call(connection.close)
        with pytest.raises(Unavailable):
            await kv.range(b"/a", b"")
        assert (await kv.range(b"/a", b"")).total == 1
        await kv.close()

    run(scenario())
