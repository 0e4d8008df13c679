"""A real KV behind a network that tests can break: delays, lost streams, an unreachable store, a store out of process.

It adds faults and nothing else; what gets through is the real store's.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from controlplane.storage.errors import Unavailable
from controlplane.storage.kv.api import KV, KVStatus, RangeResult, TxnResult, Watch, WatchBatch

__all__ = ["FaultyKV"]


class FaultyKV:
    """``remote``: the revision has to be asked for. ``trustworthy``: requested progress may be relied on (else it is
    dropped here, so that nobody can).

    ``reachable`` False: everything raises Unavailable and open streams are lost. ``flow`` cleared: streams deliver
    nothing, as if the network were slow. ``answer`` cleared: the revision is not told. Counters say what was asked.
    """

    def __init__(self, kv: KV, *, remote: bool = True, trustworthy: bool = True) -> None:
        self.kv, self.remote, self.trustworthy_progress = kv, remote, trustworthy
        self.flow, self.answer = asyncio.Event(), asyncio.Event()
        self.flow.set()
        self.answer.set()
        self._lost = asyncio.Event()
        self.unreachable = False
        self.cluster_id = ""
        self.revisions_asked = self.progress_asked = self.watches_opened = self.ranges = 0
        self.puts: list[bytes] = []

    def lose_streams(self) -> None:
        """Break all open streams; new ones can be opened."""
        self._lost.set()
        self._lost = asyncio.Event()

    def go(self, *, away: bool) -> None:
        """Become unreachable, or reachable again."""
        self.unreachable = away
        if away:
            self.lose_streams()

    def _reach(self) -> None:
        if self.unreachable:
            raise Unavailable("the test has cut the store off", outcome_known=True)

    async def range(
        self, start: bytes, end: bytes, *, revision: int = 0, limit: int = 0, count_only: bool = False
    ) -> RangeResult:
        self._reach()
        self.ranges += 1
        return await self.kv.range(start, end, revision=revision, limit=limit, count_only=count_only)

    async def put(self, key: bytes, value: bytes, *, expect: int, lease: int = 0) -> TxnResult:
        self._reach()
        self.puts.append(key)
        return await self.kv.put(key, value, expect=expect, lease=lease)

    async def delete(self, key: bytes, *, expect: int) -> TxnResult:
        self._reach()
        return await self.kv.delete(key, expect=expect)

    def watch(self, prefix: bytes, start: int, *, prev: bool = False) -> AbstractAsyncContextManager[Watch]:
        return self._watch(prefix, start, prev=prev)

    @asynccontextmanager
    async def _watch(self, prefix: bytes, start: int, *, prev: bool) -> AsyncIterator[Watch]:
        self._reach()
        self.watches_opened += 1
        async with self.kv.watch(prefix, start, prev=prev) as inner:
            yield _FaultyWatch(self, inner, self._lost)

    async def revision(self) -> int:
        self._reach()
        self.revisions_asked += 1
        await self.answer.wait()
        return await self.kv.revision()

    def problem_nowait(self) -> str:
        return self.kv.problem_nowait()

    def revision_nowait(self) -> int | None:
        return None if self.remote else self.kv.revision_nowait()

    async def compact(self, revision: int) -> None:
        await self.kv.compact(revision)

    async def grant(self, ttl_seconds: int) -> int:
        self._reach()
        return await self.kv.grant(ttl_seconds)

    async def status(self) -> KVStatus:
        self._reach()
        status = await self.kv.status()
        return status._replace(cluster_id=self.cluster_id) if self.cluster_id else status

    async def close(self) -> None:
        await self.kv.close()


class _FaultyWatch:
    def __init__(self, kv: FaultyKV, inner: Watch, lost: asyncio.Event) -> None:
        self._kv, self._inner, self._lost = kv, inner, lost

    def __aiter__(self) -> _FaultyWatch:
        return self

    async def __anext__(self) -> WatchBatch:
        batch = asyncio.ensure_future(self._inner.__anext__())
        lost = asyncio.ensure_future(self._lost.wait())
        try:
            await asyncio.wait({batch, lost}, return_when=asyncio.FIRST_COMPLETED)
            flows = asyncio.ensure_future(self._kv.flow.wait())
            try:
                await asyncio.wait({flows, lost}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                flows.cancel()
            if lost.done():
                raise Unavailable("the test has broken the stream")
            return await batch
        finally:
            for task in (batch, lost):
                task.cancel()
            await asyncio.gather(batch, lost, return_exceptions=True)

    async def request_progress(self) -> None:
        self._kv.progress_asked += 1
        if self._kv.trustworthy_progress:
            await self._inner.request_progress()
