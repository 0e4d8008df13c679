"""The storage seam: what the registry asks of storage for one resource.

Above it: objects, strategies, admission. Below it: the mirror (reads, lists, watches, from memory) and the KV (writes).
An ``Entry`` is one object as kept in memory: its JSON, ready to be sent, and where it came from. Nothing here decodes
or encodes unless something must change.

Revisions are ints here and opaque strings on the wire.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import Enum
from typing import NamedTuple, Protocol

from controlplane.apimachinery.identity import Key, Obj
from controlplane.base.streams import Sink
from controlplane.base.values import dataclass

__all__ = [
    "ANY",
    "CONSISTENT",
    "Encoding",
    "Entry",
    "Freshness",
    "Keep",
    "ListResult",
    "Match",
    "Predicate",
    "Representation",
    "Storage",
    "WatchOptions",
]


class Entry(Protocol):
    """One stored object in memory, immutable. ``key`` is the whole store key; revisions are its own."""

    @property
    def key(self) -> bytes: ...
    @property
    def mod_revision(self) -> int: ...
    @property
    def create_revision(self) -> int: ...


class Match(Enum):
    """How a list's revision is meant (``resourceVersionMatch``)."""

    NOT_OLDER_THAN = "NotOlderThan"
    EXACT = "Exact"


class Freshness(NamedTuple):
    """How new a read must be. ``revision`` None: consistent (at least every write acknowledged before the call);
    0: whatever is there; N: at least N, or exactly the state at N with ``Match.EXACT``."""

    revision: int | None
    match: Match = Match.NOT_OLDER_THAN


CONSISTENT = Freshness(None)
ANY = Freshness(0)


class Predicate(Protocol):
    """Which objects a list or watch wants. ``signature`` is equal for equal predicates and ``""`` for "all";
    ``name`` is set if only the object of this name can match (``metadata.name=x``); ``by_name_only``: and nothing else
    is asked, so that the key decides."""

    @property
    def signature(self) -> str: ...
    @property
    def name(self) -> str | None: ...
    @property
    def by_name_only(self) -> bool: ...
    def matches(self, obj: Obj) -> bool: ...


class Encoding(Protocol):
    """Another encoding of objects than JSON, kept beside it. ``name`` is equal for encodings of one version that give
    the same bytes."""

    @property
    def name(self) -> str: ...
    def encode(self, served: bytes) -> bytes:
        """From served JSON.

        Raises:
            ValueError: the object has no such form.
        """


