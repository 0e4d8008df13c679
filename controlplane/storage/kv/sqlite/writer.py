"""The one connection that writes, and all it does; called in the writer thread only.

A group becomes durable in one SQLite step where it fits one statement (the usual case: the statement is its own
transaction), otherwise in one transaction. ``synchronous=FULL``: the write-ahead log is synced before that returns.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from itertools import chain
from pathlib import Path

from controlplane.storage.errors import Unavailable
from controlplane.storage.kv.embedded.index import LiveIndex
from controlplane.storage.kv.embedded.log import Batch, Image
from controlplane.storage.kv.embedded.records import Record
from controlplane.storage.kv.sqlite import schema
from controlplane.storage.kv.sqlite.errors import primary_code, unavailable
from controlplane.storage.kv.sqlite.invariants import META

__all__ = ["Writer", "connect"]

CHUNK_ROWS = (1, 8, 32, 128)
"""Sizes of the prepared insertions; a group is padded up to the next."""

CHECKPOINT_PAGES = 4_000
"""About 32 MB of write-ahead log between checkpoints: each copies every changed page once, however often it changed."""

PRUNE_ROWS = 250
"""Writes forgotten in one transaction, a few milliseconds: commits get in between."""


def connect(path: Path, *, mode: str = "rw") -> sqlite3.Connection:
    """A connection for one thread, in autocommit mode. ``mode``: SQLite's ``rw``, ``rwc`` or ``ro``."""
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    return sqlite3.connect(uri, uri=True, timeout=5.0, isolation_level=None, check_same_thread=False)


_Identity = tuple[int, int]


