"""The SQLite log: the ``Log`` below the embedded engine, on one writer thread and two reader threads.

Point reads and long reads have a thread each, so that a refused write's answer does not wait behind a list.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

from controlplane.base import logs
from controlplane.storage.errors import Unavailable
from controlplane.storage.kv.api import KeyValue
from controlplane.storage.kv.embedded.log import Batch, Changes, Image
from controlplane.storage.kv.embedded.records import Record
from controlplane.storage.kv.sqlite.lock import StoreLock
from controlplane.storage.kv.sqlite.reader import Reader
from controlplane.storage.kv.sqlite.threads import OwnedThread
from controlplane.storage.kv.sqlite.writer import Writer

__all__ = ["SqliteLog"]

log = logs.get(__name__)


class SqliteLog:
    """Owns the file, its lock and its threads, from construction to ``close``. See ``embedded.log.Log``."""

    version = f"SQLite {sqlite3.sqlite_version}"

    def __init__(self, path: Path, lock: StoreLock, *, pages_max: int = 0) -> None:
        """``path``: an existing store, links resolved. ``pages_max``: see ``Writer``."""
        self._path = path
        self._lock = lock
        self._writer = Writer(path, pages_max=pages_max)
        self._points, self._ranges = Reader(path), Reader(path)
        self._write_thread = OwnedThread("kv-writer")
        self._point_thread = OwnedThread("kv-points")
        self._range_thread = OwnedThread("kv-ranges")
        self._pruning = False
        self._closed = False

    async def load(self) -> Image:
        image, keys = await self._write_thread.call(self._writer.load)
        await self._point_thread.call(self._points.close)  # what they have open may no longer be the store
        await self._range_thread.call(self._ranges.close)
        self._ranges.share(image.index, keys)
        self._prune()
        return image

    def append(self, batch: Batch, done: Callable[[Unavailable | None], None]) -> None:
        def answer(_: None, error: BaseException | None) -> None:
            if error is not None and not isinstance(error, Unavailable):
                log.error("the store's writer failed", path=str(self._path), exc_info=error)
                error = Unavailable(f"store {self._path}: {error}")
            done(error)

        self._write_thread.submit(lambda: self._writer.commit(batch), answer)

    async def records(self, revisions: Sequence[int]) -> list[Record]:
        self._require_open()
        return await self._point_thread.call(lambda: self._points.records(revisions)) if revisions else []

    async def snapshot(self, start: bytes, end: bytes | None, revision: int, limit: int) -> list[KeyValue]:
        self._require_open()
        return await self._range_thread.call(lambda: self._ranges.snapshot(start, end, revision, limit))

    async def count(self, start: bytes, end: bytes | None, revision: int) -> int:
        self._require_open()
        return await self._range_thread.call(lambda: self._ranges.count(start, end, revision))

    async def changes(self, start: bytes, end: bytes | None, first: int, last: int) -> Changes:
        self._require_open()
        return await self._range_thread.call(lambda: self._ranges.changes(start, end, first, last))

    async def forget(self, revision: int) -> None:
        self._require_open()
        await self._write_thread.call(lambda: self._writer.forget(revision))
        self._prune()

    async def size_bytes(self) -> int:
        self._require_open()
        return await self._point_thread.call(self._sizes)

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        for thread, connection in (
            (self._point_thread, self._points),
            (self._range_thread, self._ranges),
            (self._write_thread, self._writer),
        ):
            await thread.call(connection.close)
            await thread.close()
        self._lock.release()

    def _prune(self) -> None:
        """Remove what the floor made superfluous, batch after batch; commits that arrive meanwhile go in between."""
        if self._pruning or self._closed:
            return
        self._pruning = True
        self._write_thread.submit(self._writer.prune, self._pruned)

    def _pruned(self, more: bool | None, error: BaseException | None) -> None:  # noqa: FBT001  # a callback's shape
        self._pruning = False
        if error is not None:
            # The next compaction goes on from here; until then the file is larger than it need be.
            log.warning("history could not be pruned", path=str(self._path), error=str(error))
        elif more:
            self._prune()

    def _sizes(self) -> int:
        wal = self._path.with_name(self._path.name + "-wal")
        return self._path.stat().st_size + (wal.stat().st_size if wal.exists() else 0)

    def _require_open(self) -> None:
        if self._closed:
            raise Unavailable("the store is closed", outcome_known=True)
