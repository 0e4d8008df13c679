"""Recent changes, in revision order, for watches that start in the recent past and lists of a recent state.

Knows nothing of selectors, encodings or sockets.

Guarantees (tests/unit/storage/cache/test_ring.py):
  ordered     revisions never decrease
  contiguous  every change with a revision above ``floor`` is there, whole revisions only
  bounded     the oldest go first: over ``max_bytes`` or ``max_changes`` at once, else when they are older than
              ``keep_seconds`` and more than ``min_changes`` are there

Source: the role of Kubernetes' watch cache history, whose 75 seconds outlast a request of a minute.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from controlplane.storage.cache.entry import Entry

__all__ = ["Change", "Ring", "RingBudget"]

CHANGE_BYTES = 250
"""What a change holds beyond its previous value: its tuple, its place in two lists, the previous entry's object."""

_MARK_SECONDS = 1.0
_DROPS_A_TRIM = 2_000
"""About 2 ms; what is left is dropped by the next trim, and the heartbeat trims four times a second."""


class Change(NamedTuple):
    """One change of one key: ``entry`` is the state after it (None: deleted), ``prev`` the one before (None: created,
    or unknown where it came from history that is compacted)."""

    revision: int
    key: bytes
    entry: Entry | None
    prev: Entry | None


class RingBudget(NamedTuple):
    """How much a ring keeps. Bytes are those that only the ring holds: previous values."""

    max_bytes: int = 48 << 20
    max_changes: int = 50_000
    min_changes: int = 2_000
    keep_seconds: float = 75.0


class Ring:
    """``floor``: all changes above this revision are here.

    Of a creation only the entry is kept, which says all of it: 80 bytes, and an object less for the collector.
    """

    __slots__ = ("_bytes", "_changes", "_dropped", "_marks", "_offset", "_revisions", "budget", "floor")

    def __init__(self, floor: int, budget: RingBudget) -> None:
        self.floor, self.budget = floor, budget
        self._revisions: list[int] = []
        self._changes: list[Change | Entry] = []
        self._offset = 0  # the changes before it are dropped, and removed from the lists now and then
        self._dropped = 0  # how many have been removed from the lists
        self._marks: deque[tuple[float, int]] = deque()  # (when, how many changes had ever been added)
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._changes) - self._offset

    @property
    def held_bytes(self) -> int:
        return self._bytes

    def append(self, change: Change) -> None:
        """Add the newest change. Call ``trim`` when its revision is complete, if it is ``over``."""
        self._revisions.append(change.revision)
        kept = change.entry if change.prev is None and change.entry is not None else change
        self._changes.append(kept)
        self._bytes += _weight(kept)

    def after(self, revision: int, *, limit: int = 0) -> list[Change]:
        """The changes with a higher revision than ``revision``, which is at least ``floor``; with a ``limit``, about so
        many, but whole revisions."""
        at = bisect_right(self._revisions, revision, self._offset)
        if not limit or at + limit >= len(self._revisions):
            return list(map(_change_of, self._changes[at:]))
        end = bisect_right(self._revisions, self._revisions[at + limit - 1], at)
        return list(map(_change_of, self._changes[at:end]))

    def backward(self, revision: int) -> Iterator[Change]:
        """The changes with a higher revision than ``revision``, the newest first: those that there are now, whatever
        happens while they are looked at."""
        kept = self._changes[bisect_right(self._revisions, revision, self._offset) :]
        return map(_change_of, reversed(kept))

    @property
    def over(self) -> bool:
        """Whether it is over what it may never be over."""
        return self._bytes > self.budget.max_bytes or len(self._changes) - self._offset > self.budget.max_changes

    def trim(self, now: float) -> None:
        """Drop what is over the budget or too old. Called at revision boundaries, and a few times a second; ``now`` in
        monotonic seconds."""
        budget, total = self.budget, self._dropped + len(self._changes)
        if not self._marks or now - self._marks[-1][0] >= _MARK_SECONDS:
            self._marks.append((now, total))
        expired = 0
        while self._marks and now - self._marks[0][0] > budget.keep_seconds:
            expired = self._marks.popleft()[1]
        keep_from = max(min(expired, total - budget.min_changes), total - budget.max_changes) - self._dropped
        stop = min(self._offset + _DROPS_A_TRIM, len(self._changes))
        if self._offset < min(keep_from, stop):
            self._drop_to(min(keep_from, stop))
        while self._offset < stop and self._bytes > budget.max_bytes:
            self._drop_to(self._offset + 1)
        if self._offset > 1024 and self._offset * 2 > len(self._changes):
            del self._revisions[: self._offset], self._changes[: self._offset]
            self._dropped += self._offset
            self._offset = 0

    def _drop_to(self, place: int) -> None:
        """Drop all changes before a place, which is behind the first, and those of the same revision as the last."""
        self.floor = self._revisions[place - 1]
        begin, end = self._offset, bisect_right(self._revisions, self.floor, place - 1)
        self._bytes -= sum(map(_weight, self._changes[begin:end]))
        self._changes[begin:end] = [_GONE] * (end - begin)
        self._offset = end


_GONE = Change(0, b"", None, None)


def _weight(kept: Change | Entry) -> int:
    prev = kept.prev if isinstance(kept, Change) else None
    return CHANGE_BYTES + (len(prev.data) if prev is not None else 0)


def _change_of(kept: Change | Entry) -> Change:
    return kept if isinstance(kept, Change) else Change(kept.mod_revision, kept.key, kept, None)
