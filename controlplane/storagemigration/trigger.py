"""Starts a migration when a mixed state ends: once all servers have agreed for long enough on the version in which they
store a resource, and it is another one than was migrated to last.

What was migrated to last is noted on the storage version, and for which agreement: while servers differ, each stores in
its own version, also if they come back to the one from before. Where nothing is noted yet, or the server's own count
shows that all is stored in the common version already, no migration is needed to note it. A migration is named after
the agreement that it is for, so that however many look, and however often the leader changes, there is one; one that
fails is left to people. If the servers differ again, it is cancelled: deleted, which ends it.

Custom resources are not meant: their definition says how they are stored, alike on all servers at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import GVR, GroupResource, GroupVersion, Key, Obj
from controlplane.apimachinery.policy_rule import PolicyRule
from controlplane.apimachinery.server_identity import IDENTITY_NAMESPACE, IDENTITY_SELECTOR
from controlplane.apimachinery.status import APIError
from controlplane.apimachinery.storage_versions import STORAGE_VERSIONS, resource_of, storage_version_name
from controlplane.base import logs
from controlplane.base.clock import Clock
from controlplane.client.api import APIClient
from controlplane.client.resources import ResourceClient
from controlplane.reconcile.controller import Controller, Result, Watch
from controlplane.reconcile.informer import Informer
from controlplane.reconcile.informers import InformerSet
from controlplane.storagemigration import controller as migrator
from controlplane.storagemigration.agreement import Agreement, agreement_of
from controlplane.storagemigration.objects import MIGRATIONS, SUCCEEDED, is_terminal, is_true
from controlplane.storagemigration.objects import resource_of as resource_migrated
from controlplane.storagemigration.proof import REPORT_PATH, left_behind, stored_forms

__all__ = ["ACCOUNT", "ENCODING", "MIGRATED", "NAME", "NEEDS", "RULES", "Seen", "StorageVersionTrigger", "build"]

NAME = "storage-version-trigger"
ACCOUNT = migrator.ACCOUNT
LEASES = GVR("coordination.k8s.io", "v1", "leases")
NEEDS = (LEASES.gr, STORAGE_VERSIONS.gr, MIGRATIONS.gr)
RULES = (
    PolicyRule(("list", "watch"), (LEASES.group,), (LEASES.resource,)),
    PolicyRule(("list", "watch", "patch"), (STORAGE_VERSIONS.group,), (STORAGE_VERSIONS.resource,)),
    PolicyRule(("create", "delete", "list", "watch"), (MIGRATIONS.group,), (MIGRATIONS.resource,)),
    PolicyRule(("get",), non_resource_urls=(REPORT_PATH,)),
)

MIGRATED = "controlplane.internal/migrated-encoding-version"
"""On a storage version: the version in which all objects were found, or put, last."""
EPISODE = "controlplane.internal/migrated-episode"
"""Beside it: the agreement's ``episode``."""
ENCODING = "controlplane.internal/encoding-version"
"""On a migration that was started here: the version that all servers had agreed on."""

log = logs.get(__name__)


class Seen(NamedTuple):
    """What is followed."""

    versions: Informer
    leases: Informer
    migrations: Informer


