"""The mirror: one ordered in-memory image of one KV, fed by its one watch stream, whatever the number of resources.

All reads, lists and watches are views on it. Its parts: ``image`` (state), ``follower`` (keeps it true),
``consistency`` (proves it current), ``history`` (what lies before it), ``channel`` and ``watcher`` (who is told),
``flusher`` (when).

Guarantees: the watch contract, each part a named test in tests/unit/storage/cache/test_watch_contract.py, and as a
model in tests/property/test_watch_contract.py.

Source: the role of kubernetes/apiserver ``pkg/storage/cacher``; one for all resources here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple, Protocol

from controlplane.apimachinery.resource import Resource
from controlplane.base.clock import Clock, SystemClock
from controlplane.base.tasks import Owner
from controlplane.storage.cache.bookmarks import Bookmarks
from controlplane.storage.cache.channel import Bell, Channel
from controlplane.storage.cache.collection import Collection
from controlplane.storage.cache.consistency import Consistency
from controlplane.storage.cache.entry import Entry
from controlplane.storage.cache.flusher import Flusher
from controlplane.storage.cache.follower import Follower
from controlplane.storage.cache.history import History
from controlplane.storage.cache.image import Budgets, Image, UnclaimedObserver
from controlplane.storage.cache.intake import Intake
from controlplane.storage.cache.metrics import RESOURCE_VERSION, WATCHERS
from controlplane.storage.cache.remote import Flights
from controlplane.storage.cache.rereading import Rereading
from controlplane.storage.cache.ring import Change
from controlplane.storage.cache.selection import Selection
from controlplane.storage.cache.slices import Slices
from controlplane.storage.cache.view import RELABEL, ByObject, Conversion, View
from controlplane.storage.cache.waiters import Waiters
from controlplane.storage.cache.watcher import Watcher
from controlplane.storage.kv.api import ABSENT, KV, CountsRequests, prefix_end
from controlplane.storage.transform import IDENTITY, Transformer

if TYPE_CHECKING:
    from controlplane.storage.api import Storage

__all__ = ["Mirror", "MirrorStatistics", "Observer"]

HEARTBEAT_SECONDS = 0.25
"""How often bookmarks, timeouts and promises are looked at: one timer for all of them."""


class Observer(Protocol):
    """Hears of one resource's changes on the loop, in the very step that applies them. Must not raise or wait."""

    def changed(self, change: Change) -> None:
        """One change; others of the same step may follow."""

    def step(self) -> None:
        """A step is over in which this or another observer was told of something; those who wait for its revision are
        told after this."""

    def replaced(self) -> None:
        """There is another image, also the first: everything may have changed. ``step`` follows."""


class MirrorStatistics(NamedTuple):
    """A snapshot for logs and tests. ``ring_*``: ordinary and volatile together."""

    revision: int
    keys: int
    ring_changes: int
    ring_bytes: int
    watchers: int
    channels: int
    decode_errors: int


