"""Deleting an object: at once, or, while finalizers or the resource itself hold it, by marking it.

Source: kubernetes/apiserver ``pkg/registry/generic/registry/store.go`` (Delete).
"""

from __future__ import annotations

from controlplane.apimachinery import status
from controlplane.apimachinery.identity import Key, Obj
from controlplane.apimachinery.meta import metadata
from controlplane.apiserver.registry.create import Admit
from controlplane.apiserver.registry.deletion import (
    DeleteRequest,
    check_preconditions,
    finalizers_after,
    mark_deleting,
)
from controlplane.apiserver.registry.settings import Deleted, RegistrySettings
from controlplane.apiserver.registry.table import Served
from controlplane.apiserver.registry.translate import translate
from controlplane.storage.api import CONSISTENT, Entry, Keep
from controlplane.storage.errors import KeyNotFound, StorageError

__all__ = ["delete"]


class _Held(Exception):
    """Something keeps the object: it can only be marked."""


class _Free(Exception):
    """Nothing keeps the object any more: it can be removed."""


async def delete(
    settings: RegistrySettings, served: Served, key: Key, request: DeleteRequest, *, admit: Admit | None
) -> Deleted:
    """Delete an object, or begin its deletion.

    Raises:
        APIError: not found, conflict with a precondition, refused by admission, or what storage's failure
            translates to.
    """
    deletion = _Deletion(settings, served, key, request, admit)
    try:
        if request.dry_run:
            return await deletion.rehearse()
        while True:
            try:
                return await deletion.remove()
            except _Held:
                pass
            try:
                return await deletion.mark()
            except _Free:
                continue
    except KeyNotFound as error:
        raise status.not_found(served.gr, key.name) from error
    except StorageError as error:
        raise translate(error, served.gr, key.name, "delete") from error


class _Deletion:
    """One deletion under way."""

    __slots__ = ("_admit", "_key", "_request", "_served", "_settings", "_uid")

    def __init__(
        self, settings: RegistrySettings, served: Served, key: Key, request: DeleteRequest, admit: Admit | None
    ) -> None:
        self._settings, self._served, self._key, self._request, self._admit = settings, served, key, request, admit
        self._uid = ""

    async def remove(self) -> Deleted:
        """Remove the object. Raises _Held if something keeps it."""
        entry = await self._served.storage.delete(self._key, self._require_free, version=self._served.version.name)
        return Deleted(gone=True, uid=self._uid, entry=entry)

    async def mark(self) -> Deleted:
        """Mark the object as under deletion. Raises _Free if nothing keeps it."""
        entry = await self._served.storage.update(self._key, self._marked, version=self._served.version.name)
        return Deleted(gone=False, uid=self._uid, entry=entry)

    async def rehearse(self) -> Deleted:
        """What the deletion would do, without doing it."""
        storage = self._served.storage
        entry = await storage.get(self._key, CONSISTENT)
        obj = await storage.decode(entry, self._served.version.name)
        try:
            marked = await self._marked(obj, entry)
        except _Free:
            return Deleted(gone=True, uid=self._uid, entry=entry)
        if isinstance(marked, Keep):
            return Deleted(gone=False, uid=self._uid, entry=entry)
        marked["metadata"]["resourceVersion"] = str(entry.mod_revision)
        return Deleted(gone=False, uid=self._uid, obj=marked)

    async def _check(self, old: Obj, entry: Entry) -> None:
        meta = metadata(old)
        self._uid = meta.get("uid") or ""
        check_preconditions(self._request, self._served.resource, meta, entry.mod_revision)
        if self._admit is not None:
            await self._admit(old)

    def _finalizers(self, old: Obj) -> list[str]:
        return finalizers_after(
            self._request,
            old["metadata"],
            garbage_collection=self._settings.garbage_collection,
            has_dependents=self._served.resource.strategy.has_dependents,
        )

    async def _require_free(self, old: Obj, entry: Entry) -> None:
        await self._check(old, entry)
        if self._served.resource.strategy.held(old) or self._finalizers(old):
            raise _Held

    async def _marked(self, old: Obj, entry: Entry) -> Obj | Keep:
        await self._check(old, entry)
        strategy, meta = self._served.resource.strategy, old["metadata"]
        held = strategy.held(old)
        finalizers = list(meta.get("finalizers") or ()) if held and strategy.marks_first else self._finalizers(old)
        if not held and not finalizers:
            raise _Free
        if held and meta.get("deletionTimestamp"):
            return Keep.KEEP
        if finalizers:
            meta["finalizers"] = finalizers
        else:
            meta.pop("finalizers", None)
        mark_deleting(meta, self._settings.now(), counted=not held)
        if held:
            strategy.begin_deletion(old)
        else:
            meta["deletionGracePeriodSeconds"] = 0
        return old
