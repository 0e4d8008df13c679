"""A memory log whose appends wait until the test lets them through, or fail as the test says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from controlplane.base.clock import Clock, SystemClock
from controlplane.storage.errors import Unavailable
from controlplane.storage.kv.embedded.engine import EmbeddedKV
from controlplane.storage.kv.embedded.index import LiveIndex
from controlplane.storage.kv.embedded.log import Batch, Image
from controlplane.storage.kv.memory import MemoryLog

__all__ = ["HeldLog", "turns"]


class HeldLog(MemoryLog):
    """``held``: batches handed over and not answered. ``load`` reads back what was let through."""

    def __init__(self) -> None:
        super().__init__()
        self.held: list[tuple[Batch, Callable[[Unavailable | None], None]]] = []
        self.loads: asyncio.Semaphore = asyncio.Semaphore(1)
        self._leases: dict[int, float] = {}

    async def kv(self, clock: Clock | None = None) -> EmbeddedKV:
        """An engine on this log."""
        return EmbeddedKV(self, await self.load(), clock or SystemClock(), history_seconds=0)

    async def load(self) -> Image:
        await self.loads.acquire()
        revision = max((at for at, _ in self._records.items()), default=1)
        items = await self.snapshot(b"", None, revision, 0)
        entries = ((kv.key, (kv.mod_revision, kv.create_revision, kv.version, kv.lease)) for kv in items)
        return Image(self._cluster_id, revision, 0, LiveIndex(entries), dict(self._leases))

    def append(self, batch: Batch, done: Callable[[Unavailable | None], None]) -> None:
        self.held.append((batch, done))

    def store(self, batch: Batch) -> None:
        """Make a batch durable without answering."""
        self._leases.update(batch.granted)
        for lease in batch.ended:
            self._leases.pop(lease, None)
        super().append(batch, lambda _: None)

    def let_through(self) -> Batch:
        """Commit the one batch that is held."""
        ((batch, done),) = self.held
        self.held.clear()
        self.store(batch)
        done(None)
        return batch

    def fail(self, *, outcome_known: bool, stored: bool = False) -> None:
        """Fail the one batch that is held; ``stored``: though it became durable."""
        ((batch, done),) = self.held
        self.held.clear()
        if stored:
            self.store(batch)
        done(Unavailable("the medium failed", outcome_known=outcome_known))


async def turns(count: int = 20) -> None:
    """Let the loop do all it can."""
    for _ in range(count):
        await asyncio.sleep(0)
