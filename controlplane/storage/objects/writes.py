"""Writes of one resource: create, update, delete, each one conditional transaction of the store.

An update begins with the state in memory. If a condition fails, the transaction has returned what is stored, and the
next attempt begins with that. A refusal by the caller's function is believed only on a state that is proved current.

Source: behaviour of kubernetes/apiserver ``pkg/storage/etcd3`` (create, guaranteed update, conditional delete).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import NamedTuple, TypeVar

from controlplane.apimachinery.codec.objects import encode_stored
from controlplane.apimachinery.identity import Obj
from controlplane.base.aside import LONG_BYTES, aside, is_long, note_size
from controlplane.storage.api import Entry as StoredEntry
from controlplane.storage.api import Keep
from controlplane.storage.cache.entry import Entry
from controlplane.storage.cache.mirror import Mirror
from controlplane.storage.cache.view import View
from controlplane.storage.errors import KeyExists, KeyNotFound, ValueTooLarge
from controlplane.storage.kv.api import ABSENT, TxnResult

__all__ = ["Writer"]

T = TypeVar("T")


class _State(NamedTuple):
    """A stored state (None: absent), and whether it is proved current."""

    entry: Entry | None
    current: bool


class Writer:
    """Writes of one view."""

    __slots__ = ("_mirror", "_view")

    def __init__(self, mirror: Mirror, view: View) -> None:
        self._mirror, self._view = mirror, view

    async def create(self, key: bytes, obj: Obj, *, ttl_seconds: int) -> Entry:
        """See ``storage.api.Storage.create``."""
        plain = await self._encoded(obj) if self._view.is_remote or is_long() else self._encode(obj)
        kv, to_storage = self._mirror.kv, self._mirror.intake.to_storage
        lease = await kv.grant(ttl_seconds) if ttl_seconds else 0
        try:
            result = await kv.put(key, to_storage(key, plain), expect=ABSENT, lease=lease)
        except ValueTooLarge as error:
            plain = await self._without_managers(obj, error)
            result = await kv.put(key, to_storage(key, plain), expect=ABSENT, lease=lease)
        if not result.succeeded:
            raise KeyExists(key, revision=result.current.mod_revision if result.current else result.revision)
        return self._written(key, plain, result.revision, result.revision)

    async def update(
        self,
        key: bytes,
        mutate: Callable[[Obj, StoredEntry], Awaitable[Obj | Keep]],
        *,
        version: str,
        ttl_seconds: int,
    ) -> Entry:
        """See ``storage.api.Storage.update``."""
        kv, to_storage = self._mirror.kv, self._mirror.intake.to_storage
        state = self._remembered(key)
        while True:
            state, entry, new = await self._judged(key, state, mutate, version)
            if isinstance(new, Keep):
                plain = b""
            else:
                plain = await self._encoded(new) if self._view.is_remote or is_long() else self._encode(new)
            if isinstance(new, Keep) or (not self._mirror.intake.is_stale(entry) and self._encoded_as(entry, plain)):
                if state.current:
                    return entry
                stored = await self._stored(key)
                if stored.entry is not None and stored.entry.mod_revision == entry.mod_revision:
                    return entry
                state = stored
                continue
            lease = await kv.grant(ttl_seconds) if ttl_seconds else 0
            try:
                result = await kv.put(key, to_storage(key, plain), expect=entry.mod_revision, lease=lease)
            except ValueTooLarge as error:
                plain = await self._without_managers(new, error)
                result = await kv.put(key, to_storage(key, plain), expect=entry.mod_revision, lease=lease)
            if result.succeeded:
                return self._written(key, plain, result.revision, entry.create_revision)
            state = await self._returned(result)

    async def delete(self, key: bytes, check: Callable[[Obj, StoredEntry], Awaitable[None]], *, version: str) -> Entry:
        """See ``storage.api.Storage.delete``."""
        state = self._remembered(key)
        while True:
            state, entry, _ = await self._judged(key, state, check, version)
            result = await self._mirror.kv.delete(key, expect=entry.mod_revision)
            if result.succeeded:
                return entry.at_revision(result.revision)
            state = await self._returned(result)

    async def _judged(
        self, key: bytes, state: _State, judge: Callable[[Obj, StoredEntry], Awaitable[T]], version: str
    ) -> tuple[_State, Entry, T]:
        """What the caller's function makes of the state; of the stored one if it raises on one that may be old.

        Raises:
            KeyNotFound, Unreadable; what ``judge`` raises on a state that is proved current.
        """
        while True:
            entry = state.entry
            if entry is None or entry.origin.poison:
                if not state.current:
                    state = await self._stored(key)
                    continue
                if entry is None:
                    raise KeyNotFound(key, revision=self._mirror.revision)
            if self._view.is_remote:
                await self._view.ready((entry,), version)
            note_size(len(entry.data))
            if is_long() and not state.current and await self._mirror.fresh(None):
                state = _State(self._mirror.image.index.get(key), current=True)  # too long to be judged twice
                if state.entry is not entry:
                    continue
            obj = await self._decoded(entry, version) if is_long() else self._view.decode(entry, version)
            try:
                return state, entry, await judge(obj, entry)
            except Exception:
                if state.current:
                    raise
                stored = await self._stored(key)
                if stored.entry is not None and stored.entry.mod_revision == entry.mod_revision:
                    raise
                state = stored

    async def _decoded(self, entry: Entry, version: str) -> Obj:
        self._view.prepare(entry)
        return await aside(lambda: self._view.decode(entry, version))

    def _remembered(self, key: bytes) -> _State:
        """The state in memory; where the store's revision costs nothing it may prove to be current."""
        current = self._mirror.consistency.reached_nowait()
        return _State(self._mirror.image.index.get(key), current)

    async def _stored(self, key: bytes) -> _State:
        """The state in the store, read linearizably."""
        entries, _, _ = await self._mirror.history.page(self._view.collection, key, b"", 0, 1)
        return _State(entries[0] if entries else None, current=True)

    async def _returned(self, result: TxnResult) -> _State:
        """The state that a refused transaction found."""
        current = result.current
        if fetching := self._mirror.intake.fetch((current,)):
            await fetching
        if current is None:
            return _State(None, current=True)
        read = partial(self._mirror.intake.read, current, self._view.collection)
        return _State(read() if len(current.value) < LONG_BYTES else await aside(read), current=True)

    def _written(self, key: bytes, plain: bytes, revision: int, create_revision: int) -> Entry:
        """The entry of a write that succeeded: the mirror's own, where it has it already."""
        entry = self._mirror.image.index.get(key)
        if entry is not None and entry.mod_revision == revision and entry.origin.api_version:
            return entry
        return self._mirror.intake.written(key, plain, revision, create_revision)

    def _encoded_as(self, entry: Entry, plain: bytes) -> bool:
        """Whether these are the bytes that are stored."""
        return entry.data == self._mirror.intake.data_of(plain, entry.mod_revision)

    def _encode(self, obj: Obj) -> bytes:
        resource = self._view.resource
        return encode_stored(self._view.to_storage(obj), resource.storage_gvk, native=resource.native)

    async def _encoded(self, obj: Obj) -> bytes:
        """The same where somebody else may have to convert the object, or it takes long."""
        if not self._view.is_remote:
            return await aside(lambda: self._encode(obj)) if is_long() else self._encode(obj)
        resource = self._view.resource
        stored = await self._view.to_storage_remote(obj)
        return encode_stored(stored, resource.storage_gvk, native=resource.native)

    async def _without_managers(self, obj: Obj, error: ValueTooLarge) -> bytes:
        """An object that was found too large, encoded once more without its managedFields. Raises the error if it has
        none."""
        if not obj["metadata"].get("managedFields"):
            raise error
        metadata = {name: value for name, value in obj["metadata"].items() if name != "managedFields"}
        return await self._encoded({**obj, "metadata": metadata})
