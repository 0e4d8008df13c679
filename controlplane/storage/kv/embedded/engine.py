"""The embedded KV: conditions and revisions decided in memory, on the loop; durability and history by a ``Log``.

The process owns the store, so a write's condition is judged at once against the live index and the writes under way,
and ``revision_nowait`` is always known. Every answer waits until what it was judged against is durable.

Knows nothing of files and threads; those are the log's.
"""

from __future__ import annotations

import asyncio
import secrets

from controlplane.base.clock import Clock
from controlplane.base.tasks import Owner
from controlplane.storage.errors import Compacted, FutureRevision, StorageError, Unavailable, ValueTooLarge
from controlplane.storage.kv.api import LATEST, VALUE_LIMIT_BYTES, KeyValue, KVStatus, RangeResult, TxnResult
from controlplane.storage.kv.embedded.commits import Commits
from controlplane.storage.kv.embedded.hub import HubWatch, WatchHub, end_of
from controlplane.storage.kv.embedded.leases import Leases
from controlplane.storage.kv.embedded.log import Image, Log
from controlplane.storage.kv.embedded.records import Entry, Record, key_value_of, new
from controlplane.storage.kv.embedded.retention import HISTORY_LIMIT_WRITES, Retention

__all__ = ["EmbeddedKV"]

REREAD_SECONDS = 1.0
"""Between attempts to read a store again whose medium failed."""


class Pages:
    """Remembers what is left after the last page of a range, so that reading on does not count the rest again."""

    __slots__ = ("_asked", "_total")

    def __init__(self) -> None:
        self._asked: tuple[bytes, bytes | None, int] | None = None
        self._total = 0

    def total(self, start: bytes, stop: bytes | None, at: int) -> int | None:
        """How many keys that range has, if it is what the last page left."""
        return self._total if self._asked == (start, stop, at) else None

    def next(self, start: bytes, stop: bytes | None, at: int, total: int) -> None:
        """What a page leaves."""
        self._asked, self._total = (start, stop, at), total


