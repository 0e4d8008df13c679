"""What one kind of watch sees of a change, and the bytes it gets.

Decided from the key where that is enough; an object is decoded for its predicate at most once a change, whatever the
number of watches (``memo`` lives as long as the step that applies the change), and a frame is made once for all watches
of one representation.

Filtered: entering the selection is ADDED, leaving it is DELETED, with the old state under the new resource version.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from controlplane.apimachinery.codec.json import dumps
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.status import APIError
from controlplane.base.aside import LONG_BYTES
from controlplane.storage.api import Predicate, Representation
from controlplane.storage.cache.entry import Entry
from controlplane.storage.cache.ring import Change
from controlplane.storage.cache.view import View
from controlplane.storage.errors import Compacted, Unreadable

__all__ = ["ADDED", "DELETED", "MODIFIED", "Frame", "Memo", "Selection"]

Memo = dict[Any, Any]
ADDED, MODIFIED, DELETED = b"ADDED", b"MODIFIED", b"DELETED"

Frame = tuple[bytes, bytes, bytes]
"""A framed event; and its type and the bytes it was made from, to make it again as a watcher's first event."""


class Selection:
    """``scope`` is a key prefix that ends in a slash, or one key. ``predicate`` ``signature`` ``""`` lets all
    through."""

    __slots__ = (
        "_all",
        "_suffix",
        "headed",
        "predicate",
        "representation",
        "representation_key",
        "scope",
        "version",
        "view",
    )

    def __init__(self, view: View, scope: bytes, predicate: Predicate, representation: Representation) -> None:
        self.view, self.scope = view, scope
        self.predicate, self.representation = predicate, representation
        self.version, self.headed = representation.version, representation.headed
        self._all = not predicate.signature or predicate.by_name_only
        self._suffix = b"" if predicate.name is None else b"/" + predicate.name.encode()
        self.representation_key = (view.resource.gr, self.version, representation.signature)

    @property
    def signature(self) -> tuple[bytes, str, str, str]:
        """Equal for selections of one view that see the same."""
        return self.scope, self.predicate.signature, self.version, self.representation.signature

    def admits(self, key: bytes) -> bool:
        """Whether a key of the collection may be of interest."""
        scope = self.scope
        in_scope = key.startswith(scope) if scope[-1] == 0x2F else key == scope
        return in_scope and (not self._suffix or key.endswith(self._suffix))

    async def ready(self, changes: Sequence[Change]) -> None:
        """Have all states converted that frames of these changes are made from.

        Raises:
            ConversionFailed, Unreadable.
        """
        states: list[Entry] = []
        for change in changes:
            if self.admits(change.key):
                if change.entry is not None:
                    states.append(change.entry)
                if (
                    change.prev is not None
                    and not change.prev.origin.poison
                    and (change.entry is None or not self._all)
                ):
                    states.append(change.prev)
        await self.view.ready(states, self.version)

    def matches(self, entry: Entry) -> bool:
        """Whether an entry whose key is admitted is selected. Raises Unreadable."""
        return self._all or self.predicate.matches(self.view.decode(entry, self.version))

    def is_long(self, *states: Entry | None) -> bool:
        """Whether to look at these states, or to frame them, takes so long that it is worth a thread."""
        return any(
            len(state.data) >= LONG_BYTES
            and not (self._all and self.representation.plain and self.view.is_made(state, self.version))
            for state in states
            if state is not None
        )

    def state_frame(self, entry: Entry, *, first: bool) -> bytes:
        """An entry of the initial state. Raises Unreadable."""
        return self.framed(ADDED, self._kept(entry), first=first)

    def framed(self, event: bytes, kept: bytes, *, first: bool) -> bytes:
        """One event of a watch, from the bytes of an entry that its representation starts from."""
        representation = self.representation
        answer = kept if representation.plain else representation.encode(kept, first=first)
        return representation.frame(event, answer)

    def object_frame(self, event: bytes, obj: Obj, *, first: bool) -> bytes:
        """An event with an object that is not stored."""
        encoding = self.representation.encoding
        return self.framed(event, dumps(obj) if encoding is None else encoding.encode(dumps(obj)), first=first)

    def error_frame(self, error: APIError) -> bytes:
        """An event that ends the watch with a Status."""
        return self.representation.frame(b"ERROR", self.representation.error(error.status()))

    def _kept(self, entry: Entry) -> bytes:
        if self.representation.metadata_alone:
            return self.view.with_metadata(entry, self.version)
        return self.view.encoded(entry, self.version, self.representation.encoding)

    def frame(self, change: Change, memo: Memo) -> Frame | None:
        """What a watch is sent of a change whose key is in scope; None if nothing.

        Raises:
            Unreadable: the new state, or the old one where it counts.
            Compacted: the old state counts and history has lost it.
        """
        if self._suffix and not change.key.endswith(self._suffix):
            return None
        event = self._event(change, memo)
        if event is None:
            return None
        memo_key = (event, self.representation_key)
        frame: Frame | None = memo.get(memo_key)
        if frame is None:
            kept = self._kept(self._gone(change, memo) if event is DELETED else _present(change))
            frame = self.framed(event, kept, first=False), event, kept
            memo[memo_key] = frame
        return frame

    def _event(self, change: Change, memo: Memo) -> bytes | None:
        entry, prev = change.entry, change.prev
        if self._all:
            if entry is None:
                return DELETED
            return ADDED if entry.create_revision == entry.mod_revision else MODIFIED
        selected = entry is not None and self._matches(entry, memo)
        if entry is None or entry.create_revision != entry.mod_revision:
            if prev is None:
                raise Compacted(change.revision - 1, 0)
            was_selected = not prev.origin.poison and self._matches(prev, memo)
        else:
            was_selected = False
        if selected:
            return MODIFIED if was_selected else ADDED
        return DELETED if was_selected else None

    def _matches(self, entry: Entry, memo: Memo) -> bool:
        memo_key = (entry.mod_revision, self.version, self.view.resource.gr)
        obj: Obj | None = memo.get(memo_key)
        if obj is None:
            obj = memo[memo_key] = self.view.decode(entry, self.version)
        return self.predicate.matches(obj)

    def _gone(self, change: Change, memo: Memo) -> Entry:
        gone: Entry | None = memo.get(DELETED)
        if gone is None:
            if change.prev is None:
                raise Compacted(change.revision - 1, 0)
            self.view.prepare(change.prev)
            gone = memo[DELETED] = change.prev.at_revision(change.revision)
        return gone


def _present(change: Change) -> Entry:
    if change.entry is None:
        raise Unreadable(change.key, "a deletion has no new state")
    return change.entry
