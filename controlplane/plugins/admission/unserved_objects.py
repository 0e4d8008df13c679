"""The objects in a store that are not served here: how many there are, by namespace and by owner.

There may be as many as another server serves, and they are asked for often where that server is away. So they are
looked at once, when they are first asked for, and from then on those that have changed since: in slices, and most by
their keys alone.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import NamedTuple

from controlplane.apimachinery.codec.json import MalformedJSON, loads
from controlplane.storage.cache.entry import Entry
from controlplane.storage.cache.mirror import Mirror
from controlplane.storage.cache.slices import Slices

__all__ = ["UnservedObjects"]

_OWN_KEYS = b"controlplane/"
"""Below the store's prefix: what servers keep for themselves."""
_OWNED = b'"ownerReferences"'
_CHANGES = 10_000
"""So many changed keys are remembered beside those of known objects; with more, all is looked at anew."""


class _Seen(NamedTuple):
    """An object. ``resource``: as its key names it, ``plural.group``."""

    resource: str
    namespace: str
    owners: frozenset[str]


class UnservedObjects:
    """See ``storage.cache.image.UnclaimedObserver``. What is counted is what the mirror had when it was asked for, or
    newer."""

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror
        self._turn = asyncio.Lock()
        self._known = False
        """Whether all has been looked at once, so that changes matter."""
        self._changed: set[bytes] = set()
        self._seen: dict[bytes, _Seen] = {}
        self._in_namespace: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._owned_by: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.close = mirror.observe_unclaimed(self)

    async def in_namespace(self, namespace: str) -> Mapping[str, int]:
        """How many there are in a namespace, by resource."""
        await self._catch_up()
        return self._in_namespace.get(namespace, {})

    async def owned_by(self, uid: str) -> Mapping[str, int]:
        """How many name this object their owner, by resource."""
        await self._catch_up()
        return self._owned_by.get(uid, {})

    # Of the mirror's steps.

    def changed(self, keys: Iterable[bytes]) -> None:
        if self._known:
            self._changed.update(keys)
            if len(self._changed) > len(self._seen) + _CHANGES:
                self.replaced()

    def replaced(self) -> None:
        self._known = False
        self._changed = set()

    async def _catch_up(self) -> None:
        async with self._turn:
            try:
                while not self._known or self._changed:
                    await self._look()
                    if self._known:  # else the image has been replaced meanwhile
                        return
            except BaseException:
                self.replaced()  # nobody knows what has been left out
                raise

    async def _look(self) -> None:
        """Look at all, or at what has changed."""
        slices = Slices()
        if not self._known:
            self._known = True
            self._changed = set(self._seen)  # what has gone is seen to, too
            for entry in self._mirror.unclaimed():
                self._changed.add(entry.key)
                if slices.due():
                    await slices.rest()
        changed, self._changed = self._changed, set()
        for key in changed:
            self._look_at(key)
            if slices.due():
                await slices.rest()

    def _look_at(self, key: bytes) -> None:
        before = self._seen.pop(key, None)
        if before is not None:
            self._count(before, -1)
        entry = self._mirror.unclaimed_entry(key)
        seen = self._read(entry) if entry is not None else None
        if seen is not None:
            self._seen[key] = seen
            self._count(seen, 1)

    def _count(self, seen: _Seen, step: int) -> None:
        places = [(self._owned_by, owner) for owner in seen.owners]
        if seen.namespace:
            places.append((self._in_namespace, seen.namespace))
        for counted, place in places:
            by_resource = counted[place]
            by_resource[seen.resource] += step
            if not by_resource[seen.resource]:
                del by_resource[seen.resource]
                if not by_resource:
                    del counted[place]

    def _read(self, entry: Entry) -> _Seen | None:
        """What an entry says of its object; None if its key is no object's. One that cannot be read lies where its key
        says, and has no owners."""
        key = entry.key[len(self._mirror.prefix) :]
        parts = key.decode(errors="replace").split("/")
        if len(parts) < 3 or key.startswith(_OWN_KEYS):  # at least a resource, a namespace or group, and a name
            return None
        data = self._mirror.peek(entry)
        namespace, owners = parts[-2], frozenset[str]()
        if len(parts) == 3 or _OWNED in data:  # by its key alone it may lie in no namespace, but in a group
            with suppress(MalformedJSON, KeyError, TypeError, AttributeError):  # not readable: then its key must do
                metadata = loads(data)["metadata"]
                found = str(metadata.get("namespace") or "")
                owners = frozenset(str(ref["uid"]) for ref in metadata.get("ownerReferences") or ())
                namespace = found
        return _Seen(".".join(reversed(parts[: -2 if namespace else -1])), namespace, owners)
