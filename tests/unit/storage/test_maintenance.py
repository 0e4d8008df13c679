"""Checking, backing up and restoring a store file."""

from __future__ import annotations

import asyncio
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from controlplane.storage.errors import Compacted, StoreLocked, StoreUnusable
from controlplane.storage.kv.api import ABSENT, KV, prefix_end
from controlplane.storage.kv.backends import open_kv
from controlplane.storage.maintenance import RESTORE_REVISION_STEP, backup, check, restore
from tests.aio import run


async def fill(kv: KV, keys: int = 20) -> None:
    """Creates, updates, deletions, a lease and a compaction half-way."""
    lease = await kv.grant(600)
    for n in range(keys):
        created = await kv.put(b"/r/k%03d" % n, b"1", expect=ABSENT, lease=lease if n % 5 == 0 else 0)
        if n % 2:
            created = await kv.put(b"/r/k%03d" % n, b"2", expect=created.revision)
        if n % 4 == 1:
            await kv.delete(b"/r/k%03d" % n, expect=created.revision)
            await kv.put(b"/r/k%03d" % n, b"3", expect=ABSENT)
        if n == keys // 2:
            await kv.compact(await kv.revision() - 3)


async def closed(path: Path) -> int:
    """A filled store at the path, closed; its revision."""
    kv = await open_kv(f"sqlite:{path}")
    await fill(kv)
    revision = await kv.revision()
    await kv.close()
    return revision


def alter(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        for statement in statements:
            db.execute(statement)


def test_a_sound_store_is_clean(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    revision = run(closed(path))
    report = check(path)
    assert report.problems == ()
    assert report.clean
    assert (report.revision, report.live_keys) == (revision, 20)
    assert report.log_rows >= 20
    assert report.compacted > 0


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        pytest.param(
            "DELETE FROM log WHERE revision = (SELECT max(revision) - 1 FROM log)", "missing", id="lost write"
        ),
        pytest.param("UPDATE log SET version = 7 WHERE revision = (SELECT max(revision) FROM log)", "", id="version"),
        pytest.param(
            "UPDATE log SET value = NULL WHERE revision = (SELECT max(revision) FROM log)", "itself", id="value"
        ),
        pytest.param("UPDATE log SET prev_revision = 3 WHERE version > 1", "follow", id="chain"),
        pytest.param("DELETE FROM lease", "lease", id="lease"),
        pytest.param("UPDATE meta SET compacted = 10000000", "own row", id="floor"),
        pytest.param("UPDATE meta SET pruned = compacted + 1", "own row", id="pruned"),
        pytest.param("DELETE FROM meta", "own row", id="meta"),
    ],
)
def test_check_names_what_is_wrong(tmp_path: Path, statement: str, problem: str) -> None:
    path = tmp_path / "store.db"
    run(closed(path))
    alter(path, statement)
    report = check(path)
    assert not report.clean
    assert any(problem in line for line in report.problems), report.problems


