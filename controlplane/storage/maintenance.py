"""Looking after a store file: check it, back it up beside a running server, restore it.

Plain blocking functions for the command line (``sample-controlplane store …``). They know the file, not the server.
"""

from __future__ import annotations

import os
import sqlite3
import uuid
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

from controlplane.base.values import dataclass
from controlplane.storage.errors import StoreUnusable
from controlplane.storage.kv.sqlite.errors import refused_open
from controlplane.storage.kv.sqlite.invariants import INVARIANTS, NEWEST
from controlplane.storage.kv.sqlite.lock import StoreLock
from controlplane.storage.kv.sqlite.opening import recognise, sync_directory
from controlplane.storage.kv.sqlite.writer import connect

__all__ = ["RESTORE_REVISION_STEP", "CheckReport", "backup", "check", "restore", "stored_heads"]

RESTORE_REVISION_STEP = 1_000_000_000
"""How far a restore raises the revision: above all that clients can have seen since the backup was made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport:
    """What ``check`` found. ``problems``: one line each, empty for a sound store."""

    path: Path
    revision: int
    compacted: int
    live_keys: int
    log_rows: int
    size_bytes: int
    problems: tuple[str, ...]

    @property
    def clean(self) -> bool:
        return not self.problems


def check(path: Path | str) -> CheckReport:
    """Read a store whole and test everything that must hold in it. A server may run on it meanwhile.

    Raises:
        StoreUnusable: there is no store at the path, or it cannot be read at all.
    """
    path = _existing(path)
    try:
        with closing(connect(path)) as db:
            db.execute("PRAGMA query_only = 1")
            db.execute("BEGIN")
            problems = [f"file: {line}" for (line,) in db.execute("PRAGMA integrity_check") if line != "ok"]
            for what, statement in INVARIANTS:
                problems += [f"{what}: {subject}" for (subject,) in db.execute(statement)]
            revision, compacted, rows, live = db.execute(
                "SELECT max(coalesce((SELECT max(revision) FROM log), 0), coalesce((SELECT revision FROM meta), 0)),"
                " coalesce((SELECT compacted FROM meta), 0),"
                " (SELECT count(*) FROM log),"
                " (SELECT count(*) FROM (SELECT max(revision), version FROM log GROUP BY key HAVING version > 0))"
            ).fetchone()
    except sqlite3.Error as error:
        raise refused_open(path, error) from error
    return CheckReport(
        path=path,
        revision=revision,
        compacted=compacted,
        live_keys=live,
        log_rows=rows,
        size_bytes=path.stat().st_size,
        problems=tuple(problems),
    )


def stored_heads(path: Path | str, size_bytes: int) -> list[tuple[bytes, bytes]]:
    """Every live key, ascending, with how its value begins, all as of one moment. A server may run on it meanwhile.

    Raises:
        StoreUnusable: there is no store at the path, or it cannot be read.
    """
    path = _existing(path)
    try:
        with closing(connect(path)) as db:
            db.execute("PRAGMA query_only = 1")
            return db.execute(
                "SELECT log.key, substr(log.value, 1, ?) FROM log JOIN"
                " (SELECT max(revision) AS revision, version FROM log GROUP BY key HAVING version > 0) AS newest"
                " ON log.revision = newest.revision ORDER BY log.key",
                (size_bytes,),
            ).fetchall()
    except sqlite3.Error as error:
        raise refused_open(path, error) from error


def backup(path: Path | str, destination: Path | str) -> int:
    """Copy a store, as of one moment, to a file that does not exist yet; a server may run on it meanwhile.

    The copy appears under its name only when it is whole and synced; it is readable by its owner alone.

    Returns:
        The revision that the copy holds.

    Raises:
        StoreUnusable: no store at the path, a file at the destination, or one of them cannot be read or written.
    """
    path, destination = _existing(path), Path(destination).absolute()
    if destination.exists():
        raise StoreUnusable(f"backup {destination} exists already; name a new file")
    revision = 0

    def note(db: sqlite3.Connection) -> None:
        nonlocal revision
        (revision,) = db.execute(f"SELECT {NEWEST}").fetchone()  # constants only

    _copy(path, destination, note)
    return revision


def restore(backup: Path | str, path: Path | str, *, overwrite: bool = False) -> int:
    """Make a store from a backup, at a path where no server runs.

    The restored store goes on at a revision ``RESTORE_REVISION_STEP`` higher, with all before it compacted and a new
    cluster id: whoever knew the store before lists it anew, and no revision is ever used twice.

    Returns:
        The store's revision.

    Raises:
        StoreUnusable: no backup there, a store at the path (unless ``overwrite``), or the backup is damaged.
        StoreLocked: a server holds the path.
    """
    source, path = _existing(backup), Path(path).absolute().resolve()
    if not path.parent.is_dir():
        raise StoreUnusable(f"store {path}: directory {path.parent} does not exist; create it")
    report = check(source)
    if not report.clean:
        raise StoreUnusable(f"backup {source} is damaged: {report.problems[0]}; use another backup")
    lock = StoreLock.acquire(path)
    try:
        if path.exists() and not overwrite:
            raise StoreUnusable(f"store {path} exists already; say so to overwrite it")
        revision = report.revision + RESTORE_REVISION_STEP

        def move_on(db: sqlite3.Connection) -> None:
            db.execute(
                "UPDATE meta SET cluster_id = ?, revision = ?, compacted = ?", (uuid.uuid4().hex, revision, revision)
            )

        _copy(source, path, move_on)
    finally:
        lock.release()
    return revision


def _existing(path: Path | str) -> Path:
    path = Path(path).absolute()
    if not path.is_file():
        raise StoreUnusable(f"store {path} {'is no file' if path.exists() else 'does not exist'}")
    path = path.resolve()
    if not recognise(path):
        raise StoreUnusable(f"store {path} is empty")
    return path


def _copy(source: Path, destination: Path, change: Callable[[sqlite3.Connection], None]) -> None:
    """Copy in one read transaction (a server goes on writing meanwhile), apply ``change``, sync, put under its name."""
    partial = destination.with_name(f".{destination.name}.{os.getpid()}.partial")
    try:
        os.close(os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise StoreUnusable(f"cannot write beside {destination}: {error.strerror}; name another place") from error
    try:
        with closing(connect(source)) as read, closing(connect(partial)) as written:
            written.execute("PRAGMA synchronous = OFF")  # synced whole, below
            read.backup(written)
            change(written)
        _sync(partial)
        _settle(destination)
        partial.replace(destination)
        sync_directory(destination.parent)
    except sqlite3.Error as error:
        raise refused_open(source, error) from error
    except OSError as error:
        raise StoreUnusable(
            f"cannot write {destination}: {error.strerror}; free space or name another place"
        ) from error
    finally:
        for suffix in ("", "-wal", "-shm"):
            partial.with_name(partial.name + suffix).unlink(missing_ok=True)


def _settle(destination: Path) -> None:
    """Bring a store that is about to be replaced out of its write-ahead log, which would outlive it otherwise and be
    taken for the new store's. What cannot be brought in (the old store is damaged) goes with it."""
    if destination.exists():
        with suppress(sqlite3.Error), closing(connect(destination)) as old:
            old.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    for suffix in ("-wal", "-shm"):
        destination.with_name(destination.name + suffix).unlink(missing_ok=True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
