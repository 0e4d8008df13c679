"""The KV seam: a revisioned byte store, which every backend implements.

Only the shapes that kube-apiserver itself sends to etcd exist here (create if absent, put and delete if the key is at
a revision, range at a revision, one watch over a prefix, compact, leases), so anything that speaks etcd's API to
kube-apiserver can stand behind it.

Knows nothing of objects, resources, JSON or encryption. Keys and values are bytes; keys are compared as bytes.

Guarantees (conformance: ``controlplane.testing.check_kv``):
  revisioned    every successful write raises the store's revision; reads name the revision they saw
  atomic        a write's condition and effect are one step; of two writers with one condition, one wins
  durable       a write that returned survives the process and the machine (memory: excepted)
  ordered       a watch delivers revisions in ascending order, each whole, in key order, none twice, none missed
  published     a watch shows nothing that is not committed
  linearizable  ``revision()`` is not below any write that had returned before the call

Source: etcd's KV, watch and lease API guarantees.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple, Protocol, runtime_checkable

__all__ = [
    "ABSENT",
    "KV",
    "LATEST",
    "VALUE_LIMIT_BYTES",
    "CountsRequests",
    "Event",
    "KVStatus",
    "KeyValue",
    "RangeResult",
    "TxnResult",
    "Watch",
    "WatchBatch",
    "prefix_end",
]

LATEST = 0
"""``revision`` argument of a range: the newest committed."""

ABSENT = 0
"""``expect`` argument of a put: the key must not exist."""

VALUE_LIMIT_BYTES = 1_572_864
"""1.5 MiB, etcd's default request limit; refused alike on every backend."""


class KeyValue(NamedTuple):
    """One stored value. ``version`` counts writes since creation (1 is the create); ``lease`` 0 is none."""

    key: bytes
    value: bytes
    create_revision: int
    mod_revision: int
    version: int = 1
    lease: int = 0


class RangeResult(NamedTuple):
    """``items`` ascend by key; ``revision`` is the store's when read (not the snapshot asked for);
    ``more``: the limit cut the answer; ``total``: items before the cut."""

    items: list[KeyValue]
    revision: int
    more: bool
    total: int


class TxnResult(NamedTuple):
    """Outcome of a conditional write.

    ``succeeded``: ``revision`` is the write's own; for a delete, ``current`` is the value that was deleted.
    Not ``succeeded``: ``revision`` is the store's; ``current`` is the stored value, or None if the key is absent.
    """

    succeeded: bool
    revision: int
    current: KeyValue | None


class Event(NamedTuple):
    """One change of one key. ``kv`` is the new value, None for a deletion (an expired lease included);
    ``prev`` is the value before, None if there was none or if the watch was opened without ``prev``."""

    key: bytes
    mod_revision: int
    kv: KeyValue | None
    prev: KeyValue | None = None


class WatchBatch(NamedTuple):
    """Everything up to and including ``revision`` has now been delivered. ``events`` holds whole revisions, ascending,
    in key order within one; empty: progress only."""

    revision: int
    events: Sequence[Event]


class KVStatus(NamedTuple):
    """``cluster_id`` identifies the data (a restored or different store has another); sizes in bytes, 0 if unknown;
    ``version`` is the backend's own version text, for logs."""

    cluster_id: str
    revision: int
    compacted_revision: int
    db_size_bytes: int
    version: str


class Watch(Protocol):
    """An open watch: iterate it for batches, inside the context that opened it.

    Iteration raises Compacted when the start revision has been forgotten and Unavailable when the stream is lost; both
    end it. It never ends silently and never skips: after Unavailable, open again at the last batch's revision + 1.
    """

    def __aiter__(self) -> Watch: ...

    async def __anext__(self) -> WatchBatch: ...

    async def request_progress(self) -> None:
        """Ask for a batch (maybe empty) that carries the store's revision. Cheap; may be lost with the stream.

        Where an answer could overtake events (``trustworthy_progress`` is false) none comes.
        """


class KV(Protocol):
    """A revisioned byte store. All methods may raise Unavailable; none holds anything across a cancellation.

    ``trustworthy_progress``: a requested progress batch never overtakes events (etcd from 3.4.31, 3.5.13, 3.6).
    """

    trustworthy_progress: bool

    async def range(
        self, start: bytes, end: bytes, *, revision: int = LATEST, limit: int = 0, count_only: bool = False
    ) -> RangeResult:
        """Read ``start <= key < end`` from one snapshot, linearizably.

        Args:
            start, end: raw keys; ``end == b""`` means the single key ``start``.
            revision: snapshot to read; ``LATEST`` is the newest committed.
            limit: most items returned; 0 is no limit.
            count_only: return no items, only ``total`` and ``revision``.

        Raises:
            Compacted: the snapshot is forgotten. FutureRevision: not written yet.
        """

    async def put(self, key: bytes, value: bytes, *, expect: int, lease: int = 0) -> TxnResult:
        """Write ``value`` if the key's modification revision is ``expect`` (``ABSENT``: if there is no such key).

        Returns once the write is durable. A refused write reports what is stored, and is itself answered only after
        what it was judged against is durable.

        Raises:
            ValueTooLarge: over ``VALUE_LIMIT_BYTES``. ValueError: unknown lease.
        """

    async def delete(self, key: bytes, *, expect: int) -> TxnResult:
        """Remove the key if its modification revision is ``expect`` (never ``ABSENT``)."""

    def watch(self, prefix: bytes, start: int, *, prev: bool = False) -> AbstractAsyncContextManager[Watch]:
        """Open a watch over keys that begin with ``prefix``: all events with revision >= ``start``.

        ``start`` may be one past the newest revision. With ``prev`` each event carries the value before it (the value
        may be missing where that revision is compacted).
        """

    async def revision(self) -> int:
        """The store's revision, linearizable."""

    def revision_nowait(self) -> int | None:
        """The same without asking anybody, where the process owns the store; None where it must be asked."""

    def problem_nowait(self) -> str:
        """Why the store answers nothing now, as far as that is known without asking; else ``""``."""

    async def compact(self, revision: int) -> None:
        """Forget history at and below ``revision`` (its live values stay). Compacting lower again is no error.

        Raises:
            FutureRevision: above the store's revision.
        """

    async def grant(self, ttl_seconds: int) -> int:
        """Make a lease; keys put with it are deleted when it expires, each in a revision of its own where the backend
        decides that, else together. Returns its id, not 0."""

    async def status(self) -> KVStatus:
        """What this store is and how large."""

    async def close(self) -> None:
        """Stop; writes under way are finished or failed. Idempotent."""


@runtime_checkable
class CountsRequests(Protocol):
    """What a KV may be besides: one whose metrics tell requests apart by resource, of which it knows nothing itself."""

    def name_keys_by(self, name_of: Callable[[bytes], tuple[str, str]]) -> None:
        """``name_of`` gives group and resource of a key, both ``""`` for a key of no resource. Cheap; never raises."""


def prefix_end(prefix: bytes) -> bytes:
    """The first key after all keys that begin with ``prefix``; ``b"\\x00"`` if there is none (etcd: to the end)."""
    trimmed = prefix.rstrip(b"\xff")
    return trimmed[:-1] + bytes((trimmed[-1] + 1,)) if trimmed else b"\x00"
