"""The definition of a custom resource that is migrated: it says so while it lasts, and when all objects have been
written anew it forgets the versions in which none is stored any more.

Unlike upstream, which forgets them also when the migration has failed.

Source: conditions, reasons and messages of kubernetes 1.36 ``pkg/controller/storageversionmigrator``.
"""

from __future__ import annotations

from collections.abc import Callable

from controlplane.apimachinery.identity import GVR, GroupResource, Key, Obj
from controlplane.apimachinery.status import APIError
from controlplane.base.clock import Clock, rfc3339
from controlplane.client.api import APIClient
from controlplane.client.resources import PatchType, ResourceClient

__all__ = ["DEFINITIONS", "Definitions"]

DEFINITIONS = GVR("apiextensions.k8s.io", "v1", "customresourcedefinitions")
MANAGER = "migration-runner-controller"
MIGRATING = "StorageMigrating"
SUCCEEDED = "MigrationSucceeded"
_ATTEMPTS = 5


class Definitions:
    """Definitions by the resource that they define."""

    def __init__(self, client: APIClient, clock: Clock) -> None:
        self._definitions, self._clock = ResourceClient(client, DEFINITIONS, namespaced=False), clock

    async def began(self, gr: GroupResource, migration: str) -> None:
        """Note that a migration of this name runs. Nothing for a resource without a definition.

        Raises:
            APIError, ClientError.
        """

        def status(definition: Obj) -> Obj:
            return {
                "conditions": [
                    self._condition(definition, "True", "MigrationRunning", f"Migration {migration} is running")
                ]
            }

        await self._apply(gr, status)

    async def succeeded(self, gr: GroupResource) -> None:
        """Note that all is stored in the storage version, and that this is the only one, unless the definition has
        changed since the migration began. Raises as ``began``."""

        def status(definition: Obj) -> Obj | None:
            if _is_done(definition):
                return None
            unchanged = _observed(definition) == definition["metadata"].get("generation")
            message = "The migration has succeeded " + (
                "and the stored versions have been updated"
                if unchanged
                else "but the stored versions have not been updated due to a generation mismatch"
            )
            changed: Obj = {"conditions": [self._condition(definition, "False", SUCCEEDED, message)]}
            if unchanged:
                changed["storedVersions"] = [v["name"] for v in definition["spec"]["versions"] if v["storage"]]
            return changed

        await self._apply(gr, status)

    async def failed(self, gr: GroupResource) -> None:
        """Note that the migration has ended otherwise. The stored versions stay as they are. Raises as ``began``."""

        def status(definition: Obj) -> Obj:
            return {"conditions": [self._condition(definition, "False", "MigrationFailed", "The migration has failed")]}

        await self._apply(gr, status)

    async def abandoned(self, gr: GroupResource) -> None:
        """As ``failed``, if the definition says that a migration runs. Raises as ``began``."""
        definition = await self._read(gr)
        if definition is not None and (_migrating(definition) or {}).get("status") == "True":
            await self.failed(gr)

    async def _apply(self, gr: GroupResource, status: Callable[[Obj], Obj | None]) -> None:
        """Apply what ``status`` makes of the definition as it is, None: nothing. Nobody may have changed it in between.

        The stored versions are always part of it: what an apply owns and leaves out is removed.
        """
        for attempt in range(1, _ATTEMPTS + 1):
            definition = await self._read(gr)
            if definition is None:
                return
            changed = status(definition)
            if changed is None:
                return
            metadata = definition["metadata"]
            wanted = {
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "CustomResourceDefinition",
                "metadata": {"name": metadata["name"], "resourceVersion": metadata["resourceVersion"]},
                "status": {"storedVersions": definition["status"]["storedVersions"], **changed},
            }
            try:
                await self._definitions.patch(
                    _key(gr), wanted, PatchType.APPLY, subresource="status", field_manager=MANAGER, force=True
                )
                return
            except APIError as error:
                if error.code == 404:  # deleted meanwhile
                    return
                if error.reason != "Conflict" or attempt == _ATTEMPTS:
                    raise

    async def _read(self, gr: GroupResource) -> Obj | None:
        if not gr.group:
            return None
        try:
            return await self._definitions.get(_key(gr))
        except APIError as error:
            if error.code != 404:  # also where no definitions are served
                raise
            return None

    def _condition(self, definition: Obj, status: str, reason: str, message: str) -> Obj:
        return {
            "type": MIGRATING,
            "status": status,
            "lastTransitionTime": rfc3339(self._clock.now()),
            "reason": reason,
            "message": message,
            "observedGeneration": definition["metadata"].get("generation", 0),
        }


def _key(gr: GroupResource) -> Key:
    return Key("", f"{gr.resource}.{gr.group}")


def _migrating(definition: Obj) -> Obj | None:
    conditions = (definition.get("status") or {}).get("conditions") or ()
    return next((condition for condition in conditions if condition["type"] == MIGRATING), None)


def _observed(definition: Obj) -> int | None:
    """The generation of which a migration was begun, None if none was."""
    return (_migrating(definition) or {}).get("observedGeneration")


def _is_done(definition: Obj) -> bool:
    """Whether it is noted already that a migration has succeeded, and of no later one that it runs: whoever was stopped
    right after that does it again, and the generation observed then is no longer that of the beginning."""
    return (_migrating(definition) or {}).get("reason") == SUCCEEDED
