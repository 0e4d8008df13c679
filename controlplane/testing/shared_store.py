"""One store in memory for several servers in one process, as etcd is for several processes.

    async with shared_store() as store:
        config.open_store = store.open       # of each server

Where it lies: it has one process's fate, and its watches never break.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from controlplane.storage.kv.api import KV, LATEST, KVStatus, RangeResult, TxnResult, Watch
from controlplane.storage.kv.backends import KVOptions, open_kv

__all__ = ["SharedStore", "shared_store"]


class SharedStore:
    """See ``shared_store``. ``kv`` is the store itself."""

    def __init__(self, kv: KV) -> None:
        self.kv = kv

    async def remove(self, key: bytes) -> None:
        """Remove a key, whatever it holds; no such key is fine."""
        while items := (await self.kv.range(key, b"")).items:
            if (await self.kv.delete(key, expect=items[0].mod_revision)).succeeded:
                return

    async def open(self) -> KV:
        """One server's hold on it."""
        return _Share(self.kv)


@asynccontextmanager
async def shared_store(options: KVOptions | None = None) -> AsyncIterator[SharedStore]:
    """A store for the block's time."""
    kv = await open_kv("memory:", options)
    try:
        yield SharedStore(kv)
    finally:
        await kv.close()


class _Share:
    """The store as one of several that are on it sees it: what it knows must be asked, and closing ends nothing."""

    def __init__(self, kv: KV) -> None:
        self._kv = kv
        self.trustworthy_progress = kv.trustworthy_progress

    async def range(
        self, start: bytes, end: bytes, *, revision: int = LATEST, limit: int = 0, count_only: bool = False
    ) -> RangeResult:
        return await self._kv.range(start, end, revision=revision, limit=limit, count_only=count_only)

    async def put(self, key: bytes, value: bytes, *, expect: int, lease: int = 0) -> TxnResult:
        return await self._kv.put(key, value, expect=expect, lease=lease)

    async def delete(self, key: bytes, *, expect: int) -> TxnResult:
        return await self._kv.delete(key, expect=expect)

    def watch(self, prefix: bytes, start: int, *, prev: bool = False) -> AbstractAsyncContextManager[Watch]:
        return self._kv.watch(prefix, start, prev=prev)

    async def revision(self) -> int:
        return await self._kv.revision()

    def problem_nowait(self) -> str:
        return self._kv.problem_nowait()

    def revision_nowait(self) -> int | None:
        return None  # other servers write to it

    async def compact(self, revision: int) -> None:
        await self._kv.compact(revision)

    async def grant(self, ttl_seconds: int) -> int:
        return await self._kv.grant(ttl_seconds)

    async def status(self) -> KVStatus:
        return await self._kv.status()

    async def close(self) -> None:
        """The store goes on."""
