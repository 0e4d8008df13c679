"""Every encrypted resource is migrated: by a StorageVersionMigration each, which the servers carry out."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from controlplane.apimachinery.identity import GroupResource, Key, Obj
from controlplane.apimachinery.status import APIError
from controlplane.base.tasks import TaskGroup
from controlplane.client.api import APIClient
from controlplane.client.discovery import discover
from controlplane.client.resources import ResourceClient
from controlplane.storage.encryption.configuration import parse_resource
from controlplane.storagemigration.following import ask, follow
from controlplane.storagemigration.objects import MIGRATIONS

__all__ = ["MigrationFailed", "encrypted_resources", "migrate"]

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


async def migrate(client: APIClient, resources: Iterable[GroupResource], say: Callable[[str], None]) -> None:
    """Have every resource migrated, and wait. Migrations that succeed are removed again.

    Raises:
        MigrationFailed; APIError, ClientError.
    """
    async with TaskGroup("migrations") as group:
        for running in [group.start(_migrate(client, gr, say), name=str(gr)) for gr in resources]:
            await running


async def _migrate(client: APIClient, gr: GroupResource, say: Callable[[str], None]) -> None:
    try:
        migration = await ask(client, gr)
    except APIError as error:
        if error.code != 404:
            raise
        why = "storageversionmigrations are not served: set --resources.storageversionmigrations"
        raise MigrationFailed(why) from error
    ended = await follow(client, migration, lambda text: say(f"{gr}: {text}"))
    if ended.failure:
        raise MigrationFailed(f"the migration of {gr} ({ended.name}) has failed: {ended.failure}")
    say(f"{gr}: {ended.counts or 'migrated'}")
    await ResourceClient(client, MIGRATIONS, namespaced=False).delete(Key("", ended.name))
