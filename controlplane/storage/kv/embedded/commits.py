"""Group commit: what was decided, gathered while the log is busy, made durable together, then published.

At most one group is under way. Writes that are decided meanwhile gather in the next; all of a group share one append.
``pending`` lies over the live index: decisions see it, readers do not.

A failed append fails its group and what had gathered on top of it (those never reached the log: their outcome is
known). If the log has read back that nothing of the group is stored, committed state stands; otherwise the store is
unready until the log has been read again whole.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from controlplane.storage.errors import Unavailable
from controlplane.storage.kv.embedded.hub import WatchHub
from controlplane.storage.kv.embedded.index import LiveIndex
from controlplane.storage.kv.embedded.leases import Leases
from controlplane.storage.kv.embedded.log import Batch, Image, Log
from controlplane.storage.kv.embedded.records import Record, new

__all__ = ["Commits"]


class Group(Batch):
    """A batch with those who wait for it."""

    __slots__ = ("waiters",)

    def __init__(self) -> None:
        super().__init__()
        self.waiters: list[asyncio.Future[None]] = []


class Commits:
    """The write side of one store. All calls are made on the loop; none blocks.

    ``problem``: why nothing can be decided now; None when ready.
    """

    __slots__ = (
        "_drained",
        "_gathering",
        "_hub",
        "_leases",
        "_log",
        "_loop",
        "_newest",
        "_on_failure",
        "_scheduled",
        "_under_way",
        "index",
        "pending",
        "problem",
    )

    def __init__(self, log: Log, hub: WatchHub, leases: Leases, image: Image, on_failure: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._log = log
        self._hub = hub
        self._leases = leases
        self._on_failure = on_failure
        self._newest = image.revision
        self._gathering = Group()
        self._under_way: Group | None = None
        self._scheduled = False
        self._drained: asyncio.Future[None] | None = None
        self.index: LiveIndex = image.index
        self.pending: dict[bytes, Record] = {}
        self.problem: str | None = None

    # -- deciding ------------------------------------------------------------------------------------------------

    def add(
        self, key: bytes, value: bytes | None, create_revision: int, prev_revision: int, version: int, *, lease: int = 0
    ) -> int:
        """Give a write its revision and its place in the next group, which the caller must ``join`` in the same step.
        ``create_revision`` 0 of a value: it is created by this write."""
        self._newest = revision = self._newest + 1
        if value is not None and not create_revision:
            create_revision = revision
        record = new(Record, (revision, key, value, create_revision, prev_revision, version, lease))
        self.pending[key] = record
        self._gathering.records.append(record)
        return revision

    def join(self) -> asyncio.Future[None]:
        """Done when what gathers now is committed."""
        future = self._loop.create_future()
        self._gathering.waiters.append(future)
        if not self._scheduled and self._under_way is None:
            self._scheduled = True
            self._loop.call_soon(self._append)
        return future

    def grant(self, lease: int, expiry: float) -> asyncio.Future[None]:
        """Add a lease to the next group."""
        self._gathering.granted.append((lease, expiry))
        return self.join()

    def end_lease(self, lease: int) -> asyncio.Future[None]:
        """Remove a lease in the next group."""
        self._gathering.ended.append(lease)
        return self.join()

    def settled(self, record: Record) -> asyncio.Future[None]:
        """Done when this pending record is committed."""
        group = self._under_way
        if group is not None and group.records and record.revision <= group.records[-1].revision:
            future = self._loop.create_future()
            group.waiters.append(future)
            return future
        return self.join()

    async def drain(self) -> None:
        """Wait until nothing is under way. Call it when no more can be added."""
        while self._under_way is not None or self._scheduled:
            self._drained = self._loop.create_future()
            await self._drained

    # -- committing ----------------------------------------------------------------------------------------------

    def _append(self) -> None:
        """Hand over what has gathered."""
        self._scheduled = False
        group, self._gathering = self._gathering, Group()
        if not group.waiters:
            self._notice_drained()
            return
        self._under_way = group
        self._log.append(group, self._appended)

    def _appended(self, error: Unavailable | None) -> None:
        group, self._under_way = self._under_way, None
        if group is None:
            raise AssertionError("the log answered an append twice")
        if error is not None:
            self._fail(group, error)
        else:
            self._apply(group)
            for waiter in group.waiters:
                if not waiter.done():
                    waiter.set_result(None)
        if self._gathering.waiters:
            self._append()
        else:
            self._notice_drained()

    def _notice_drained(self) -> None:
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)

    def _apply(self, group: Group) -> None:
        """Show a committed group to readers and watches."""
        for lease, expiry in group.granted:
            self._leases.add(lease, expiry)
        records = group.records
        if not records:
            return
        self.index.apply(records)
        pending = self.pending
        for record in records:
            if pending.get(record.key) is record:
                del pending[record.key]
        self._hub.revision = records[-1].revision
        self._hub.publish(records)

    def _fail(self, group: Group, error: Unavailable) -> None:
        queued, self._gathering = self._gathering, Group()
        self.pending.clear()
        self._newest = self._hub.revision
        for waiter in group.waiters:
            if not waiter.done():
                waiter.set_exception(type(error)(str(error), outcome_known=error.outcome_known))
        for waiter in queued.waiters:
            if not waiter.done():
                waiter.set_exception(type(error)(f"a write before this one failed: {error}", outcome_known=True))
        if not error.outcome_known:
            self.problem = str(error)
            self._on_failure()

    def adopt(self, image: Image) -> None:
        """Go on from what the log holds."""
        self.index = image.index
        self._newest = self._hub.revision = image.revision
        self._hub.compacted = max(self._hub.compacted, image.compacted)
        self._leases.load(image.leases)
        self.problem = None
