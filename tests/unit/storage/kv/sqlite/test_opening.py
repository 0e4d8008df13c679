"""Opening a store file: what is created, and what is said when it cannot be."""

from __future__ import annotations

import os
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from controlplane.storage.errors import StoreLocked, StoreUnusable
from controlplane.storage.kv.api import ABSENT, KV
from controlplane.storage.kv.backends import open_kv
from controlplane.storage.kv.sqlite import schema
from tests.aio import run


async def opened(path: Path) -> None:
    """Open, write one key, close."""
    kv = await open_kv(f"sqlite:{path}")
    await kv.put(b"/k", b"v", expect=ABSENT)
    await kv.close()


def refused(path: Path) -> str:
    """The message of a store that cannot be opened."""
    with pytest.raises(StoreUnusable) as caught:
        run(opened(path))
    assert str(path) in str(caught.value), "the message names the file"
    return str(caught.value)


def database(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        for statement in statements:
            db.execute(statement)


def test_a_new_store_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "store.db"
    run(opened(path))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.with_name("store.db.lock").stat().st_mode) == 0o600


def test_a_relative_path_is_meant_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run(opened(Path("store.db")))
    assert (tmp_path / "store.db").is_file()


def test_a_path_may_hold_any_character(tmp_path: Path) -> None:
    path = tmp_path / "a b%20?c#d&mode=ro.db"
    run(opened(path))
    assert path.is_file()


def test_no_path_is_refused() -> None:
    with pytest.raises(StoreUnusable, match="sqlite:PATH"):
        run(open_kv("sqlite:"))


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    assert "does not exist; create it" in refused(tmp_path / "no" / "such" / "store.db")
    assert not (tmp_path / "no").exists()


def test_a_directory_is_not_a_store(tmp_path: Path) -> None:
    assert "is a directory" in refused(tmp_path)


def test_a_file_in_the_way_of_the_directory_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "is not a directory" in refused(tmp_path / "file" / "store.db")


@contextmanager
def without_privileges() -> Iterator[None]:
    """Be somebody who owns nothing here, if this is root."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)


@pytest.mark.parametrize("target", ["directory", "file"])
def test_what_may_not_be_written_is_named(target: str) -> None:
    with tempfile.TemporaryDirectory() as home:
        path = Path(home) / "store.db"
        if target == "file":
            path.touch(mode=0o444)
            path.with_name("store.db.lock").touch()
            path.with_name("store.db.lock").chmod(0o666)
        Path(home).chmod(0o555)
        with without_privileges():
            message = refused(path)
        Path(home).chmod(0o700)
    assert "write permission" in message


def test_what_is_not_a_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("my notes\n" * 500)
    assert "not a SQLite database" in refused(path)
    assert path.read_text() == "my notes\n" * 500


def test_another_programs_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    database(path, "CREATE TABLE mine (id INTEGER)")
    before = path.read_bytes()
    assert "another program" in refused(path)
    assert path.read_bytes() == before


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    run(opened(path))
    database(path, f"PRAGMA user_version = {schema.SCHEMA_VERSION + 1}")
    assert "newer program" in refused(path)


@pytest.mark.parametrize("page", [0, 1, 2, 3], ids=["header", "log", "index", "lease"])
def test_a_damaged_file_is_named_with_the_remedy(tmp_path: Path, page: int) -> None:
    path = tmp_path / "store.db"
    run(opened(path))
    with path.open("r+b") as file:
        file.seek(page * schema.PAGE_BYTES + (100 if page == 0 else 0))
        file.write(b"\xa5" * 2_000)
    assert "damaged" in refused(path)


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM meta",
        "UPDATE meta SET revision = 'abc'",
        "UPDATE meta SET compacted = 10000000",
        "UPDATE meta SET compacted = 'abc'",
        "UPDATE meta SET compacted = -1, pruned = -1",
        "UPDATE meta SET pruned = compacted + 1",
        "UPDATE meta SET cluster_id = ''",
    ],
)
def test_a_store_whose_own_row_is_wrong_is_damaged(tmp_path: Path, change: str) -> None:
    path = tmp_path / "store.db"
    run(opened(path))
    database(path, change)
    assert "damaged: its own row" in refused(path)


def test_a_file_cut_short_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    run(opened(path))
    with path.open("r+b") as file:
        file.truncate(schema.PAGE_BYTES * 2)
    assert "damaged" in refused(path)


def test_a_creation_cut_off_is_completed(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    database(path, f"PRAGMA page_size = {schema.PAGE_BYTES}", "PRAGMA journal_mode = WAL")
    assert path.stat().st_size > 0
    run(opened(path))


def test_a_second_server_is_refused_by_name(tmp_path: Path) -> None:
    async def scenario() -> None:
        kv = await open_kv(f"sqlite:{tmp_path}/store.db")
        (tmp_path / "link.db").symlink_to(tmp_path / "store.db")
        for name in ("store.db", "link.db"):
            with pytest.raises(StoreLocked, match=rf"held by process {os.getpid()}.*etcd"):
                await open_kv(f"sqlite:{tmp_path}/{name}")
        await kv.put(b"/k", b"v", expect=ABSENT)
        await kv.close()
        again: KV = await open_kv(f"sqlite:{tmp_path}/store.db")
        await again.close()

    run(scenario())


def test_a_store_that_could_not_be_opened_is_not_left_locked(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.write_text("not a database" * 1_000)
    refused(path)
    path.unlink()
    run(opened(path))
