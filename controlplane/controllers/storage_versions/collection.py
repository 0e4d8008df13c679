"""Takes servers that have gone out of storage versions: those without an identity lease.

An entry stays unless its lease is known to be missing: a read that fails says nothing.

Source: behaviour of kubernetes ``pkg/controller/storageversiongc``, which takes any failed read for a missing lease,
and looks for another component's leases than its own sample writes.
"""

from __future__ import annotations

from collections.abc import Iterable

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import GVR, Key, Obj
from controlplane.apimachinery.policy_rule import PolicyRule
from controlplane.apimachinery.server_identity import COMPONENT, COMPONENT_LABEL, IDENTITY_NAMESPACE, IDENTITY_SELECTOR
from controlplane.apimachinery.status import APIError
from controlplane.apimachinery.storage_versions import STORAGE_VERSIONS, without_servers
from controlplane.base import logs
from controlplane.base.clock import Clock, rfc3339
from controlplane.client.resources import ResourceClient
from controlplane.controllers.descriptor import ControllerContext, ControllerDescriptor
from controlplane.reconcile.controller import Controller, Watch
from controlplane.reconcile.informer import Informer

__all__ = ["DESCRIPTOR"]

NAME = "storage-version-garbage-collection"
ACCOUNT = "storage-version-garbage-collector"
LEASES = GVR("coordination.k8s.io", "v1", "leases")

log = logs.get(__name__)


class StorageVersionCollection:
    """``reconcile`` works on one storage version."""

    def __init__(
        self, versions: ResourceClient, leases: ResourceClient, known: Informer, alive: Informer, clock: Clock
    ) -> None:
        self._versions, self._leases, self._clock = versions, leases, clock
        self._known, self._alive = known.store, alive.store

    async def reconcile(self, key: Key) -> None:
        """Take out the entries of servers whose leases, read live, are gone; delete the object if none is left."""
        try:
            found = await self._versions.get(key)
            gone = {server for server in _servers(found) if not await self._is_alive(server)}
            if not gone:
                return
            left = without_servers(found, gone.__contains__, now=rfc3339(self._clock.now()))
            log.info("servers have gone", storage_version=key.name, servers=",".join(sorted(gone)))
            if _servers(left):
                await self._versions.update_status(left)
            else:
                await self._versions.delete(key, uid=meta.uid(found), resource_version=meta.resource_version(found))
        except APIError as e:
            if e.reason != "NotFound":
                raise

    def suspect(self, _old: Obj | None, new: Obj | None) -> Iterable[Key]:
        """A storage version with a server whose lease has not been seen."""
        if new is not None and any(Key(IDENTITY_NAMESPACE, server) not in self._alive for server in _servers(new)):
            return (meta.key_of(new),)
        return ()

    def of_server(self, _old: Obj | None, new: Obj | None) -> Iterable[Key]:
        """When a server's lease has gone: the storage versions that have an entry of it."""
        if new is not None or _old is None:
            return ()
        server = meta.name(_old)
        return [meta.key_of(obj) for obj in self._known if server in _servers(obj)]

    async def _is_alive(self, server: str) -> bool:
        try:
            lease = await self._leases.get(Key(IDENTITY_NAMESPACE, server))
        except APIError as e:
            if e.reason == "NotFound":
                return False
            raise
        return meta.labels(lease).get(COMPONENT_LABEL) == COMPONENT


def _servers(obj: Obj) -> list[str]:
    return [str(one.get("apiServerID") or "") for one in (obj.get("status") or {}).get("storageVersions") or ()]


def build(context: ControllerContext) -> Controller[Key]:
    """The controller, watching storage versions, and identity leases by their metadata."""
    known = context.informers.get(STORAGE_VERSIONS, namespaced=False)
    alive = context.informers.get(
        LEASES, namespaced=True, namespace=IDENTITY_NAMESPACE, label_selector=IDENTITY_SELECTOR, metadata_only=True
    )
    client = context.client_for(NAME)
    collection = StorageVersionCollection(
        ResourceClient(client, STORAGE_VERSIONS, namespaced=False),
        ResourceClient(client, LEASES, namespaced=True),
        known,
        alive,
        context.clock,
    )
    return Controller(
        NAME,
        watches=[Watch(known, collection.suspect), Watch(alive, collection.of_server)],
        reconcile=collection.reconcile,
        clock=context.clock,
    )


_GROUP = (STORAGE_VERSIONS.group,)
DESCRIPTOR = ControllerDescriptor(
    name=NAME,
    build=build,
    needs=(LEASES.gr, STORAGE_VERSIONS.gr),
    account=ACCOUNT,
    rules=(
        PolicyRule(("get", "list", "watch"), (LEASES.group,), (LEASES.resource,)),
        PolicyRule(("get", "list", "watch", "patch", "update", "delete"), _GROUP, (STORAGE_VERSIONS.resource,)),
        PolicyRule(("get", "patch", "update"), _GROUP, (f"{STORAGE_VERSIONS.resource}/status",)),
    ),
)