def test_check_names_a_damaged_page(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    run(closed(path))
    with path.open("r+b") as file:
        file.seek(8192)
        file.write(b"\xff" * 4096)
    try:
        problems = check(path).problems
    except StoreUnusable as error:
        problems = (str(error),)
    assert problems
    assert "malformed" in problems[0] or "file:" in problems[0], problems


def test_check_of_nothing_says_so(tmp_path: Path) -> None:
    with pytest.raises(StoreUnusable, match="does not exist"):
        check(tmp_path / "none.db")


def test_backup_beside_a_running_server(tmp_path: Path) -> None:
    async def scenario() -> None:
        kv = await open_kv(f"sqlite:{tmp_path}/store.db")
        await fill(kv)
        before = await kv.revision()
        writing = asyncio.ensure_future(write_on(kv))
        copied = await asyncio.to_thread(backup, tmp_path / "store.db", tmp_path / "copy.db")
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
        report = check(tmp_path / "copy.db")
        assert report.clean
        assert before <= copied == report.revision <= await kv.revision()
        await kv.close()

    async def write_on(kv: KV) -> None:
        for n in range(10_000):
            await kv.put(b"/load/%06d" % n, bytes(500), expect=ABSENT)

    run(scenario())
    assert stat.S_IMODE((tmp_path / "copy.db").stat().st_mode) == 0o600
    assert sorted(file.name for file in tmp_path.iterdir()) == ["copy.db", "store.db", "store.db.lock"]


def test_backup_overwrites_nothing(tmp_path: Path) -> None:
    run(closed(tmp_path / "store.db"))
    (tmp_path / "copy.db").write_text("mine")
    with pytest.raises(StoreUnusable, match="exists already"):
        backup(tmp_path / "store.db", tmp_path / "copy.db")
    assert (tmp_path / "copy.db").read_text() == "mine"


def test_backup_into_a_missing_directory_says_so(tmp_path: Path) -> None:
    run(closed(tmp_path / "store.db"))
    with pytest.raises(StoreUnusable, match="No such file"):
        backup(tmp_path / "store.db", tmp_path / "none" / "copy.db")


def test_a_restored_store_makes_clients_list_anew(tmp_path: Path) -> None:
    revision = run(closed(tmp_path / "store.db"))
    backup(tmp_path / "store.db", tmp_path / "copy.db")
    restored = restore(tmp_path / "copy.db", tmp_path / "new.db")
    assert restored == revision + RESTORE_REVISION_STEP

    async def scenario() -> None:
        old, new = await open_kv(f"sqlite:{tmp_path}/store.db"), await open_kv(f"sqlite:{tmp_path}/new.db")
        assert await new.revision() == restored
        assert (await new.status()).cluster_id != (await old.status()).cluster_id
        everything = (b"/r/", prefix_end(b"/r/"))
        assert (await new.range(*everything)).items == (await old.range(*everything)).items
        for known in (revision, revision + 1):
            with pytest.raises(Compacted):
                async with new.watch(b"/r/", known) as watch:
                    await anext(watch)
            with pytest.raises(Compacted):
                await new.range(*everything, revision=known)
        async with new.watch(b"/r/", restored + 1) as watch:
            written = await new.put(b"/r/new", b"1", expect=ABSENT)
            assert written.revision == restored + 1
            assert [event.key for event in (await anext(watch)).events] == [b"/r/new"]
        await old.close()
        await new.close()

    run(scenario())
    assert check(tmp_path / "new.db").problems == ()


def test_restore_overwrites_only_when_told(tmp_path: Path) -> None:
    path, copy = tmp_path / "store.db", tmp_path / "copy.db"
    revision = run(closed(path))
    backup(path, copy)
    with pytest.raises(StoreUnusable, match="exists already"):
        restore(copy, path)
    assert check(path).revision == revision
    restore(copy, path, overwrite=True)
    assert check(path).revision == revision + RESTORE_REVISION_STEP
    assert not [file for file in tmp_path.iterdir() if "partial" in file.name or file.name.endswith("-wal")]


def test_restore_under_a_running_server_is_refused(tmp_path: Path) -> None:
    async def scenario() -> None:
        kv = await open_kv(f"sqlite:{tmp_path}/store.db")
        await fill(kv)
        backup(tmp_path / "store.db", tmp_path / "copy.db")
        with pytest.raises(StoreLocked, match="held by process"):
            restore(tmp_path / "copy.db", tmp_path / "store.db", overwrite=True)
        await kv.close()

    run(scenario())


def test_a_damaged_backup_is_not_restored(tmp_path: Path) -> None:
    run(closed(tmp_path / "store.db"))
    backup(tmp_path / "store.db", tmp_path / "copy.db")
    alter(tmp_path / "copy.db", "DELETE FROM log WHERE revision = (SELECT max(revision) - 1 FROM log)")
    with pytest.raises(StoreUnusable, match="damaged"):
        restore(tmp_path / "copy.db", tmp_path / "new.db")
    assert not (tmp_path / "new.db").exists()
