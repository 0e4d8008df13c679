"""One key prefix that is served: how many objects it has, its ring, and who watches it.

A collection outlives the ``Resource`` values (generations, groups that share a prefix) that are views on it.

Channels are found by scope: the whole prefix, one namespace's prefix, or one key, so a change costs three look-ups
whatever the number of namespaces watched.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from controlplane.base.metrics import CounterChild
from controlplane.storage.cache.entry import Entry
from controlplane.storage.cache.forms import StoredForms
from controlplane.storage.cache.ring import Change, Ring

if TYPE_CHECKING:
    from controlplane.storage.cache.channel import Channel
    from controlplane.storage.cache.selection import Memo

__all__ = ["Collection", "Collections"]


class Collection:
    """``name``: group and resource, for metrics. ``prefix`` ends in a slash. ``raw`` and ``poisoned``: how many of
    its ``count`` entries are not read yet, and cannot be read. ``since``: changes at and below this revision are not
    in the ring, whatever the ring's floor. ``observer`` is shown every change in the step that applies it;
    ``foresees`` a long one before that, in a thread. ``newest``: the generation of the newest view. ``received`` and
    ``dispatched`` count its events, from the first on. ``forms``: what its objects have to be like."""

    __slots__ = (
        "count",
        "dispatched",
        "end",
        "foresees",
        "forms",
        "name",
        "newest",
        "observer",
        "poisoned",
        "prefix",
        "raw",
        "received",
        "ring",
        "scopes",
        "since",
        "volatile",
    )

    def __init__(self, name: tuple[str, str], prefix: bytes, ring: Ring, *, volatile: bool, since: int) -> None:
        self.name, self.prefix, self.end = name, prefix, prefix[:-1] + b"0"
        self.newest = ""
        self.ring, self.volatile, self.since = ring, volatile, since
        self.count = self.raw = self.poisoned = 0
        self.forms = StoredForms()
        self.received: CounterChild | None = None
        self.dispatched: CounterChild | None = None
        self.scopes: dict[bytes, list[Channel]] = {}
        self.observer: Callable[[Change], None] | None = None
        self.foresees: Callable[[Change], None] | None = None

    @property
    def floor(self) -> int:
        """Every change of this collection above this revision is in the ring."""
        return max(self.since, self.ring.floor)

    def counted(self, entry: Entry | None, step: int) -> None:
        """Count an entry in (1) or out (-1)."""
        if entry is not None:
            self.count += step
            if entry.origin.unread:
                self.raw += step
            elif entry.origin.poison:
                self.poisoned += step

    def join(self, channel: Channel) -> None:
        """Show changes to a channel from now on."""
        self.scopes.setdefault(channel.scope, []).append(channel)

    def leave(self, channel: Channel) -> None:
        channels = self.scopes[channel.scope]
        channels.remove(channel)
        if not channels:
            del self.scopes[channel.scope]

    def channels_of(self, key: bytes) -> list[Channel]:
        """The channels that may want a change of a key."""
        scopes = dict.fromkeys((self.prefix, key[: key.rfind(b"/") + 1], key))
        return [channel for scope in scopes for channel in self.scopes.get(scope, ())]

    def show(self, change: Change, memo: Memo) -> None:
        """Show one change to the channels that may want it. ``memo``: what has been made of it already."""
        scopes = self.scopes
        if not scopes:
            return
        key = change.key
        for channel in scopes.get(self.prefix, ()):
            channel.take(change, memo)
        namespace = key[: key.rfind(b"/") + 1]
        if namespace != self.prefix:
            for channel in scopes.get(namespace, ()):
                channel.take(change, memo)
        for channel in scopes.get(key, ()):
            channel.take(change, memo)


class Collections:
    """The collections of one mirror, found by a key that lies in them."""

    def __init__(self, root: bytes) -> None:
        self._root = len(root)
        self._by_segments: dict[bytes, Collection] = {}

    def add(self, collection: Collection) -> None:
        self._by_segments[collection.prefix[self._root :]] = collection

    def get(self, prefix: bytes) -> Collection | None:
        return self._by_segments.get(prefix[self._root :])

    def all(self) -> list[Collection]:
        return list(self._by_segments.values())

    def of(self, key: bytes) -> Collection | None:
        """The collection of a key: its prefix is one segment (native kinds) or two (all others)."""
        root = self._root
        one = key.find(b"/", root) + 1
        found = self._by_segments.get(key[root:one])
        if found is None and one:
            two = key.find(b"/", one) + 1
            found = self._by_segments.get(key[root:two]) if two else None
        return found

    def name_of(self, key: bytes) -> tuple[str, str]:
        """Group and resource of a key, both ``""`` for a key of no resource."""
        found = self.of(key)
        return found.name if found is not None else ("", "")
