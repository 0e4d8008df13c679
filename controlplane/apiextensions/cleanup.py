"""The removal of a deleted definition's instances, before the definition itself goes.

Instances are deleted through the registry, so their finalizers count; the definition stays as long as one is left.

Source: kubernetes/apiextensions-apiserver ``pkg/controller/finalizer/crd_finalizer.go``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from controlplane.apiextensions.custom.resource import CustomResources
from controlplane.apiextensions.definition.conditions import Condition, conditions_of, with_condition
from controlplane.apiextensions.definition.extract import Definition
from controlplane.apiextensions.definition.resource import CLEANUP_FINALIZER
from controlplane.apimachinery.identity import Key, Obj
from controlplane.apimachinery.resource import Resource
from controlplane.apimachinery.status import APIError
from controlplane.apiserver.registry.delete import delete
from controlplane.apiserver.registry.deletion import DeleteRequest
from controlplane.apiserver.registry.sources import SourceServices
from controlplane.apiserver.registry.table import Served
from controlplane.apiserver.registry.update import Produce
from controlplane.base import logs
from controlplane.storage.cache.ring import Change

__all__ = ["InstanceRemoval", "needs_cleanup"]

log = logs.get(__name__)

RETRY_SECONDS = 1.0

_IN_PROGRESS = Condition("Terminating", "True", "InstanceDeletionInProgress", "CustomResource deletion is in progress")
_COMPLETED = Condition("Terminating", "False", "InstanceDeletionCompleted", "removed all instances")
_NEVER = Condition("Terminating", "False", "NeverEstablished", "resource was never established")

UpdateDefinition = Callable[[str, Produce], Awaitable[object]]


def needs_cleanup(definition: Definition) -> bool:
    return definition.is_deleted and CLEANUP_FINALIZER in definition.finalizers


class InstanceRemoval:
    """One definition's."""

    def __init__(self, services: SourceServices, resources: CustomResources | None) -> None:
        self._services, self._resources = services, resources
        self._changed = asyncio.Event()

    async def run(self, definition: Definition, update: UpdateDefinition) -> None:
        """Remove all instances, then the finalizer; tried again until it is done or somebody else has done it."""
        clock = self._services.registry.clock
        while True:
            try:
                if self._resources is None:
                    outcome = _NEVER
                else:
                    await update(definition.name, self._with(definition, _IN_PROGRESS))
                    await self._remove_all(self._resources)
                    outcome = _COMPLETED
                await update(definition.name, self._with(definition, outcome, finished=True))
                return
            except APIError as error:
                if error.reason == "NotFound":
                    return
                log.warning("a definition's instances cannot be removed now", name=definition.name, error=error)
            await clock.sleep(RETRY_SECONDS)

    def _with(self, definition: Definition, condition: Condition, *, finished: bool = False) -> Produce:
        async def produce(old: Obj | None) -> Obj:
            assert old is not None
            if old["metadata"].get("uid") != definition.uid:
                return old
            metadata = dict(old["metadata"])
            if finished:
                metadata["finalizers"] = [
                    name for name in metadata.get("finalizers") or () if name != CLEANUP_FINALIZER
                ]
            conditions = with_condition(conditions_of(old), condition, self._services.registry.now())
            return {**old, "metadata": metadata, "status": {**old["status"], "conditions": conditions}}

        return produce

    async def _remove_all(self, resources: CustomResources) -> None:
        """Delete all instances, and wait until none is left."""
        resource, mirror = resources.stored, self._services.mirror
        version = next(version for version in resource.versions if version.name == resource.storage_version)
        served = Served(resource, version, mirror.storage(resource, conversion=resources.conversion))
        stop = mirror.observe(resource, self)
        try:
            while await self._delete_present(served, resource):
                await self._changed.wait()
                self._changed.clear()
        finally:
            stop()

    async def _delete_present(self, served: Served, resource: Resource) -> int:
        """Delete what there is. Returns how much of it is held by finalizers."""
        left = 0
        await self._services.mirror.fresh(None)
        for entry in self._services.mirror.entries(resource):
            key: Key = served.storage.key_of(entry)
            try:
                deleted = await delete(self._services.registry, served, key, DeleteRequest(), admit=None)
            except APIError as error:
                if error.reason != "NotFound":
                    raise
                continue
            left += not deleted.gone
        return left

    # Of the mirror's steps.

    def changed(self, change: Change) -> None:
        if change.entry is None:
            self._changed.set()

    def step(self) -> None:
        """Nothing depends on where a step ends."""

    def replaced(self) -> None:
        self._changed.set()
