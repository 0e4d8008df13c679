"""Opening ``sqlite:PATH``: creating the file, recognising it, and saying what is wrong with it."""

from __future__ import annotations

import os
import sqlite3
import uuid
from contextlib import closing
from pathlib import Path

from controlplane.storage.errors import StoreUnusable, Unavailable
from controlplane.storage.kv.backends import KVOptions
from controlplane.storage.kv.embedded.engine import EmbeddedKV
from controlplane.storage.kv.embedded.log import FIRST_REVISION
from controlplane.storage.kv.sqlite import schema
from controlplane.storage.kv.sqlite.errors import refused_open
from controlplane.storage.kv.sqlite.lock import StoreLock
from controlplane.storage.kv.sqlite.log import SqliteLog
from controlplane.storage.kv.sqlite.threads import OwnedThread
from controlplane.storage.kv.sqlite.writer import connect

__all__ = ["open_kv", "open_log", "recognise", "resolve", "sync_directory"]


async def open_kv(location: str, options: KVOptions) -> EmbeddedKV:
    """Open the store at a path, creating it if there is none. One server holds it at a time.

    Raises:
        StoreUnusable: the message names the file and the remedy. StoreLocked: it names who holds it.
    """
    log = await open_log(location)
    try:
        image = await log.load()
    except Unavailable as error:
        await log.close()
        raise StoreUnusable(str(error)) from error
    return EmbeddedKV(log, image, options.clock, history_seconds=options.history_seconds)


async def open_log(location: str, *, pages_max: int = 0) -> SqliteLog:
    """The locked, recognised log of a store, not loaded yet. ``pages_max``: see ``Writer``."""
    opener = OwnedThread("kv-opener")
    try:
        path, lock = await opener.call(lambda: _prepare(location))
    finally:
        await opener.close()
    return SqliteLog(path, lock, pages_max=pages_max)


def _prepare(location: str) -> tuple[Path, StoreLock]:
    path = resolve(location)
    lock = StoreLock.acquire(path)
    try:
        _touch(path)
        if not recognise(path):
            _create(path)
    except BaseException:
        lock.release()
        raise
    return path, lock


def resolve(location: str) -> Path:
    """The store's path with links resolved, its directory made (0700) if that alone is missing."""
    if not location:
        raise StoreUnusable("sqlite: names no file; write sqlite:PATH")
    path = Path(location).absolute()
    try:
        path = Path(os.path.realpath(path))
        if not path.parent.exists():
            path.parent.mkdir(mode=0o700)
    except OSError as error:
        if isinstance(error, FileNotFoundError) and not path.parent.parent.exists():
            raise StoreUnusable(
                f"store {path}: directory {path.parent.parent} does not exist; create it or name another file"
            ) from error
        raise StoreUnusable(
            f"store {path}: cannot create directory {path.parent}: {error.strerror}; name one that may be written"
        ) from error
    if not path.parent.is_dir():
        raise StoreUnusable(f"store {path}: {path.parent} is not a directory; name a file in one")
    if path.is_dir():
        raise StoreUnusable(f"store {path} is a directory; name a file")
    return path


def _touch(path: Path) -> None:
    """Make the file if there is none, for its owner alone."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise StoreUnusable(
            f"store {path}: cannot open it for writing: {error.strerror}; "
            "give this user write permission on the file and its directory"
        ) from error


def _create(path: Path) -> None:
    """Give a blank file its tables, in one transaction: cut off anywhere, it is blank again."""
    try:
        with closing(connect(path)) as connection:
            connection.execute(f"PRAGMA page_size = {schema.PAGE_BYTES}")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("BEGIN EXCLUSIVE")
            for statement in schema.CREATE:
                connection.execute(statement)
            first = (uuid.uuid4().hex, FIRST_REVISION)
            connection.execute("INSERT INTO meta VALUES (1, ?, ?, 0, 0)", first)
            connection.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {schema.SCHEMA_VERSION}")
            connection.execute("COMMIT")
        sync_directory(path.parent)
    except sqlite3.Error as error:
        raise refused_open(path, error) from error


def sync_directory(directory: Path) -> None:
    """Make a new file's name durable."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def recognise(path: Path) -> bool:
    """Whether this file is a store; False: it is blank.

    Raises:
        StoreUnusable: not a database, another program's, of a newer schema, or damaged.
    """
    try:
        with closing(connect(path)) as connection:
            (application_id,) = connection.execute("PRAGMA application_id").fetchone()
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except sqlite3.Error as error:
        raise refused_open(path, error) from error
    if application_id != schema.APPLICATION_ID and (tables or application_id):
        raise StoreUnusable(f"store {path} is a SQLite database of another program; name another file")
    if version > schema.SCHEMA_VERSION:
        raise StoreUnusable(
            f"store {path} has schema {version}, this program knows up to {schema.SCHEMA_VERSION}; "
            "run the newer program that wrote it"
        )
    return bool(tables)
