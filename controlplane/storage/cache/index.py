"""The live map: every key's entry, in key order.

A mapping for one key, and two parallel lists of blocks (keys and entries) for ranges: a scan is a few slices, so 7,000
entries are gathered in well under a millisecond, and a count needs block lengths only. An insert moves at most one
block.

Source: the idea of a list of lists is sortedcontainers'; here entries lie beside their keys, so that scans look
nothing up.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from controlplane.base.shards import Sharded
from controlplane.storage.cache.entry import Entry

__all__ = ["Index"]

_BLOCK = 512
"""Entries a block is built with; it splits at twice that. At 100,000 entries: 200 blocks, and 8 KB moved an insert."""


class Index:
    """Keys to entries. Ranges are ``start <= key < end``."""

    __slots__ = ("_blocks", "_get", "_keys", "_last")

    def __init__(self) -> None:
        self._get: Sharded[bytes, Entry] = Sharded()
        self._blocks: list[list[Entry]] = []
        self._keys: list[list[bytes]] = []
        self._last: list[bytes] = []

    def append(self, entry: Entry) -> None:
        """Add an entry whose key is above all there are: how an index is built."""
        key = entry.key
        self._get[key] = entry
        if not self._last or len(self._keys[-1]) >= _BLOCK:
            self._last.append(key)
            self._keys.append([key])
            self._blocks.append([entry])
        else:
            self._last[-1] = key
            self._keys[-1].append(key)
            self._blocks[-1].append(entry)

    def shed(self) -> bool:
        """Forget one block, to free a large index without holding the loop; False when nothing is left."""
        if not self._last:
            return False
        self._last.pop()
        self._blocks.pop()
        for key in self._keys.pop():
            self._get.pop(key)
        return True

    def __len__(self) -> int:
        return len(self._get)

    def __iter__(self) -> Iterator[Entry]:
        for block in self._blocks:
            yield from block

    def get(self, key: bytes) -> Entry | None:
        return self._get.get(key)

    def put(self, entry: Entry) -> Entry | None:
        """Set the entry of its key; returns the one before. The first key object stays the only one in memory."""
        key = entry.key
        before = self._get.get(key)
        if before is not None:
            key = entry.key = before.key
            at = bisect_left(self._last, key)
            self._blocks[at][bisect_left(self._keys[at], key)] = entry
            self._get[key] = entry
            return before
        self._get[key] = entry
        if not self._last:
            self._last, self._keys, self._blocks = [key], [[key]], [[entry]]
            return None
        at = min(bisect_left(self._last, key), len(self._last) - 1)
        keys = self._keys[at]
        position = bisect_left(keys, key)
        keys.insert(position, key)
        self._blocks[at].insert(position, entry)
        if len(keys) > 2 * _BLOCK:
            self._split(at)
        else:
            self._last[at] = keys[-1]
        return None

    def pop(self, key: bytes) -> Entry | None:
        """Remove a key; returns its entry."""
        before = self._get.pop(key)
        if before is not None:
            at = bisect_left(self._last, key)
            keys = self._keys[at]
            position = bisect_left(keys, key)
            del keys[position], self._blocks[at][position]
            if keys:
                self._last[at] = keys[-1]
            else:
                del self._keys[at], self._blocks[at], self._last[at]
        return before

    def scan(self, start: bytes, end: bytes, *, limit: int = 0) -> list[Entry]:
        """The entries of a range, ascending; at most ``limit`` (0 is all)."""
        first, last = bisect_left(self._last, start), bisect_left(self._last, end)
        if first == len(self._last):
            return []
        found = self._blocks[first][
            bisect_left(self._keys[first], start) : bisect_left(self._keys[first], end) if last == first else None
        ]
        for at in range(first + 1, min(last + 1, len(self._last))):
            if limit and len(found) >= limit:
                break
            found += self._blocks[at] if at < last else self._blocks[at][: bisect_left(self._keys[at], end)]
        return found[:limit] if limit else found

    def count(self, start: bytes, end: bytes) -> int:
        """How many entries a range has."""
        return self._position(end) - self._position(start)

    def _position(self, key: bytes) -> int:
        at = bisect_left(self._last, key)
        if at == len(self._last):
            return len(self._get)
        return sum(map(len, self._keys[:at])) + bisect_left(self._keys[at], key)

    def _split(self, at: int) -> None:
        keys, block = self._keys[at], self._blocks[at]
        self._keys[at : at + 1] = keys[:_BLOCK], keys[_BLOCK:]
        self._blocks[at : at + 1] = block[:_BLOCK], block[_BLOCK:]
        self._last[at : at + 1] = [self._keys[at][-1], self._keys[at + 1][-1]]