def _identity(path: Path) -> _Identity | None:
    """Which file is at the path; None: none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


class Writer:
    """``pages_max`` bounds the file, in pages; 0 does not (SQLite's ``max_page_count``)."""

    __slots__ = ("_connection", "_doubtful", "_files", "_inserts", "_padding", "_pages_max", "_path", "_wal")

    def __init__(self, path: Path, *, pages_max: int = 0) -> None:
        self._path = path
        self._wal = path.with_name(path.name + "-wal")
        self._files: tuple[tuple[Path, _Identity], ...] = ()
        self._pages_max = pages_max
        self._inserts = [(rows, schema.insert_statement(rows)) for rows in CHUNK_ROWS]
        self._padding = [None] * (schema.COLUMNS * CHUNK_ROWS[-1])
        self._connection: sqlite3.Connection | None = None
        self._doubtful = False

    # -- life ----------------------------------------------------------------------------------------------------

    def load(self) -> tuple[Image, list[bytes]]:
        """(Re)open the file and read what the engine keeps in memory, and the index's keys, ascending.

        The write-ahead log is first brought into the database, synced and emptied: so after a failed commit nothing is
        adopted that is in the page cache alone, and nothing left in the log can come back later.

        Raises:
            Unavailable: it cannot be read, or a reader keeps the log from being emptied after a failure.
        """
        try:
            self._let_go()
            connection = self._connection = connect(self._path)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
            connection.execute("PRAGMA foreign_keys = OFF")
            (busy, *_) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if busy and self._doubtful:
                raise Unavailable(f"store {self._path}: readers hold the write-ahead log; trying again")
            if self._pages_max:
                connection.execute(f"PRAGMA max_page_count = {self._pages_max}")
            for (found,) in connection.execute(META):
                raise Unavailable(
                    f"store {self._path} is damaged: its own row is not as it must be: {found}; restore a backup"
                )
            loaded = _image(connection)
            self._doubtful = False
            found = ((path, _identity(path)) for path in (self._path, self._wal))
            self._files = tuple((path, identity) for path, identity in found if identity is not None)
            return loaded
        except sqlite3.Error as error:
            raise unavailable(self._path, error) from error

    def close(self) -> None:
        """Let go of the file; the last one to do so removes the write-ahead log. Idempotent."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _require_in_place(self) -> None:
        """See that the store's paths still lead to what is open: what goes into a file without a name is gone with this
        process, and a write-ahead log beside another file would be taken for that one's.

        Raises:
            Unavailable: they do not. All that was committed is then in the file that is open, and the log empty.
        """
        for path, known in self._files:
            found = _identity(path)
            if found != known:
                self._empty_log()
                what = "taken away" if found is None else "replaced"
                raise Unavailable(
                    f"store {self._path}: {path.name} has been {what} under the server; put it back, or stop the server"
                )

    def _empty_log(self) -> None:
        if self._connection is not None:
            with suppress(sqlite3.Error):  # the last of it may fail with the rest; it is tried again
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

    def _let_go(self) -> None:
        """Close what is open, if it is still the store.

        Raises:
            Unavailable: it is not; what is open stays so, the last that there is of the store.
        """
        if self._connection is not None and self._files:
            path, known = self._files[0]
            if _identity(path) == known and not self._wal.exists():
                self._empty_log()
            else:
                self._require_in_place()
        self.close()

    # -- committing ----------------------------------------------------------------------------------------------

    def commit(self, batch: Batch) -> None:
        """Make the batch durable.

        Raises:
            Unavailable: ``outcome_known``: the disk is full; read back, and nothing of it is there. After other
                failures a whole commit may stand in the write-ahead log unsynced, until ``load`` has emptied that.
        """
        records = batch.records
        connection = self._connection
        if connection is None:
            raise Unavailable(f"store {self._path} is not open", outcome_known=True)
        try:
            if len(records) <= CHUNK_ROWS[-1] and not batch.granted and not batch.ended:
                self._insert(connection, records)
            else:
                self._transaction(connection, batch)
        except sqlite3.Error as error:
            undone = primary_code(error) == sqlite3.SQLITE_FULL and self._undone(batch)
            self._doubtful = not undone
            raise unavailable(self._path, error, outcome_known=undone) from error
        self._require_in_place()

    def _transaction(self, connection: sqlite3.Connection, batch: Batch) -> None:
        connection.execute("BEGIN IMMEDIATE")
        step = CHUNK_ROWS[-1]
        for at in range(0, len(batch.records), step):
            self._insert(connection, batch.records[at : at + step])
        if batch.granted:
            connection.executemany("INSERT INTO lease VALUES (?, ?)", batch.granted)
        if batch.ended:
            connection.executemany("DELETE FROM lease WHERE id = ?", [(lease,) for lease in batch.ended])
        connection.execute("COMMIT")

    def _insert(self, connection: sqlite3.Connection, records: list[Record]) -> None:
        for rows, statement in self._inserts:
            if len(records) <= rows:
                values = list(chain.from_iterable(records))
                values += self._padding[: schema.COLUMNS * (rows - len(records))]
                connection.execute(statement, values)
                return

    def _undone(self, batch: Batch) -> bool:
        """Whether a failed batch has left nothing behind, as read from the file."""
        connection = self._connection
        if connection is None:
            return False
        try:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            if not batch.records:
                return False
            (newest,) = connection.execute("SELECT max(revision) FROM log").fetchone()
        except sqlite3.Error:
            return False
        return newest is None or newest < batch.records[0].revision

    # -- forgetting ----------------------------------------------------------------------------------------------

    def forget(self, revision: int) -> None:
        """Store the compaction floor."""
        self._change("UPDATE meta SET compacted = max(compacted, ?)", revision)

    def _change(self, statement: str, *values: int) -> None:
        if self._connection is None:
            raise Unavailable(f"store {self._path} is not open", outcome_known=True)
        try:
            self._connection.execute(statement, values)
        except sqlite3.Error as error:
            raise unavailable(self._path, error) from error

    def prune(self) -> bool:
        """Remove some rows that the floor has made superfluous; whether there may be more."""
        connection = self._connection
        if connection is None:
            return False
        try:
            connection.execute("BEGIN IMMEDIATE")
            more = _prune(connection)
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise unavailable(self._path, error) from error
        return more


def _image(connection: sqlite3.Connection) -> tuple[Image, list[bytes]]:
    cluster_id, revision, compacted = connection.execute("SELECT cluster_id, revision, compacted FROM meta").fetchone()
    (newest,) = connection.execute("SELECT max(revision) FROM log").fetchone()
    index, keys = LiveIndex(), []
    for key, *entry in connection.execute(schema.ENTRIES):
        index.add(key, *entry)
        keys.append(key)
    leases = dict(connection.execute("SELECT id, expiry FROM lease").fetchall())
    return Image(cluster_id, max(revision, newest or 0), compacted, index, leases), keys


def _prune(connection: sqlite3.Connection) -> bool:
    """One batch within a transaction: what the next writes up to the floor replaced, and their tombstones."""
    compacted, pruned = connection.execute("SELECT compacted, pruned FROM meta").fetchone()
    last, rows = connection.execute(
        "SELECT max(revision), count(*) FROM"
        " (SELECT revision FROM log WHERE revision > ? AND revision <= ? ORDER BY revision LIMIT ?)",
        (pruned, compacted, PRUNE_ROWS),
    ).fetchone()
    more: bool = rows == PRUNE_ROWS
    upto = last if more else compacted
    if rows:
        connection.execute(
            "DELETE FROM log WHERE revision IN"
            " (SELECT prev_revision FROM log WHERE revision > ? AND revision <= ? AND prev_revision > 0)",
            (pruned, upto),
        )
        connection.execute("DELETE FROM log WHERE revision > ? AND revision <= ? AND version = 0", (pruned, upto))
    if upto > pruned:
        connection.execute("UPDATE meta SET pruned = ?1, revision = max(revision, ?1)", (upto,))
    return more
