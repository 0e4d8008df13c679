"""The seam below the engine: where records become durable and where values and history are read from.

A log decides nothing: conditions and revisions were settled by the engine. It stores groups of records in the order
given, whole or not at all, and reads them back.

Knows nothing of watches, waiters or leases' timers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from controlplane.base.values import dataclass
from controlplane.storage.errors import Unavailable
from controlplane.storage.kv.api import KeyValue
from controlplane.storage.kv.embedded.index import LiveIndex
from controlplane.storage.kv.embedded.records import Record

__all__ = ["FIRST_REVISION", "Batch", "Changes", "Image", "Log"]

FIRST_REVISION = 1
"""An empty store's revision, as etcd has it: 0 means "any" to clients."""


@dataclass(slots=True)
class Image:
    """What a log holds when it is read whole: everything the engine keeps in memory. ``leases``: id -> expiry in
    seconds since 1970. The log builds the index, since it has a thread for that."""

    cluster_id: str
    revision: int
    compacted: int
    index: LiveIndex
    leases: dict[int, float]


class Batch:
    """What one commit makes durable: records in ascending revisions, leases granted (id, expiry), leases ended."""

    __slots__ = ("ended", "granted", "records")

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.granted: list[tuple[int, float]] = []
        self.ended: list[int] = []


class Changes(NamedTuple):
    """Records in ascending revisions; all of those asked for up to and including ``through`` are here."""

    records: list[Record]
    through: int


class Log(Protocol):
    """Durable storage of records. Every read may raise Unavailable. Reads of revisions at or below a floor that was
    passed to ``forget`` may miss rows; the engine checks its floor after each read."""

    version: str
    """The backend's own version text, for logs."""

    async def load(self) -> Image:
        """Read everything there is from the medium, after opening and after a failed append."""

    def append(self, batch: Batch, done: Callable[[Unavailable | None], None]) -> None:
        """Make ``batch`` durable, then call ``done`` on the loop: None, or why it failed.

        ``outcome_known`` of the error: nothing of the batch is stored. The engine has one append under way at a time.
        """

    async def records(self, revisions: Sequence[int]) -> list[Record]:
        """The records of these revisions, in any order; those forgotten or never written are left out."""

    async def snapshot(self, start: bytes, end: bytes | None, revision: int, limit: int) -> list[KeyValue]:
        """``start <= key < end`` (None: to the end) as of ``revision``, ascending by key; ``limit`` 0 is none."""

    async def count(self, start: bytes, end: bytes | None, revision: int) -> int:
        """How many keys that snapshot has."""

    async def changes(self, start: bytes, end: bytes | None, first: int, last: int) -> Changes:
        """Records of these keys with ``first <= revision <= last``, at most a page of the log's own choosing."""

    async def forget(self, revision: int) -> None:
        """Store the compaction floor durably; rows it makes superfluous may be removed from now on, in the log's own
        time: what was replaced at or below it, and tombstones at or below it. The snapshot at the floor stays whole."""

    async def size_bytes(self) -> int:
        """Bytes on the medium; 0 if unknown."""

    async def close(self) -> None:
        """Finish what was handed over, then let go of the medium. Idempotent."""
