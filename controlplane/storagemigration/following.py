"""Asking for a migration and following it to its end: what people and other tools do.

Whoever stops following leaves the migration to the server, which goes on with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import GVR, GroupResource, Obj
from controlplane.apimachinery.status import APIError
from controlplane.client.api import APIClient
from controlplane.client.errors import ClientError, StreamBroken
from controlplane.client.resources import ResourceClient
from controlplane.storagemigration.objects import (
    FAILED,
    MIGRATIONS,
    RUNNING,
    condition_of,
    is_running,
    is_terminal,
    is_true,
)

__all__ = ["Migrated", "MigrationGone", "ask", "follow"]

EVENTS = GVR("", "v1", "events")
_EXPIRED = 410


class MigrationGone(ClientError):
    """Somebody deleted the migration before it ended."""


class Migrated(NamedTuple):
    """How a migration ended. ``failure``: why it failed, ``""`` if it did not; ``counts``: what was written and what is
    stored now, ``""`` if nobody says."""

    name: str
    failure: str
    counts: str


async def ask(client: APIClient, gr: GroupResource) -> Obj:
    """Ask for a migration of a resource.

    Raises:
        APIError: also where no migrations are served (404). ClientError.
    """
    migrations = ResourceClient(client, MIGRATIONS, namespaced=False)
    return await migrations.create(
        {
            "apiVersion": str(MIGRATIONS.gv),
            "kind": "StorageVersionMigration",
            "metadata": {"generateName": f"{gr}-"},
            "spec": {"resource": {"group": gr.group, "resource": gr.resource}},
        }
    )


async def follow(client: APIClient, migration: Obj, show: Callable[[str], None]) -> Migrated:
    """Wait until a migration has ended and is cleaned up; ``show`` is told how far it is, each time that changes.

    Raises:
        MigrationGone. APIError, ClientError.
    """
    migrations = ResourceClient(client, MIGRATIONS, namespaced=False)
    shown = ""
    while True:
        selected = f"metadata.name={meta.name(migration)}"
        try:
            async with migrations.watch(field_selector=selected) as events:
                async for event in events:
                    if event.type == "BOOKMARK" or meta.uid(event.object) != meta.uid(migration):
                        continue
                    if event.type == "DELETED":
                        raise MigrationGone(f"the migration {meta.name(migration)} was deleted before it ended")
                    if is_terminal(event.object) and not is_running(event.object):
                        return await _end(client, event.object)
                    if (text := _text(event.object)) != shown:
                        shown = text
                        show(text)
        except StreamBroken:
            pass
        except APIError as error:
            if error.code != _EXPIRED:
                raise
        await _refuse_absent(migrations, migration)


async def _refuse_absent(migrations: ResourceClient, migration: Obj) -> None:
    """What was deleted while nobody watched is not seen by the next watch."""
    try:
        found = await migrations.get(meta.key_of(migration))
    except APIError as error:
        if error.code != 404:
            raise
        found = {}
    if meta.uid(found) != meta.uid(migration):
        raise MigrationGone(f"the migration {meta.name(migration)} was deleted before it ended")


def _text(migration: Obj) -> str:
    running = condition_of(migration, RUNNING)
    return str(running["message"]) if running is not None else "waiting for its turn"


async def _end(client: APIClient, migration: Obj) -> Migrated:
    failed = condition_of(migration, FAILED)
    failure = str(failed["message"]) if failed is not None and is_true(migration, FAILED) else ""
    events = ResourceClient(client, EVENTS, namespaced=True)
    try:
        about = await events.list("default", field_selector=f"involvedObject.uid={meta.uid(migration)}")
    except APIError:
        return Migrated(meta.name(migration), failure, "")  # not served, or not ours to read
    message = next((str(event["message"]) for event in about.items if event["reason"].startswith("Migration")), "")
    return Migrated(meta.name(migration), failure, message.removeprefix(f"{failure}; ") if failure else message)
