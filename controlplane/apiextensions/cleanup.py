"""The removal of a deleted definition's instances, before the definition itself goes.

Instances are deleted through the registry, so their finalizers count; the definition stays as long as one is left.

Source: kubernetes/apiextensions-apiserver ``pkg/controller/finalizer/crd_finalizer.go``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from controlplane.apiextensions.definition.conditions import Condition, conditions_of, with_condition
from controlplane.apiextensions.definition.extract import Definition
from controlplane.apiextensions.definition.resource import CLEANUP_FINALIZER
from controlplane.apimachinery.identity import GroupResource, Key, Obj
from controlplane.apimachinery.status import APIError
from controlplane.apiserver.registry.delete import delete
from controlplane.apiserver.registry.deletion import DeleteRequest
from controlplane.apiserver.registry.sources import SourceServices
from controlplane.apiserver.registry.table import Served
from controlplane.apiserver.registry.update import Produce
from controlplane.base import logs
from controlplane.storage.cache.ring import Change

if TYPE_CHECKING:
    from controlplane.apiextensions.custom.resource import CustomResources

__all__ = ["InstanceRemoval", "needs_cleanup"]

log = logs.get(__name__)

RETRY_SECONDS = 1.0
CHECK_SECONDS = 60.0
"""How long instances may be held by finalizers before the definition's status says so, as upstream."""

_IN_PROGRESS = Condition("Terminating", "True", "InstanceDeletionInProgress", "CustomResource deletion is in progress")
_COMPLETED = Condition("Terminating", "False", "InstanceDeletionCompleted", "removed all instances")
_NEVER = Condition("Terminating", "False", "NeverEstablished", "resource was never established")
_OVERLAPPING = Condition(
    "Terminating", "False", "OverlappingBuiltInResource", "instances overlap with built-in resources in storage"
)
_STILL_THERE = Condition(
    "Terminating",
    "True",
    "InstanceDeletionCheck",
    "could not confirm zero CustomResources remaining: context deadline exceeded",
)
_BUILT_IN = (
    GroupResource("apiregistration.k8s.io", "apiservices"),
    GroupResource("apiextensions.k8s.io", "customresourcedefinitions"),
)
"""What a definition may name by mistake, and must not take away with it."""


def _failed(error: APIError) -> Condition:
    return Condition("Terminating", "True", "InstanceDeletionFailed", f"could not issue all deletes: {error.message}")


UpdateDefinition = Callable[[str, Produce], Awaitable[object]]


def needs_cleanup(definition: Definition) -> bool:
    return definition.is_deleted and CLEANUP_FINALIZER in definition.finalizers


class InstanceRemoval:
    """One definition's. ``resources``: what is served of it now; the definition may be changed meanwhile, and perhaps
    has to be, so that its instances can be deleted."""

    def __init__(self, services: SourceServices, resources: Callable[[], CustomResources | None]) -> None:
        self._services, self._resources = services, resources
        self._changed = asyncio.Event()

    async def run(self, definition: Definition, update: UpdateDefinition) -> None:
        """Remove all instances, then the finalizer; tried again until it is done or somebody else has done it."""
        clock, still_there = self._services.registry.clock, self._with(definition, _STILL_THERE)
        state: Condition | None = _IN_PROGRESS if self._resources() is not None else None
        while True:
            try:
                if state is not None:
                    await update(definition.name, self._with(definition, state))
                outcome = _OVERLAPPING if definition.gr in _BUILT_IN else _NEVER
                if self._resources() is not None:
                    await self._remove_all(lambda: update(definition.name, still_there))
                    outcome = _COMPLETED
                await update(definition.name, self._with(definition, outcome, finished=True))
                return
            except APIError as error:
                if error.reason == "NotFound":
                    return
                log.warning("a definition's instances cannot be removed now", name=definition.name, error=error)
                state = _failed(error)
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

    async def _remove_all(self, report: Callable[[], Awaitable[object]]) -> None:
        """Delete all instances, and wait until none is left; ``report`` that there are some now and then."""
        resources = self._resources()
        if resources is None:
            return
        stop = self._services.mirror.observe(resources.stored, self)
        try:
            while await self._delete_present():
                try:
                    async with asyncio.timeout(CHECK_SECONDS):
                        await self._changed.wait()
                except TimeoutError:
                    await report()
                self._changed.clear()
        finally:
            stop()

    async def _delete_present(self) -> int:
        """Delete what there is. Returns how much of it is held by finalizers."""
        mirror, resources, left = self._services.mirror, self._resources(), 0
        if resources is None:
            return 0
        resource = resources.stored
        version = next(version for version in resource.versions if version.name == resource.storage_version)
        served = Served(resource, version, mirror.storage(resource, conversion=resources.conversion))
        await mirror.fresh(None)
        for entry in mirror.entries(resource):
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
