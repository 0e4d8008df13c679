"""Objects of one resource: the ``Storage`` seam over the mirror (reads, lists, watches) and the KV (writes).

One exists for each generation of a resource. It holds no state: what is kept is kept by the mirror, so any number may
stand over one collection.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from typing import Any

from controlplane.apimachinery.identity import Key, Obj
from controlplane.base.aside import LONG_BYTES, aside
from controlplane.base.streams import Sink
from controlplane.storage import api
from controlplane.storage.api import Encoding, Freshness, Keep, ListResult, Predicate, Representation, WatchOptions
from controlplane.storage.cache.entry import Entry
from controlplane.storage.cache.mirror import Mirror
from controlplane.storage.cache.selection import Selection
from controlplane.storage.cache.slices import Slices
from controlplane.storage.cache.view import View
from controlplane.storage.cache.watcher import Watcher
from controlplane.storage.errors import FutureRevision, KeyNotFound, Unavailable
from controlplane.storage.kv.api import prefix_end
from controlplane.storage.objects.lists import Lister
from controlplane.storage.objects.writes import Writer

__all__ = ["ObjectStorage"]


class ObjectStorage:
    """See ``storage.api.Storage``."""

    __slots__ = ("_lister", "_mirror", "_namespaced", "_prefix", "_view", "_writer")

    def __init__(self, mirror: Mirror, view: View) -> None:
        self._mirror, self._view = mirror, view
        self._namespaced, self._prefix = view.resource.namespaced, view.collection.prefix
        self._lister, self._writer = Lister(mirror, view), Writer(mirror, view)

    def key_of(self, entry: api.Entry) -> Key:
        path = entry.key[len(self._prefix) :].decode()
        if not self._namespaced:
            return Key("", path)
        namespace, _, name = path.partition("/")
        return Key(namespace, name)

    def store_key(self, key: Key) -> bytes:
        if self._namespaced:
            return b"%b%b/%b" % (self._prefix, key.namespace.encode(), key.name.encode())
        return self._prefix + key.name.encode()

    async def get(self, key: Key, fresh: Freshness) -> Entry:
        mirror, revision = self._mirror, fresh.revision
        store_key = self.store_key(key)
        if revision is None:
            if not mirror.consistency.reached_nowait() and not await self._lister.prove_current():
                return await self._get_stored(store_key)
        elif revision > mirror.revision and not await mirror.fresh(revision):
            raise FutureRevision(revision, mirror.revision)
        entry = mirror.image.index.get(store_key)
        if entry is None:
            raise KeyNotFound(store_key, revision=mirror.revision)
        if not entry.origin.api_version:
            self._view.prepare(entry)
        return entry

    def revision_nowait(self, key: Key) -> int:
        entry = self._mirror.image.index.get(self.store_key(key))
        return entry.mod_revision if entry is not None else 0

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
        scope = self._scope(namespace, predicate)
        start, end = scope, prefix_end(scope) if scope.endswith(b"/") else scope + b"\x00"
        if continue_key is not None:
            start = max(start, min(continue_key, end))
        return await self._lister.page((start, end), predicate, fresh, version=version, limit=limit)

    async def served(
        self, entries: Sequence[api.Entry], version: str, encoding: Encoding | None = None
    ) -> Sequence[bytes]:
        own: Sequence[Entry] = entries  # type: ignore[assignment]  # entries come from this storage
        ready = self._view.served_as_kept(own, version, encoding)
        if ready is not None:
            return ready
        slices = Slices()
        served: list[bytes] = []
        view = self._view
        if view.is_remote:
            await view.ready(own, version)
        for entry in own:
            if view.is_remote and not view.is_ready(entry, version):  # no more, after a rest
                await view.ready((entry,), version)
            if len(entry.data) >= LONG_BYTES and not view.is_made(entry, version, encoding):
                view.prepare(entry)
                served.append(await aside(partial(view.encoded, entry, version, encoding)))
            else:
                served.append(view.encoded(entry, version, encoding))
            if slices.due():
                await slices.rest()
        return served

    def served_nowait(self, entry: api.Entry, version: str, encoding: Encoding | None = None) -> bytes | None:
        own: Entry = entry  # type: ignore[assignment]  # entries come from this storage
        view = self._view
        if len(own.data) >= LONG_BYTES and not view.is_made(own, version, encoding):
            return None
        return view.encoded(own, version, encoding) if not view.is_remote or view.is_ready(own, version) else None

    async def decode(self, entry: api.Entry, version: str) -> Obj:
        own: Entry = entry  # type: ignore[assignment]  # entries come from this storage
        if self._view.is_remote:
            await self._view.ready((own,), version)
        if len(own.data) < LONG_BYTES:
            return self._view.decode(own, version)
        self._view.prepare(own)
        return await aside(lambda: self._view.decode(own, version))

    async def converted(self, obj: Obj, version: str) -> Obj:
        return await self._view.converted(obj, version)

    def create(self, key: Key, obj: Obj, *, ttl_seconds: int = 0) -> Coroutine[Any, Any, Entry]:
        return self._writer.create(self.store_key(key), obj, ttl_seconds=ttl_seconds)

    def update(
        self,
        key: Key,
        mutate: Callable[[Obj, api.Entry], Awaitable[Obj | Keep]],
        *,
        version: str,
        ttl_seconds: int = 0,
    ) -> Coroutine[Any, Any, Entry]:
        return self._writer.update(self.store_key(key), mutate, version=version, ttl_seconds=ttl_seconds)

    def delete(
        self, key: Key, check: Callable[[Obj, api.Entry], Awaitable[None]], *, version: str
    ) -> Coroutine[Any, Any, Entry]:
        return self._writer.delete(self.store_key(key), check, version=version)

    async def watch(
        self, namespace: str | None, predicate: Predicate, representation: Representation, options: WatchOptions
    ) -> Callable[[Sink], Awaitable[None]]:
        if not self._mirror.loaded:
            raise Unavailable(f"storage is (re)initializing: {self._mirror.not_ready_reason}")
        selection = Selection(self._view, self._scope(namespace, predicate), predicate, representation)
        return Watcher(self._mirror, selection, options).run

    def count(self) -> int:
        return self._view.collection.count

    def _scope(self, namespace: str | None, predicate: Predicate) -> bytes:
        """The narrowest range that holds all that can match: a prefix that ends in a slash, or one key."""
        if self._namespaced:
            if not namespace:
                return self._prefix
            prefix = b"%b%b/" % (self._prefix, namespace.encode())
        else:
            prefix = self._prefix
        return prefix + predicate.name.encode() if predicate.name else prefix

    async def _get_stored(self, store_key: bytes) -> Entry:
        """The object as the store has it, for when memory cannot be proved current."""
        entries, _, revision = await self._mirror.history.page(self._view.collection, store_key, b"", 0, 1)
        if not entries:
            raise KeyNotFound(store_key, revision=revision)
        self._view.prepare(entries[0])
        return entries[0]
