"""SQLite's errors in our vocabulary. Foreign errors stop here."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from controlplane.storage.errors import StoreFull, StoreUnusable, Unavailable

__all__ = ["primary_code", "refused_open", "unavailable"]

REMEDIES = {
    sqlite3.SQLITE_FULL: "the disk is full; free space",
    sqlite3.SQLITE_NOTADB: "it is not a SQLite database; name another file",
    sqlite3.SQLITE_CORRUPT: "it is damaged; restore a backup with `store restore`",
    sqlite3.SQLITE_CANTOPEN: "check that the directory exists and may be written",
    sqlite3.SQLITE_READONLY: "give this user write permission on the file and its directory",
    sqlite3.SQLITE_PERM: "give this user write permission on the file and its directory",
    sqlite3.SQLITE_IOERR: "the disk failed; look at the system's log",
    sqlite3.SQLITE_BUSY: "another program holds it; stop that program",
}
"""Primary result code -> what to do."""


def primary_code(error: sqlite3.Error) -> int:
    """SQLite's primary result code; 0 for errors that the sqlite3 module raises itself."""
    code: int = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF


def _describe(path: Path, error: sqlite3.Error) -> str:
    remedy = REMEDIES.get(primary_code(error))
    return f"store {path}: {error}" + (f": {remedy}" if remedy else "")


def refused_open(path: Path, error: sqlite3.Error) -> StoreUnusable:
    """Why the store cannot be opened."""
    return StoreUnusable(_describe(path, error))


def unavailable(path: Path, error: sqlite3.Error, *, outcome_known: bool = False) -> Unavailable:
    """Why an operation on an open store failed."""
    kind = StoreFull if primary_code(error) == sqlite3.SQLITE_FULL else Unavailable
    return kind(_describe(path, error), outcome_known=outcome_known)
