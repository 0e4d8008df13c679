"""In which form this server stores each of its resources, and its reports of that in storage versions.

Built-in kinds, those that describe others, and those declared in Python. Custom resources are not reported: their
definitions say it (``status.storedVersions``), alike on all servers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from controlplane.apimachinery.identity import GroupResource
from controlplane.apimachinery.resource import Resource
from controlplane.apimachinery.server_identity import IDENTITY_NAMESPACE
from controlplane.apimachinery.status import APIError
from controlplane.apimachinery.storage_versions import STORAGE_VERSIONS, ServerForm
from controlplane.apiserver.identity.config import ServerIdentity
from controlplane.apiserver.identity.presence import Presence
from controlplane.apiserver.server.hooks import HookContext
from controlplane.client.resources import ResourceClient
from controlplane.controllers.core import NAMESPACES
from controlplane.controllers.storage_versions import StorageVersionReports
from controlplane.generic.config import CompletedConfig
from controlplane.generic.controllers import SERVER_USER
from controlplane.generic.identity import keeps_lease

__all__ = ["REPORTS_HOOK", "ReportsHook", "StorageForms", "reports_of", "storage_forms"]

REPORTS_HOOK = "built-in-resources-storage-version-updater"


class StorageForms(NamedTuple):
    """``forms``: by resource. ``alike``: resources whose objects are those of another one, and that one."""

    forms: dict[GroupResource, ServerForm]
    alike: dict[GroupResource, GroupResource]


class _Stored(NamedTuple):
    """One resource: where its objects are, and the versions that it encodes, reads and serves them in."""

    gr: GroupResource
    key_prefix: str
    encoding: str
    decodable: tuple[str, ...]
    served: tuple[str, ...]


def storage_forms(config: CompletedConfig) -> StorageForms:
    """What the server reports. Of resources with the same objects the first by name stands for all."""
    by_prefix: dict[str, list[_Stored]] = {}
    for stored in sorted(_all(config)):
        by_prefix.setdefault(stored.key_prefix, []).append(stored)
    forms: dict[GroupResource, ServerForm] = {}
    alike: dict[GroupResource, GroupResource] = {}
    for first, *others in by_prefix.values():
        decodable = dict.fromkeys(version for one in (first, *others) for version in one.decodable)
        forms[first.gr] = ServerForm(first.encoding, tuple({**decodable, first.encoding: None}), first.served)
        alike |= {other.gr: first.gr for other in others}
    return StorageForms(forms, alike)


def reports_of(config: CompletedConfig, server: ServerIdentity) -> StorageVersionReports | None:
    """What the server will report; None where storage versions are not served, or it has no identity lease to be known
    by."""
    served = {resource.gr for resource in config.resources}
    if STORAGE_VERSIONS.gr not in served or not keeps_lease(config):
        return None
    found = storage_forms(config)
    return StorageVersionReports(server.id, found.forms, alike=found.alike, clock=config.clock)


class ReportsHook:
    """The post-start hook: done once everything has been reported, so that a server that is ready takes all writes.

    Reports count only beside a lease, which needs its namespace: both come before the controllers that would make it.
    """

    def __init__(self, reports: StorageVersionReports, presence: Presence) -> None:
        assert presence.lease is not None
        self._reports, self._lease = reports, presence.lease

    async def __call__(self, context: HookContext) -> None:
        client = context.loopback(SERVER_USER)
        try:
            namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": IDENTITY_NAMESPACE}}
            await ResourceClient(client, NAMESPACES, namespaced=False).create(namespace)
        except APIError as error:
            if error.reason != "AlreadyExists":
                raise
        await self._lease.written()
        context.start(self._reports.run(client), name="storage-versions")
        await self._reports.completed.wait()


def _all(config: CompletedConfig) -> Iterator[_Stored]:
    described = [kind.resource for source in config.sources for kind in source.kinds]
    for resource in (*config.resources, *described):
        if resource.stored:
            yield _stored(resource, [resource])
    for kind in config.declared:
        yield _stored(kind.stored, [kind.stored, *kind.versions])


def _stored(stored: Resource, forms: list[Resource]) -> _Stored:
    """``forms``: the resource in all its versions."""
    decodable = dict.fromkeys(one.gvk(version.name).api_version for one in forms for version in one.versions)
    served = dict.fromkeys(one.gvk(v.name).api_version for one in forms for v in one.versions if v.served)
    return _Stored(stored.gr, stored.key_prefix, stored.storage_gvk.api_version, tuple(decodable), tuple(served))
