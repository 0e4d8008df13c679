"""Bookmarks: an object of the watched kind that says nothing but how far the watch has got.

Made once for all watchers that get the same. Source: KEP 956 (bookmarks), KEP 3157 (the end of initial events).
"""

from __future__ import annotations

from controlplane.base.streams import Chunk
from controlplane.storage.cache.selection import Selection

__all__ = ["Bookmarks"]


class Bookmarks:
    """Keeps the chunks of the newest revision."""

    __slots__ = ("_chunks", "_revision")

    def __init__(self) -> None:
        self._revision = 0
        self._chunks: dict[object, Chunk] = {}

    def line(self, selection: Selection, revision: int, *, first: bool, end: bool = False) -> bytes:
        """One bookmark line. ``end`` marks the end of the initial events; ``first`` as for any event."""
        resource = selection.view.resource
        metadata: dict[str, object] = {"resourceVersion": str(revision)}
        if end:
            metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
        api_version = selection.view.api_version(selection.version)
        bookmark = {"kind": resource.kind, "apiVersion": api_version, "metadata": metadata}
        return selection.object_frame(b"BOOKMARK", bookmark, first=first)

    def chunk(self, selection: Selection, revision: int, *, first: bool) -> Chunk:
        """An ordinary bookmark, shared."""
        if revision != self._revision:
            self._revision = revision
            self._chunks.clear()
        key = (selection.representation_key, first and selection.headed)
        chunk = self._chunks.get(key)
        if chunk is None:
            chunk = self._chunks[key] = Chunk(self.line(selection, revision, first=first))
        return chunk