class EmbeddedKV:
    """See ``storage.kv.api.KV``."""

    trustworthy_progress = True

    def __init__(
        self,
        log: Log,
        image: Image,
        clock: Clock,
        *,
        history_seconds: float,
        history_writes: int = HISTORY_LIMIT_WRITES,
    ) -> None:
        """Start on a loaded log. ``history_seconds`` 0: only ``compact`` forgets; otherwise no more than
        ``history_writes`` are kept, however young."""
        self._log = log
        self._clock = clock
        self._cluster_id = image.cluster_id
        self._hub = WatchHub(log, image.revision, image.compacted)
        self._leases = Leases(clock, self._expire)
        self._leases.load(image.leases)
        self._commits = Commits(log, self._hub, self._leases, image, self._on_failure)
        self._attached: dict[int, set[bytes]] = {}
        self._pages = Pages()
        self._owner = Owner("kv")
        self._closing: asyncio.Task[None] | None = None
        self._attach_leased()
        self._owner.start(self._leases.run(), name="leases")
        if history_seconds:

            def newest() -> int:
                return self._hub.revision

            retention = Retention(clock, history_seconds, newest, self.compact, limit_writes=history_writes)
            self._owner.start(retention.run(), name="history")

    # -- reading -------------------------------------------------------------------------------------------------

    async def range(
        self, start: bytes, end: bytes, *, revision: int = LATEST, limit: int = 0, count_only: bool = False
    ) -> RangeResult:
        while True:
            self._require_ready()
            newest = self._hub.revision
            if revision > newest:
                raise FutureRevision(revision, newest)
            at = revision or newest
            self._require_remembered(at)
            result = await self._read(start, end, at, newest, 0 if count_only else limit, count_only=count_only)
            if at >= self._hub.compacted:
                return result
            if revision:
                self._require_remembered(at)

    async def _read(
        self, start: bytes, end: bytes, at: int, newest: int, limit: int, *, count_only: bool
    ) -> RangeResult:
        """One attempt at the snapshot ``at``; the floor may have overtaken it when this returns."""
        if not end and at == newest:
            if count_only:
                return RangeResult([], newest, False, int(self._commits.index.get(start) is not None))
            return await self._get(start)
        stop = end_of(end) if end else start + b"\x00"
        if count_only:
            return RangeResult([], newest, False, await self._log.count(start, stop, at))
        items = await self._log.snapshot(start, stop, at, limit)
        if not limit or len(items) < limit:
            return RangeResult(items, newest, False, len(items))
        total = self._pages.total(start, stop, at)
        if total is None:
            total = await self._log.count(start, stop, at)
        self._pages.next(items[-1].key + b"\x00", stop, at, total - len(items))
        return RangeResult(items, newest, total > len(items), total)

    async def _get(self, key: bytes) -> RangeResult:
        """The newest committed value, with the revision at which it was the newest."""
        while True:
            revision, entry = self._hub.revision, self._commits.index.get(key)
            if entry is None:
                return RangeResult([], revision, False, 0)
            kv = await self._value(key, entry)
            if kv is not None:
                return RangeResult([kv], revision, False, 1)

    async def _value(self, key: bytes, entry: Entry) -> KeyValue | None:
        """The value that a key's live entry stands for; None if it was replaced and forgotten meanwhile."""
        records = await self._log.records((entry[0],))
        if records:
            return key_value_of(records[0])
        if self._commits.index.get(key) == entry:
            raise Unavailable(f"the log has lost revision {entry[0]} of {key!r}; check the store")
        return None

    async def revision(self) -> int:
        self._require_ready()
        return self._hub.revision

    def revision_nowait(self) -> int | None:
        return self._hub.revision

    def problem_nowait(self) -> str:
        return self._commits.problem or ""

    def watch(self, prefix: bytes, start: int, *, prev: bool = False) -> HubWatch:
        return HubWatch(self._hub, prefix, start, prev=prev)

    async def status(self) -> KVStatus:
        self._require_ready()
        size_bytes = await self._log.size_bytes()
        return KVStatus(self._cluster_id, self._hub.revision, self._hub.compacted, size_bytes, self._log.version)

    # -- writing -------------------------------------------------------------------------------------------------

    async def put(self, key: bytes, value: bytes, *, expect: int, lease: int = 0) -> TxnResult:
        if len(value) > VALUE_LIMIT_BYTES:
            raise ValueTooLarge(key, size_bytes=len(value), limit_bytes=VALUE_LIMIT_BYTES)
        self._require_ready()
        if lease and lease not in self._leases:
            raise ValueError(f"unknown lease {lease}")
        commits = self._commits
        while True:
            record = commits.pending.get(key)
            entry = None
            if record is not None:
                found = record.revision if record.version else 0
                create_revision, version = record.create_revision, record.version
            elif (entry := commits.index.get(key)) is not None:
                found, create_revision, version, _ = entry
            else:
                found = create_revision = version = 0
            if found == expect:
                break
            refusal = await self._refuse(key, record, entry)
            if refusal is not None:
                return refusal
        if lease:
            self._attached.setdefault(lease, set()).add(key)
        revision = commits.add(key, value, create_revision, found, version + 1, lease=lease)
        await commits.join()
        return new(TxnResult, (True, revision, None))

    async def delete(self, key: bytes, *, expect: int) -> TxnResult:
        if expect <= 0:
            raise ValueError(f"delete expects a revision, not {expect}")
        commits = self._commits
        current: KeyValue | None = None
        while True:
            self._require_ready()
            record, entry = commits.pending.get(key), commits.index.get(key)
            if record is not None:
                found, current = record.revision if record.version else 0, key_value_of(record)
            else:
                found = entry[0] if entry is not None else 0
            if found != expect:
                refusal = await self._refuse(key, record, entry)
                if refusal is not None:
                    return refusal
            elif current is not None and current.mod_revision == found:
                revision = commits.add(key, None, 0, found, 0)
                await commits.join()
                return TxnResult(True, revision, current)
            elif entry is not None:
                # The answer carries the old value: read it first, then judge again.
                current = await self._value(key, entry)

    async def _refuse(self, key: bytes, record: Record | None, entry: Entry | None) -> TxnResult | None:
        """Answer a failed condition with what it was judged against, once that is durable. None: that was replaced
        and forgotten before its value could be read, so judge again."""
        if record is not None:
            await self._commits.settled(record)
            return TxnResult(False, self._hub.revision, key_value_of(record))
        revision = self._hub.revision
        if entry is None:
            return TxnResult(False, revision, None)
        kv = await self._value(key, entry)
        self._require_ready()
        return TxnResult(False, revision, kv) if kv is not None else None

    async def compact(self, revision: int) -> None:
        self._require_ready()
        if revision > self._hub.revision:
            raise FutureRevision(revision, self._hub.revision)
        if revision > self._hub.compacted:
            self._hub.compacted = revision
            await self._log.forget(revision)

    # -- leases --------------------------------------------------------------------------------------------------

    async def grant(self, ttl_seconds: int) -> int:
        if ttl_seconds <= 0:
            raise ValueError(f"a lease lasts at least a second, not {ttl_seconds}")
        self._require_ready()
        lease = secrets.randbits(62) + 1
        await self._commits.grant(lease, self._clock.now() + ttl_seconds)
        return lease

    async def _expire(self, lease: int) -> None:
        """Delete the lease's keys, each in its own revision, and the lease, all durably."""
        self._require_ready()
        commits = self._commits
        for key in sorted(self._attached.get(lease, ())):
            record, entry = commits.pending.get(key), commits.index.get(key)
            found, holder = (record.revision, record.lease) if record else (entry[0], entry[3]) if entry else (0, 0)
            if holder == lease:
                commits.add(key, None, 0, found, 0)
        expiry = self._leases.remove(lease)
        try:
            await commits.end_lease(lease)
        except Unavailable:
            self._leases.add(lease, expiry)
            raise
        self._attached.pop(lease, None)

    def _attach_leased(self) -> None:
        self._attached = {}
        for lease, key in self._commits.index.leased():
            self._attached.setdefault(lease, set()).add(key)

    # -- life ----------------------------------------------------------------------------------------------------

    def _require_ready(self) -> None:
        if self._closing is not None:
            raise Unavailable("the store is closed", outcome_known=True)
        if self._commits.problem is not None:
            raise Unavailable(f"the store is being read again after: {self._commits.problem}", outcome_known=True)

    def _require_remembered(self, revision: int) -> None:
        if revision < self._hub.compacted:
            raise Compacted(revision, self._hub.compacted)

    def _on_failure(self) -> None:
        self._owner.start(self._reread(), name="reread")

    async def _reread(self) -> None:
        """Read the log again, until it can be read; then go on from what it holds."""
        image = None
        while image is None:
            try:
                image = await self._log.load()
            except StorageError as error:
                self._commits.problem = str(error)
                await self._clock.sleep(REREAD_SECONDS)
        if image.revision != self._hub.revision or image.cluster_id != self._cluster_id:
            self._hub.end_all(Unavailable("the store was read again and had moved"))
        self._cluster_id = image.cluster_id
        self._commits.adopt(image)
        self._attach_leased()

    async def close(self) -> None:
        if self._closing is None:
            self._closing = self._owner.start(self._close(), name="close")
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        await self._commits.drain()
        self._hub.end_all(Unavailable("the store is closed"), for_good=True)
        await self._owner.close()
        await self._log.close()
