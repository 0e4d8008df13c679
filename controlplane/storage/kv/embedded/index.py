"""The live index: every key there is now, without its value.

Committed state only; what is under way lies over it in the engine. A plain mapping: conditions need no order, and
keeping one would cost more than all the rest of a write (ranges are ordered by the log).
"""

from __future__ import annotations

from collections.abc import Iterable

from controlplane.base.shards import Sharded
from controlplane.storage.kv.embedded.records import Entry, Record

__all__ = ["LiveIndex"]


class LiveIndex:
    """Key -> entry. What was created and never changed since, without a lease, is kept as its revision alone: an int
    that events share. So it is about 50 bytes a key, and 70 more if it was changed, beyond the key's own bytes, which
    are shared with events too."""

    __slots__ = ("_kept",)

    def __init__(self, entries: Iterable[tuple[bytes, Entry]] = ()) -> None:
        self._kept: Sharded[bytes, int | Entry] = Sharded()
        for key, (revision, created, version, lease) in entries:
            self.add(key, revision, created, version, lease)

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: bytes) -> Entry | None:
        """The entry of a key."""
        kept = self._kept.get(key)
        return (kept, kept, 1, 0) if isinstance(kept, int) else kept

    def add(self, key: bytes, revision: int, created: int, version: int, lease: int) -> None:
        """Set a key's entry."""
        plain = version == 1 and created == revision and not lease
        self._kept[key] = revision if plain else (revision, created, version, lease)

    def apply(self, records: Iterable[Record]) -> None:
        """Take over committed records, in order."""
        for revision, key, value, created, _, version, lease in records:
            if value is None:
                self._kept.pop(key)
            else:
                self.add(key, revision, created, version, lease)

    def leased(self) -> Iterable[tuple[int, bytes]]:
        """(lease, key) of every key under a lease."""
        return ((kept[3], key) for key, kept in self._kept.items() if not isinstance(kept, int) and kept[3])
