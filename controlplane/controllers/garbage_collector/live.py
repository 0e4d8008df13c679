"""The live objects behind the graph: reading, changing and deleting them by their identity.

Objects are read as metadata alone. A kind that discovery does not know is an error, never an absence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import Key, Obj
from controlplane.apimachinery.status import APIError
from controlplane.client.api import APIClient
from controlplane.client.discovery import APIResource
from controlplane.client.errors import NoKindMatch
from controlplane.client.resources import PatchType, Propagation, ResourceClient
from controlplane.controllers.garbage_collector.graph import Identity
from controlplane.reconcile.monitors import MonitorSet

__all__ = ["LiveObjects", "is_conflict", "is_not_found"]

_Change = Callable[[Obj], Obj | None]
"""From the metadata of an object to the fields of it to write; None if nothing is to be done."""

_ATTEMPTS = 5
"""At a change that others are making too."""


def is_not_found(error: APIError) -> bool:
    """Whether the object is not there. That its resource is not served now, where a peer has gone say, is a 404 too,
    but names no object, and proves nothing about any."""
    if error.reason != "NotFound" or not error.details.get("name"):
        return False
    causes = error.details.get("causes") or ()
    return all(cause.get("reason") != "UnexpectedServerResponse" for cause in causes)


def is_conflict(error: APIError) -> bool:
    return error.reason == "Conflict"


class LiveObjects:
    """Reads and writes as one client, by the kinds that ``monitors`` know from discovery."""

    def __init__(self, client: APIClient, monitors: MonitorSet) -> None:
        self._client, self._monitors = client, monitors

    def resource_of(self, identity: Identity) -> APIResource:
        """The resource that serves its kind.

        Raises:
            NoKindMatch: discovery knows none.
        """
        try:
            found = self._monitors.of_kind(identity.gvk)
        except ValueError:
            found = None
        if found is None:
            raise NoKindMatch(identity.kind, identity.api_version)
        return found

    async def get(self, identity: Identity) -> Obj | None:
        """The metadata of what is at these coordinates, whatever its uid; None if nothing is, or can be: of a
        namespaced kind nothing is outside namespaces.

        Raises:
            NoKindMatch: nobody knows the kind. APIError, ClientError: it cannot be told.
        """
        resource, key = self._place(identity)
        if resource.namespaced and not key.namespace:
            return None
        try:
            return await self._of(resource).get(key, metadata_only=True)
        except APIError as e:
            if is_not_found(e):
                return None
            raise

    async def find(self, identity: Identity) -> Obj | None:
        """The object of this uid under this name in whichever namespace."""
        resource = self.resource_of(identity)
        if not resource.namespaced:
            return None
        named = await self._of(resource).list(field_selector=f"metadata.name={identity.name}", metadata_only=True)
        return next((item for item in named.items if meta.uid(item) == identity.uid), None)

    async def delete(self, identity: Identity, seen: Obj, propagation: Propagation) -> None:
        """Delete the object if its owner references are still those of ``seen``. Gone already is fine.

        Raises:
            APIError: 409 if its owners have changed meanwhile.
        """
        resource, key = self._place(identity)
        client, version = self._of(resource), meta.resource_version(seen)
        try:
            await client.delete(key, uid=identity.uid, resource_version=version, propagation=propagation)
        except APIError as e:
            if is_not_found(e):
                return
            if not is_conflict(e):
                raise
            now = await self.get(identity)
            if now is None or meta.uid(now) != identity.uid:
                return
            if list(meta.owner_references(now)) != list(meta.owner_references(seen)):
                raise
            # Only something else has changed; that it keeps changing must not keep it alive.
            try:
                await client.delete(key, uid=identity.uid, propagation=propagation)
            except APIError as again:
                if not is_not_found(again):
                    raise

    async def drop_owners(self, identity: Identity, uids: Sequence[str]) -> None:
        """Take owner references to these uids out of an object. Gone already is fine."""

        def without(obj: Obj) -> Obj | None:
            kept = [ref for ref in meta.owner_references(obj) if ref.get("uid") not in uids]
            return {"ownerReferences": kept or None} if len(kept) != len(meta.owner_references(obj)) else None

        await self._change(identity, without)

    async def unblock_owners(self, identity: Identity) -> None:
        """Let no owner wait for this object any more."""

        def unblocked(obj: Obj) -> Obj | None:
            refs = [dict(ref) for ref in meta.owner_references(obj)]
            if not any(ref.get("blockOwnerDeletion") for ref in refs):
                return None
            for ref in refs:
                if ref.get("blockOwnerDeletion"):
                    ref["blockOwnerDeletion"] = False
            return {"ownerReferences": refs}

        await self._change(identity, unblocked)

    async def drop_finalizer(self, identity: Identity, finalizer: str) -> None:
        """Take a finalizer off an object. Gone already is fine."""

        def without(obj: Obj) -> Obj | None:
            kept = [name for name in meta.finalizers(obj) if name != finalizer]
            return {"finalizers": kept} if len(kept) != len(meta.finalizers(obj)) else None

        await self._change(identity, without)

    async def _change(self, identity: Identity, change: _Change) -> None:
        resource, key = self._place(identity)
        client = self._of(resource)
        for attempt in range(1, _ATTEMPTS + 1):
            obj = await self.get(identity)
            if obj is None or meta.uid(obj) != identity.uid:
                return
            fields = change(obj)
            if fields is None:
                return
            fields = {"uid": identity.uid, "resourceVersion": meta.resource_version(obj), **fields}
            try:
                await client.patch(key, {"metadata": fields}, PatchType.MERGE)
            except APIError as e:
                if is_not_found(e):
                    return
                if not is_conflict(e) or attempt == _ATTEMPTS:
                    raise
            else:
                return

    def _place(self, identity: Identity) -> tuple[APIResource, Key]:
        resource = self.resource_of(identity)
        return resource, Key(identity.namespace if resource.namespaced else "", identity.name)

    def _of(self, resource: APIResource) -> ResourceClient:
        return ResourceClient(self._client, resource.gvr, namespaced=resource.namespaced)
