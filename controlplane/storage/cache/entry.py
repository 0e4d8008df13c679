"""One object in memory: one byte string, ready to be sent, and where it came from.

``data`` is the stored JSON with ``"resourceVersion":"N"`` as the first field of its metadata, so an object is sent by
writing ``data``, and the stored bytes are found again by taking those few bytes out. Memory beyond the JSON is counted
in ``tests/bench/bench_mirror.py``; hence the slots, and origins that are shared by all entries of a kind.
"""

from __future__ import annotations

from functools import lru_cache

from controlplane.storage.errors import Unreadable

__all__ = ["RAW", "SPLICED", "Entry", "Origin", "origin_of", "poisoned"]


class Origin:
    """Where an entry's bytes came from; shared by all entries that came from there.

    ``api_version`` and ``kind`` as stored; ``key_id`` of the encryption key; ``stale``: stored otherwise than it would
    be now; ``poison``: why the value cannot be read, ``""`` if it can; ``unread``: nobody has looked yet, so the rest
    is not known.
    """

    __slots__ = ("api_version", "key_id", "kind", "poison", "stale", "unread")

    def __init__(
        self,
        api_version: str,
        kind: str,
        *,
        key_id: str = "",
        stale: bool = False,
        poison: str = "",
        unread: bool = False,
    ) -> None:
        self.api_version, self.kind = api_version, kind
        self.key_id, self.stale, self.poison, self.unread = key_id, stale, poison, unread


RAW = Origin("", "", unread=True)
"""Origin of an entry that nobody serves yet: its data is the stored value as it is, encrypted or not."""

SPLICED = Origin("", "", unread=True)
"""Origin of an entry that nobody serves yet and whose value lies as we write it: the revision is spliced in, so that it
keeps its place in memory when it is read; that it can be decoded is not proved yet."""


@lru_cache(maxsize=4096)
def origin_of(api_version: str, kind: str, key_id: str, stale: bool) -> Origin:  # noqa: FBT001  # a cache key
    """The shared origin of these."""
    return Origin(api_version, kind, key_id=key_id, stale=stale)


def poisoned(why: str) -> Origin:
    """The origin of a value that cannot be read."""
    return Origin("", "", poison=why)


class Entry:
    """One stored object, immutable to all but the intake, which reads an unread one in place.

    ``forms`` caches served versions: the resource generation they were made for, and bytes by apiVersion (None: the
    entry's own), with the name of their encoding after a semicolon if that is not JSON. It may be shared, and is
    replaced rather than changed.
    """

    __slots__ = ("create_revision", "data", "forms", "key", "mod_revision", "origin")

    def __init__(self, key: bytes, data: bytes, mod_revision: int, create_revision: int, origin: Origin) -> None:
        self.key, self.data = key, data
        self.mod_revision = mod_revision
        # one int object where both are equal: 32 bytes an object that was never updated
        self.create_revision = mod_revision if create_revision == mod_revision else create_revision
        self.origin = origin
        self.forms: tuple[str, dict[str, bytes | None]] | None = None

    def at_revision(self, revision: int) -> Entry:
        """The same state under another resource version: what a deletion at ``revision`` reports. Forms come along."""
        now, then = b'"resourceVersion":"%d"' % revision, b'"resourceVersion":"%d"' % self.mod_revision
        later = Entry(self.key, self.data.replace(then, now, 1), revision, self.create_revision, self.origin)
        if self.forms is not None:
            generation, forms = self.forms
            later.forms = generation, {v: data and data.replace(then, now, 1) for v, data in forms.items()}
        return later

    def require_readable(self) -> None:
        """Say so if it cannot be read; it must not be unread.

        Raises:
            Unreadable.
        """
        if self.origin.poison:
            raise Unreadable(self.key, self.origin.poison)

    def __repr__(self) -> str:
        return f"Entry({self.key.decode(errors='replace')} @{self.mod_revision})"
