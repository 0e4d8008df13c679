"""A custom resource with two versions whose storage version is changed, and what the raw store holds of it."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from typing import Any

from controlplane.apimachinery.identity import GVR, Key, Obj
from controlplane.client.resources import PatchType
from controlplane.storage.kv.api import KV, prefix_end
from controlplane.testing.planes import Plane
from tests.integration.controllers.objects import Objects, found, until

__all__ = ["DEFINITION", "WIDGETS", "Migrations", "conditions_of", "stored_versions", "widget"]

GROUP = "example.org"
DEFINITIONS = GVR("apiextensions.k8s.io", "v1", "customresourcedefinitions")
MIGRATIONS = GVR("storagemigration.k8s.io", "v1beta1", "storageversionmigrations")
WIDGETS = GVR(GROUP, "v1", "widgets")
DEFINITION = Key("", f"widgets.{GROUP}")


def _version(name: str, *, storage: bool) -> Obj:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {"name": name, "served": True, "storage": storage, "schema": {"openAPIV3Schema": schema}}


class Migrations(Objects):
    """Widgets, their definition, and migrations of one plane."""

    def __init__(self, plane: Plane) -> None:
        super().__init__(plane)
        self.definitions = self.of(DEFINITIONS, namespaced=False)
        self.migrations = self.of(MIGRATIONS, namespaced=False)
        self.widgets = self.of(WIDGETS)

    async def define(self) -> None:
        """Widgets, stored as v1beta1."""
        await self.definitions.create(
            {
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "CustomResourceDefinition",
                "metadata": {"name": DEFINITION.name},
                "spec": {
                    "group": GROUP,
                    "scope": "Namespaced",
                    "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
                    "versions": [_version("v1beta1", storage=True), _version("v1", storage=False)],
                },
            }
        )

    async def make_widgets(self, count: int, *, at_a_time: int = 32) -> None:
        names = iter(range(count))

        async def some() -> None:
            for number in names:
                await self.widgets.create(widget(f"w{number:05}"))

        async with asyncio.TaskGroup() as group:
            for _ in range(at_a_time):
                group.create_task(some())

    async def store_as_v1(self) -> None:
        """Let what is written from now on be stored as v1."""
        await self._store_as(v1=True)

        async def both_are_stored() -> bool:
            return await self.stored_versions() == ["v1beta1", "v1"]

        await until(both_are_stored)

    async def store_as_v1beta1(self) -> None:
        """The way back."""
        await self._store_as(v1=False)

    async def _store_as(self, *, v1: bool) -> None:
        await self.definitions.patch(
            DEFINITION,
            [
                {"op": "replace", "path": "/spec/versions/0/storage", "value": not v1},
                {"op": "replace", "path": "/spec/versions/1/storage", "value": v1},
            ],
            PatchType.JSON,
        )

    async def stored_versions(self) -> list[str]:
        definition = await self.definitions.get(DEFINITION)
        return list(definition["status"]["storedVersions"])

    async def migrating(self) -> Obj | None:
        """The definition's condition, without its time; None: no migration of it was ever begun."""
        definition = await self.definitions.get(DEFINITION)
        for condition in definition["status"]["conditions"]:
            if condition["type"] == "StorageMigrating":
                return {name: value for name, value in condition.items() if name != "lastTransitionTime"}
        return None

    async def migrate(self, name: str, resource: GVR = WIDGETS) -> Obj:
        return await self.migrations.create(
            {
                "apiVersion": "storagemigration.k8s.io/v1beta1",
                "kind": "StorageVersionMigration",
                "metadata": {"name": name},
                "spec": {"resource": {"group": resource.group, "resource": resource.resource}},
            }
        )

    async def migration(self, name: str) -> Obj | None:
        return await found(self.migrations.get(Key("", name)))

    async def ended(self, name: str, *, seconds: float = 20.0) -> Obj:
        """The migration once it has ended and is cleaned up."""

        async def has_ended() -> bool:
            one = await self.migration(name)
            states = {c["type"]: c["status"] for c in ((one or {}).get("status") or {}).get("conditions") or ()}
            return states.get("Running") == "False" and "True" in (states.get("Succeeded"), states.get("Failed"))

        await until(has_ended, seconds=seconds)
        one = await self.migration(name)
        assert one is not None
        return one

    async def said(self, name: str) -> Obj:
        """The one event about a migration, once it is there."""
        events = self.of(GVR("", "v1", "events"))

        async def listed() -> list[Obj]:
            items = (await events.list("default")).items
            return [item for item in items if item["involvedObject"]["name"] == name]

        async def is_there() -> bool:
            return bool(await listed())

        await until(is_there)
        (event,) = await listed()
        return event


def widget(name: str, **fields: Any) -> Obj:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "metadata": metadata, **fields}


def conditions_of(migration: Obj) -> list[tuple[str, str, str, str]]:
    """Type, status, reason and message of each."""
    return [
        (condition["type"], condition["status"], condition["reason"], condition["message"])
        for condition in migration["status"]["conditions"]
    ]


async def stored_versions(kv: KV, prefix: bytes = b"/registry/example.org/widgets/") -> Counter[str]:
    """How many objects the raw store holds in each version."""
    versions: Counter[str] = Counter()
    start, end = prefix, prefix_end(prefix)
    while True:
        page = await kv.range(start, end, limit=1000)
        versions.update(json.loads(item.value)["apiVersion"] for item in page.items)
        if not page.more:
            return versions
        start = page.items[-1].key + b"\0"
