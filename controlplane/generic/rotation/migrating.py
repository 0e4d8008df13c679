"""Every encrypted resource is migrated: a StorageVersionMigration each, carried out by the servers."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from controlplane.apimachinery.identity import GroupResource, Key, Obj
from controlplane.apimachinery.status import APIError
from controlplane.base.clock import Clock
from controlplane.client.api import APIClient
from controlplane.client.discovery import discover
from controlplane.client.resources import ResourceClient
from controlplane.storage.encryption.configuration import parse_resource
from controlplane.storagemigration.objects import FAILED, MIGRATIONS, RUNNING, SUCCEEDED, is_true

__all__ = ["MigrationFailed", "encrypted_resources", "forget", "migrate"]

ASK_SECONDS = 0.5
_VERBS = frozenset({"list", "patch", "update"})
_SHARED = {"events.k8s.io": ""}
"""Groups whose objects are those of another one."""


class MigrationFailed(Exception):
    """A migration has failed; the message says of what, and why."""


async def encrypted_resources(client: APIClient, document: Obj, say: Callable[[str], None]) -> list[GroupResource]:
    """What is served, can be migrated, and is encrypted by the configuration; ``say`` is told what cannot be learned
    (another server's groups, mostly, which are not in this store: that nothing is left is proved otherwise).

    Raises:
        APIError, ClientError.
    """
    patterns = {parse_resource(resource) for rule in document["resources"] for resource in rule["resources"]}
    found = await discover(client, preferred_only=True)
    for gv, error in found.failed.items():
        say(f"it cannot be told what is served in {gv}: {error}")
    served = {resource.gvr.gr for resource in found.resources if resource.verbs.issuperset(_VERBS)}
    return sorted(
        gr
        for gr in served
        if not patterns.isdisjoint({(gr.group, gr.resource), (gr.group, "*"), ("*", "*")})
        and GroupResource(_SHARED.get(gr.group, gr.group), gr.resource) not in served - {gr}
    )


async def migrate(
    client: APIClient, resources: Iterable[GroupResource], name: str, clock: Clock, say: Callable[[str], None]
) -> None:
    """Have every resource migrated by an object ``NAME-RESOURCE.GROUP``, and wait; objects that are there already are
    those of a command that was stopped.

    Raises:
        MigrationFailed; APIError, ClientError.
    """
    migrations = ResourceClient(client, MIGRATIONS, namespaced=False)
    waiting = {f"{name}-{gr.resource}{'.' * bool(gr.group)}{gr.group}": gr for gr in resources}
    for named, gr in waiting.items():
        await _create(migrations, named, gr)
    said: dict[str, str] = {}
    while waiting:
        for named in list(waiting):
            migration = await _get(migrations, named)
            if migration is None:
                raise MigrationFailed(f"the migration {named} was deleted")
            message = _message(migration, RUNNING)
            if is_true(migration, FAILED):
                why = _message(migration, FAILED)
                await migrations.delete(Key("", named))
                raise MigrationFailed(f"the migration of {waiting[named]} has failed: {why}")
            if is_true(migration, SUCCEEDED):
                say(f"{waiting[named]}: migrated")
                del waiting[named]
            elif message and message != said.get(named):
                said[named] = message
                say(f"{waiting[named]}: {message}")
        if waiting:
            await clock.sleep(ASK_SECONDS)


async def forget(client: APIClient, resources: Iterable[GroupResource], name: str) -> None:
    """Delete the migrations of ``name``, so that another ``migrate`` makes them anew."""
    migrations = ResourceClient(client, MIGRATIONS, namespaced=False)
    for gr in resources:
        try:
            await migrations.delete(Key("", f"{name}-{gr.resource}{'.' * bool(gr.group)}{gr.group}"))
        except APIError as error:
            if error.code != 404:
                raise


async def _create(migrations: ResourceClient, name: str, gr: GroupResource) -> None:
    """Create a migration, unless it is there."""
    migration = {
        "apiVersion": str(MIGRATIONS.gv),
        "kind": "StorageVersionMigration",
        "metadata": {"name": name},
        "spec": {"resource": {"group": gr.group, "resource": gr.resource}},
    }
    try:
        await migrations.create(migration)
    except APIError as error:
        if error.code == 404:
            raise MigrationFailed(
                "storageversionmigrations are not served: set --resources.storageversionmigrations"
            ) from error
        if error.reason != "AlreadyExists":
            raise


async def _get(migrations: ResourceClient, name: str) -> Obj | None:
    try:
        return await migrations.get(Key("", name))
    except APIError as error:
        if error.code == 404:
            return None
        raise


def _message(migration: Obj, type_: str) -> str:
    conditions = (migration.get("status") or {}).get("conditions") or ()
    return next((condition.get("message", "") for condition in conditions if condition["type"] == type_), "")
