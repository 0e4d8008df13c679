"""A connection that reads, and all that is read with it; called in one reader thread only.

Every answer comes from one statement, so from one state of the file. It never holds a state longer than that: a long
read would keep the write-ahead log from being emptied.
"""

from __future__ import annotations

import sqlite3
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from controlplane.storage.kv.api import KeyValue
from controlplane.storage.kv.embedded.index import LiveIndex
from controlplane.storage.kv.embedded.log import Changes
from controlplane.storage.kv.embedded.records import Record
from controlplane.storage.kv.sqlite.errors import unavailable
from controlplane.storage.kv.sqlite.writer import connect

__all__ = ["Reader"]

T = TypeVar("T")

PAGE_RECORDS = 1_000
"""Records in a page of changes, at most."""

PAGE_BYTES = 4 * 1024 * 1024
"""Bytes of values after which a page of changes ends."""

FETCH_ROWS = 200
"""Rows fetched at a time."""

RECORD = "SELECT revision, key, value, create_revision, prev_revision, version, lease FROM log"

CHANGES = RECORD + " NOT INDEXED WHERE revision >= ? AND revision <= ? AND key >= ? {below} ORDER BY revision LIMIT ?"

NEWEST = """
    SELECT key, max(revision) AS revision, version FROM log INDEXED BY log_by_key
    WHERE revision <= ? AND key >= ? {below} GROUP BY key HAVING version > 0
"""
"""The keys that a snapshot has, ascending, each with the revision it was last written at. The index covers it."""

SNAPSHOT = f"""
    SELECT log.key, log.value, log.create_revision, log.revision, log.version, log.lease
    FROM ({NEWEST} LIMIT ?) AS newest CROSS JOIN log ON log.revision = newest.revision
"""  # noqa: S608  # constants only

COUNT = f"SELECT count(*) FROM ({NEWEST})"  # noqa: S608  # constants only


class LoadedKeys:
    """The key objects of an index that has just been loaded, for whoever reads all of it, in order: each is handed out
    once, and when the last one is, nothing is kept."""

    __slots__ = ("_keys", "_next")

    def __init__(self, ascending: list[bytes]) -> None:
        self._keys, self._next = ascending, 0

    def shared(self, key: bytes) -> bytes:
        """The index's object for a key, or the one given."""
        keys, at = self._keys, self._next
        if at < len(keys) and keys[at] != key:
            at = bisect_left(keys, key, at)
        if at >= len(keys) or keys[at] != key:
            return key
        found, self._next = keys[at], at + 1
        if self._next == len(keys):
            self._keys, self._next = [], 0
        return found


class Reader:
    """Opens its connection when first asked, and anew after an error."""

    __slots__ = ("_connection", "_index", "_keys", "_path")

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._index, self._keys = LiveIndex(), LoadedKeys([])

    def share(self, index: LiveIndex, keys: list[bytes]) -> None:
        """Read with the revision objects of the engine's index, and with its key objects (ascending) where they are
        read for the first time: that is when what is read is going to be kept."""
        self._index, self._keys = index, LoadedKeys(keys)

    def close(self) -> None:
        """Let go of the file. Idempotent."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def records(self, revisions: Sequence[int]) -> list[Record]:
        """The records at these revisions that are there."""
        found: list[Record] = []
        for at in range(0, len(revisions), PAGE_RECORDS):
            found += self._read(partial(_records_at, revisions[at : at + PAGE_RECORDS]))
        return found

    def snapshot(self, start: bytes, end: bytes | None, revision: int, limit: int) -> list[KeyValue]:
        """See ``embedded.log.Log.snapshot``."""
        statement, bounds = _below(SNAPSHOT, start, end)
        values = (revision, *bounds, limit or -1)
        items = self._read(lambda db: self._key_values(db.execute(statement, values)))
        items.sort()  # the join follows the index's order, which SQLite does not promise: a pass over what is sorted
        return items

    def count(self, start: bytes, end: bytes | None, revision: int) -> int:
        """See ``embedded.log.Log.count``."""
        statement, bounds = _below(COUNT, start, end)
        total: int = self._read(lambda db: db.execute(statement, (revision, *bounds)).fetchone()[0])
        return total

    def changes(self, start: bytes, end: bytes | None, first: int, last: int) -> Changes:
        """See ``embedded.log.Log.changes``."""
        statement, bounds = _below(CHANGES, start, end)
        values = (first, last, *bounds, PAGE_RECORDS)
        return self._read(lambda db: _page(db.execute(statement, values), last))

    def _key_values(self, rows: sqlite3.Cursor) -> list[KeyValue]:
        items: list[KeyValue] = []
        while page := rows.fetchmany(FETCH_ROWS):
            for row in page:
                entry = self._index.get(row[0])
                if entry is not None and entry[0] == row[3]:
                    mod, created, version, lease = entry
                    items.append(KeyValue(self._keys.shared(row[0]), row[1], created, mod, version, lease))
                else:
                    items.append(KeyValue(*row))
        return items

    def _read(self, query: Callable[[sqlite3.Connection], T]) -> T:
        try:
            if self._connection is None:
                self._connection = connect(self._path)
                self._connection.execute("PRAGMA query_only = 1")
            return query(self._connection)
        except sqlite3.Error as error:
            self.close()
            raise unavailable(self._path, error) from error


def _below(template: str, start: bytes, end: bytes | None) -> tuple[str, tuple[bytes, ...]]:
    """The statement with or without an upper bound, and the bounds."""
    if end is None:
        return template.replace("{below}", ""), (start,)
    return template.replace("{below}", "AND key < ?"), (start, end)


def _records_at(revisions: Sequence[int], db: sqlite3.Connection) -> list[Record]:
    marks = ",".join("?" * len(revisions))
    rows = db.execute(f"{RECORD} WHERE revision IN ({marks})", revisions)
    return list(map(Record._make, rows.fetchall()))


def _page(rows: sqlite3.Cursor, last: int) -> Changes:
    """Records up to the page's bounds; ``through`` is ``last`` if they were not met."""
    records: list[Record] = []
    size_bytes = 0
    for row in rows:
        record = Record._make(row)
        records.append(record)
        size_bytes += len(record.value or b"")
        if size_bytes >= PAGE_BYTES or len(records) == PAGE_RECORDS:
            rows.close()
            return Changes(records, record.revision)
    return Changes(records, last)
