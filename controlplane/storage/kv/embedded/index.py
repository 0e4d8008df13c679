"""The live index: every key there is now, in order, without its value.

Committed state only; what is under way lies over it in the engine.
"""

from __future__ import annotations

from collections.abc import Iterable

from sortedcontainers import SortedDict  # type: ignore[import-untyped]  # it has no stubs

from controlplane.storage.kv.embedded.records import Entry, Record

__all__ = ["LiveIndex"]


class LiveIndex:
    """Key -> entry, ordered. About 200 bytes a key beyond the key's own bytes, which are shared with events."""

    __slots__ = ("_entries", "get")

    def __init__(self, entries: Iterable[tuple[bytes, Entry]] = ()) -> None:
        """``entries``: ascending by key."""
        self._entries: SortedDict[bytes, Entry] = SortedDict(entries)
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

    def count(self, start: bytes, end: bytes | None) -> int:
        """How many keys lie in ``start <= key < end`` (None: to the end)."""
        first: int = self._entries.bisect_left(start)
        last: int = len(self._entries) if end is None else self._entries.bisect_left(end)
        return max(0, last - first)

    def leased(self) -> Iterable[tuple[int, bytes]]:
        """(lease, key) of every key under a lease."""
        return ((entry[3], key) for key, entry in self._entries.items() if entry[3])
