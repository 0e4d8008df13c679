"""The live index: every key there is now, without its value.

Committed state only; what is under way lies over it in the engine. A plain dict: conditions need no order, and keeping
one would cost more than all the rest of a write (ranges are ordered by the log).
"""

from __future__ import annotations

from collections.abc import Iterable

from controlplane.storage.kv.embedded.records import Entry, Record

__all__ = ["LiveIndex"]


class LiveIndex:
    """Key -> entry. About 200 bytes a key beyond the key's own bytes, which are shared with events."""

    __slots__ = ("_entries", "get")

    def __init__(self, entries: Iterable[tuple[bytes, Entry]] = ()) -> None:
        self._entries: dict[bytes, Entry] = dict(entries)
        self.get = self._entries.get

    def __len__(self) -> int:
        return len(self._entries)

    def apply(self, records: Iterable[Record]) -> None:
        """Take over committed records, in order."""
        entries = self._entries
        for revision, key, value, create_revision, _, version, lease in records:
            if value is None:
                entries.pop(key, None)
            else:
                entries[key] = (revision, create_revision, version, lease, key)

    def leased(self) -> Iterable[tuple[int, bytes]]:
        """(lease, key) of every key under a lease."""
        return ((entry[3], key) for key, entry in self._entries.items() if entry[3])