class StorageVersionTrigger:
    """``reconcile`` works on one resource. ``settle_seconds``: how long an agreement must have held."""

    def __init__(self, client: APIClient, seen: Seen, clock: Clock, *, settle_seconds: float) -> None:
        self._client, self._seen, self._clock, self._settle_seconds = client, seen, clock, settle_seconds
        self._settled: dict[GroupResource, tuple[Agreement, float]] = {}
        self._versions = ResourceClient(client, STORAGE_VERSIONS, namespaced=False)
        self._migrations = ResourceClient(client, MIGRATIONS, namespaced=False)

    async def reconcile(self, gr: GroupResource) -> Result | None:
        """Cancel what was started for another version, note what has succeeded, start what is due."""
        storage_version = self._seen.versions.store.get(Key("", storage_version_name(gr)))
        agreement = (
            None if storage_version is None else agreement_of(storage_version, self._seen.leases.store.objects())
        )
        started = [
            one
            for one in self._seen.migrations.store
            if resource_migrated(one) == gr and ENCODING in meta.annotations(one)
        ]
        under_way = [one for one in started if not is_terminal(one)]
        for migration in under_way:
            if agreement is None or _encoding(migration) != agreement.encoding:
                await self._cancel(migration)
        if agreement is None:
            self._settled.pop(gr, None)
        if storage_version is None or agreement is None or under_way:
            return None
        if _noted(agreement).items() <= meta.annotations(storage_version).items():
            return None
        if any(is_true(one, SUCCEEDED) and meta.name(one) == _name(gr, agreement) for one in started):
            await self._note(storage_version, agreement)
            return None
        left = self._left(gr, agreement)
        if left is None:
            return None
        if left > 0:
            return Result(left)
        await self._start(gr, storage_version, agreement)
        return None

    def _left(self, gr: GroupResource, agreement: Agreement) -> float | None:
        """Seconds for which an agreement must still hold; None: not all are there. Counted from when it was first seen:
        its own time is by other servers' clocks."""
        if not agreement.settled:
            self._settled.pop(gr, None)
            return None
        seen, since = self._settled.get(gr, (None, 0.0))
        if seen != agreement:
            since = self._clock.monotonic()
            self._settled[gr] = agreement, since
        return since + self._settle_seconds - self._clock.monotonic()

    async def _start(self, gr: GroupResource, storage_version: Obj, agreement: Agreement) -> None:
        """Start a migration, unless nothing needs one."""
        forms = await stored_forms(self._client, gr)
        if forms is not None and not left_behind(forms):
            await self._note(storage_version, agreement)
            return
        name = _name(gr, agreement)
        migration = {
            "apiVersion": str(MIGRATIONS.gv),
            "kind": "StorageVersionMigration",
            "metadata": {"name": name, "annotations": {ENCODING: agreement.encoding}},
            "spec": {"resource": {"group": gr.group, "resource": gr.resource}},
        }
        try:
            await self._migrations.create(migration)
        except APIError as error:
            if error.reason != "AlreadyExists":
                raise
            return
        log.info("all servers agree: migrating", resource=str(gr), version=agreement.encoding, migration=name)

    async def _cancel(self, migration: Obj) -> None:
        log.warning("servers differ again: migration cancelled", migration=meta.name(migration))
        try:
            await self._migrations.delete(meta.key_of(migration), uid=meta.uid(migration))
        except APIError as error:
            if error.reason not in ("NotFound", "Conflict"):
                raise

    async def _note(self, storage_version: Obj, agreement: Agreement) -> None:
        """Note what all is stored in, if the storage version is still as it was."""
        patch = {
            "metadata": {
                "resourceVersion": meta.resource_version(storage_version),
                "annotations": _noted(agreement),
            }
        }
        try:
            await self._versions.patch(meta.key_of(storage_version), patch)
        except APIError as error:
            if error.reason not in ("NotFound", "Conflict"):  # its change asks for another look
                raise

    def of_lease(self, _old: Obj | None, _new: Obj | None) -> Iterable[GroupResource]:
        """A server that comes or goes matters to every resource; one that renews its lease to none."""
        if _old is not None and _new is not None:
            return ()
        return [resource_of(meta.name(one)) for one in self._seen.versions.store]


def _noted(agreement: Agreement) -> dict[str, str]:
    """The annotations of a storage version whose objects are all as an agreement has it."""
    return {MIGRATED: agreement.encoding, EPISODE: agreement.episode}


def _encoding(migration: Obj) -> str:
    return meta.annotations(migration)[ENCODING]


def _name(gr: GroupResource, agreement: Agreement) -> str:
    """Of the migration that an agreement asks for."""
    return f"{gr}-{GroupVersion.parse(agreement.encoding).version}-{int(agreement.since)}"


def _of_storage_version(old: Obj | None, new: Obj | None) -> tuple[GroupResource, ...]:
    obj = new if new is not None else old
    return () if obj is None else (resource_of(meta.name(obj)),)


def _of_migration(old: Obj | None, new: Obj | None) -> tuple[GroupResource, ...]:
    obj = new if new is not None else old
    return () if obj is None else (resource_migrated(obj),)


def build(client: APIClient, informers: InformerSet, clock: Clock, settle_seconds: float) -> Controller[GroupResource]:
    """The controller, watching storage versions, identity leases by their metadata, and migrations."""
    seen = Seen(
        versions=informers.get(STORAGE_VERSIONS, namespaced=False),
        leases=informers.get(
            LEASES, namespaced=True, namespace=IDENTITY_NAMESPACE, label_selector=IDENTITY_SELECTOR, metadata_only=True
        ),
        migrations=informers.get(MIGRATIONS, namespaced=False),
    )
    trigger = StorageVersionTrigger(client, seen, clock, settle_seconds=settle_seconds)
    return Controller(
        NAME,
        watches=[
            Watch(seen.versions, _of_storage_version),
            Watch(seen.leases, trigger.of_lease),
            Watch(seen.migrations, _of_migration),
        ],
        reconcile=trigger.reconcile,
        clock=clock,
    )