class Mirror:
    """An image of ``kv`` below ``prefix``.

    ``transformer`` is the encryption at rest. ``freeze`` moves what is loaded out of the garbage collector's sight: for
    processes that are a server, not for tests. ``on_failure`` hears of an error that is a defect of ours; then the
    mirror is no longer true.

    ``clock`` and ``budgets`` are for tests. ``horizon``: below this revision nothing can be resumed, since the image
    was loaded anew at it; ``watchers``: the open ones.
    """

    def __init__(
        self,
        kv: KV,
        *,
        prefix: bytes = b"/registry/",
        clock: Clock | None = None,
        transformer: Transformer = IDENTITY,
        freeze: bool = False,
        budgets: Budgets | None = None,
        on_failure: Callable[[BaseException], None] | None = None,
    ) -> None:
        self.kv, self.prefix, self.clock = kv, prefix, clock or SystemClock()
        self.intake = Intake(transformer)
        self.image = Image(self.intake, prefix, budgets or Budgets())
        self._rereading = Rereading(self.image, self._readable)
        transformer.attach(self._rereading)
        if isinstance(kv, CountsRequests):
            kv.name_keys_by(self.image.collections.name_of)
        self.waiters = Waiters()
        self.bookmarks = Bookmarks()
        self.watchers: set[Watcher] = set()
        self.horizon = 0
        self.closed = False
        self._marker_key = prefix + b"controlplane/progress"
        self._flusher = Flusher()
        self._channels: dict[tuple[View, tuple[bytes, str, str, str]], Channel] = {}
        self._observers: list[Observer] = []
        self._loaded = asyncio.Event()
        self.consistency = Consistency(kv, self, self.waiters, self.clock, marker_key=self._marker_key)
        self.history = History(kv, self.intake, prefix, self.consistency.mark)
        self._follower = Follower(
            kv,
            self.image,
            prefix,
            self.clock,
            on_advance=self._advanced,
            on_replace=self._replaced,
            freeze=freeze,
        )
        self._owner = Owner("mirror", on_failure=on_failure)
        self._flights = Flights(lambda flight: self._owner.start(flight, name="convert"))

    async def start(self) -> None:
        """Load the store and follow it; returns when it is loaded. A store that does not answer is tried again until
        the caller gives up (cancel, then ``close``)."""
        self._owner.start(self._follower.run(), name="follow")
        self._owner.start(self.consistency.ask(), name="ask")
        self._owner.start(self.consistency.help_along(), name="help")
        self._owner.start(self._beat(), name="heartbeat")
        await self._loaded.wait()
        self._rereading.start(self._owner)

    async def close(self) -> None:
        """End all watches and stop. Idempotent. The KV stays open."""
        self.closed = True
        self._follower.lost = "closed"
        self.end_watches()
        self.waiters.close()
        await self._owner.close()

    @property
    def revision(self) -> int:
        """Everything up to this revision is in."""
        return self.image.revision

    @property
    def loaded(self) -> bool:
        """Whether there is an image to read at all."""
        return self._follower.loaded

    @property
    def ready(self) -> bool:
        """Whether the image is loaded and followed."""
        return not self._follower.lost

    @property
    def not_ready_reason(self) -> str:
        """Why not ``ready``; ``""`` if it is."""
        return self._follower.lost

    def storage(self, resource: Resource, *, conversion: Conversion | None = None) -> Storage:
        """Objects of one resource; at any time, also before the start. ``conversion``: the resource's own ``convert``,
        or, without one, a change of the version's name. A changed resource (another generation) gets a
        storage of its own over the same objects, and the watches of the old one go on until they are ended."""
        from controlplane.storage.objects.storage import ObjectStorage  # it is above this module

        if conversion is None:
            stored = resource.storage_gvk.api_version
            conversion = RELABEL if resource.convert is None else ByObject(resource.convert, stored)
        view = View(resource, self._collection(resource), self.intake, conversion, self._flights)
        return ObjectStorage(self, view)

    def observe(
        self, resource: Resource, observer: Observer, *, foresees: Callable[[Change], None] | None = None
    ) -> Callable[[], None]:
        """Tell an observer of a resource's changes from now on, and of what there is if the image is loaded. One
        observer to a resource. ``foresees`` is shown a long change before it is applied, in a thread. Returns how to
        stop."""
        collection = self._collection(resource)
        if collection.observer is not None:
            raise ValueError(f"{resource.gr} is observed already")
        collection.observer, collection.foresees = observer.changed, foresees
        self._observers.append(observer)
        if self.loaded:
            observer.replaced()
            observer.step()

        def stop() -> None:
            collection.observer = collection.foresees = None
            self._observers.remove(observer)

        return stop

    def entries(self, resource: Resource) -> list[Entry]:
        """The entries of a resource now, ascending by key, none of them raw."""
        collection = self._collection(resource)
        entries = self.scan(collection.prefix)
        if collection.raw:
            for entry in entries:
                self.intake.read_of(collection, entry)
        return entries

    def in_namespace(self, namespace: str) -> dict[str, int]:
        """How many objects of resources that are known here lie in a namespace, by resource (``plural.group``)."""
        found: dict[str, int] = {}
        below = f"{namespace}/".encode()
        for collection in self.image.collections.all():
            entries = self.scan(collection.prefix + below)
            if entries:
                group, plural = collection.name
                found[f"{plural}.{group}" if group else plural] = len(entries)
        return found

    def unclaimed(self) -> Iterator[Entry]:
        """The entries of keys that are no resource's here, ascending by key; most are not read yet (``peek``)."""
        start = self.prefix
        for collection in sorted(self.image.collections.all(), key=lambda one: one.prefix):
            yield from self.image.index.scan(start, collection.prefix)
            start = max(start, collection.end)
        yield from self.image.index.scan(start, prefix_end(self.prefix))

    def unclaimed_entry(self, key: bytes) -> Entry | None:
        """The entry of a key that is no resource's here."""
        return self.image.index.get(key) if self.image.collections.of(key) is None else None

    def observe_unclaimed(self, observer: UnclaimedObserver) -> Callable[[], None]:
        """Tell of changes of keys that are no resource's here, from now on. Returns how to stop; idempotent."""
        self.image.unclaimed.append(observer)

        def stop() -> None:
            if observer in self.image.unclaimed:
                self.image.unclaimed.remove(observer)

        return stop

    def peek(self, entry: Entry) -> bytes:
        """An entry's value, whether it has been read or not; ``b""`` if it cannot be decrypted. Nothing is changed."""
        return self.intake.peek(entry)

    def end_watches(self, resource: Resource | None = None) -> None:
        """End all watches, or those of one resource; what is pending is written first."""
        collection = self._collection(resource) if resource is not None else None
        for watcher in list(self.watchers):
            if collection is None or watcher.collection is collection:
                watcher.close()

    def _collection(self, resource: Resource) -> Collection:
        prefix = self.prefix + resource.key_prefix.encode() + b"/"
        # by its stored group, so that resources that share objects have one name
        group = resource.group if resource.stored_group is None else resource.stored_group
        collection = self.image.collect(group, resource.plural, prefix, volatile=resource.volatile)
        collection.forms.learn(resource)
        return collection

    def statistics(self) -> MirrorStatistics:
        image = self.image
        return MirrorStatistics(
            revision=image.revision,
            keys=len(image.index),
            ring_changes=len(image.ordinary) + len(image.volatile),
            ring_bytes=image.ordinary.held_bytes + image.volatile.held_bytes,
            watchers=len(self.watchers),
            channels=len(self._channels),
            decode_errors=self.intake.decode_errors,
        )

    # For storages and watchers.

    async def fresh(self, revision: int | None) -> bool:
        """Wait until the mirror has ``revision``, or (None) all that was in the store when this was called; False if it
        could not be proved within 3 s."""
        if revision is not None:
            return await self.consistency.at_least(revision)
        return self.consistency.reached_nowait() or await self.consistency.reached()

    def scan(self, scope: bytes) -> list[Entry]:
        """The entries of a scope: a prefix that ends in a slash, or one key."""
        if scope.endswith(b"/"):
            return self.image.index.scan(scope, prefix_end(scope))
        entry = self.image.index.get(scope)
        return [entry] if entry is not None else []

    def holds(self, key: bytes) -> bool:
        """Whether there is an entry of a key."""
        return self.image.index.get(key) is not None

    def channel(self, selection: Selection) -> Channel:
        """The channel of those who watch the same; made if it is new."""
        signature = (selection.view, selection.signature)
        channel = self._channels.get(signature)
        if channel is None or channel.failed:
            kind = Bell if selection.view.is_remote else Channel
            channel = kind(selection, self._flusher.add, self._drop)
            self._channels[signature] = channel
            selection.view.collection.join(channel)
        return channel

    async def request_progress(self) -> None:
        """For consistency: let the stream say how far it is."""
        await self._follower.request_progress()

    def marker_revision(self) -> int:
        """For consistency: the marker key's revision as far as known."""
        marker = self.image.index.get(self._marker_key)
        return ABSENT if marker is None else marker.mod_revision

    def _drop(self, channel: Channel) -> None:
        selection = channel.selection
        selection.view.collection.leave(channel)
        signature = (selection.view, selection.signature)
        if self._channels.get(signature) is channel:
            del self._channels[signature]

    def _advanced(self, revision: int) -> None:
        if self.image.observed or not self._loaded.is_set():
            self.image.observed = False
            for observer in self._observers:
                if not self._loaded.is_set():
                    observer.replaced()
                observer.step()
        self.waiters.advance(revision)
        self._loaded.set()

    def _readable(self) -> None:
        """Entries have become readable that were not: observers look at everything again."""
        for observer in self._observers:
            observer.replaced()
            observer.step()

    def _replaced(self) -> None:
        self.horizon = self.image.revision
        self.end_watches()
        self.image.observed = True
        for observer in self._observers:
            observer.replaced()
        self._rereading.reread()  # a key may have come while what needs it was being loaded

    async def _beat(self) -> None:
        slices = Slices()
        while True:
            await self.clock.sleep(HEARTBEAT_SECONDS)
            now = self.clock.monotonic()
            self.waiters.expire(now)
            self.image.trim(now)
            RESOURCE_VERSION.labels_cached(()).set(self.revision)
            WATCHERS.labels_cached(()).set(len(self.watchers))
            for watcher in list(self.watchers):
                if watcher.due <= now:
                    watcher.tick(now)
                    if slices.due():
                        await slices.rest()