class Representation(Protocol):
    """The form in which entries leave: plain JSON of a version, a Table, PartialObjectMetadata, protobuf.

    ``signature`` is equal for equal representations; ``version`` is the served version it starts from. It starts from
    the entry's bytes in ``encoding`` (None: its served JSON); ``plain`` says that these are the answer as they are.
    Otherwise ``encode`` makes the answer's bytes; ``headed``: those of a watcher's first event differ, and are made
    with ``first`` (tables send column headers once). ``frame`` makes an event from the answer's bytes; ``error`` makes
    those of a Status. ``metadata_alone``: nothing but the metadata is looked at, in whichever version.
    """

    @property
    def signature(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def encoding(self) -> Encoding | None: ...
    @property
    def plain(self) -> bool: ...
    @property
    def headed(self) -> bool: ...
    @property
    def metadata_alone(self) -> bool: ...
    def encode(self, kept: bytes, *, first: bool = False) -> bytes: ...
    def frame(self, event: bytes, answer: bytes) -> bytes: ...
    def error(self, status: Obj) -> bytes: ...


class ListResult(NamedTuple):
    """``entries`` ascend by key and are one snapshot at ``revision``. ``continue_key``: where the next page starts (the
    store key after the last one returned), None at the end. ``remaining``: how many are left, None if unknown."""

    entries: Sequence[Entry]
    revision: int
    continue_key: bytes | None
    remaining: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchOptions:
    """``revision`` N: all after N, nothing before. None or 0: with the present state first, as ADDED events.

    ``initial_events``: state first (``sendInitialEvents``), whatever ``revision`` (which the state must not be older
    than; None: consistent). ``end_bookmark``: mark the end of the initial events by a bookmark annotated
    ``k8s.io/initial-events-end``. ``bookmarks``: send bookmarks. ``timeout_seconds``: end the watch then.
    """

    revision: int | None = None
    initial_events: bool = False
    end_bookmark: bool = False
    bookmarks: bool = False
    timeout_seconds: float | None = None


class Keep(Enum):
    """What an update's mutate function returns to leave the object as it is."""

    KEEP = "keep"


class Storage(Protocol):
    """Objects of one resource. ``namespace`` None is all namespaces (or a cluster-scoped resource's all).

    Raises, everywhere: Unavailable and its kind (Stale); Unreadable for the object it concerns.
    """

    def key_of(self, entry: Entry) -> Key:
        """Namespace and name of an entry, from its store key."""

    def store_key(self, key: Key) -> bytes:
        """The whole store key of an object, the inverse of ``key_of``; any name will do, also one that ends in NUL."""

    async def get(self, key: Key, fresh: Freshness) -> Entry:
        """Read one object.

        Raises:
            KeyNotFound. FutureRevision: ``fresh.revision`` did not come within 3 s.
        """

    def revision_nowait(self, key: Key) -> int:
        """The revision at which memory has an object, however old that is; 0: it knows of none."""

    async def list(
        self,
        namespace: str | None,
        predicate: Predicate,
        fresh: Freshness,
        *,
        version: str,
        limit: int = 0,
        continue_key: bytes | None = None,
    ) -> ListResult:
        """Read one snapshot, or one page of it. A continuation passes ``Freshness(N, EXACT)`` and ``continue_key``.

        ``version``: the served version whose form the predicate reads.

        Raises:
            Compacted: the exact revision is forgotten. FutureRevision: as for get.
        """

    async def served(self, entries: Sequence[Entry], version: str, encoding: Encoding | None = None) -> Sequence[bytes]:
        """The bytes of each entry in a served version, ``metadata.resourceVersion`` included, in order: its JSON, or
        what ``encoding`` makes of it.

        Where stored and served forms agree these are the kept bytes themselves.
        """

    def served_nowait(self, entry: Entry, version: str, encoding: Encoding | None = None) -> bytes | None:
        """The same for one, if its bytes are ready; else None."""

    async def decode(self, entry: Entry, version: str) -> Obj:
        """A fresh object, the caller's to change, in a served version, ``metadata.resourceVersion`` set."""

    async def converted(self, obj: Obj, version: str) -> Obj:
        """An object of any served version in another one; it may share parts with ``obj``.

        Raises:
            ConversionFailed.
        """

    async def create(self, key: Key, obj: Obj, *, ttl_seconds: int = 0) -> Entry:
        """Store a new object (given in any version of the resource; stored in the storage version).

        Raises:
            KeyExists. ValueTooLarge: also without its managedFields.
        """

    async def update(
        self, key: Key, mutate: Callable[[Obj, Entry], Awaitable[Obj | Keep]], *, version: str, ttl_seconds: int = 0
    ) -> Entry:
        """Change an object: ``mutate`` gets a fresh copy of what is stored (in ``version``) and returns the new object.

        It is called again after a lost race, with the newer state, and also once more when it raised on a state that
        came from memory and may have been old; so it must have no effects of its own. Nothing is written when the
        stored bytes would not change (unless they are stale), and the entry returned is then the stored one.

        Raises:
            KeyNotFound; ValueTooLarge; whatever ``mutate`` raises on a state that is proved current.
        """

    async def delete(self, key: Key, check: Callable[[Obj, Entry], Awaitable[None]], *, version: str) -> Entry:
        """Remove an object after ``check`` has accepted its current state (called as ``mutate`` is).

        Returns:
            The last state, its ``mod_revision`` being the deletion's.
        """

    async def watch(
        self, namespace: str | None, predicate: Predicate, representation: Representation, options: WatchOptions
    ) -> Callable[[Sink], Awaitable[None]]:
        """Open a watch; the function returned writes it to a sink, as WatchEvents in chunks, until
        the timeout, the sink's close, or its own failure. Errors after opening are ERROR events in the stream.

        Raises:
            Unavailable: the mirror has not loaded yet.
        """

    def count(self) -> int:
        """How many objects there are, as far as memory knows."""


Attributes = Callable[[Obj], Mapping[str, str]]
