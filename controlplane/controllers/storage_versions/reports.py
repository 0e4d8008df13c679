"""Reports in storage versions in which form this server stores each of its resources; until then, writes of it wait.

Source: behaviour of kubernetes/apiserver ``pkg/storageversion/manager.go`` (what is pending, every 10 minutes); here
what failed is tried again soon, and what says nothing new is not written.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import GroupResource, Key, Obj
from controlplane.apimachinery.status import APIError
from controlplane.apimachinery.storage_versions import STORAGE_VERSIONS, ServerForm, reported, storage_version_name
from controlplane.base import logs
from controlplane.base.clock import Clock, rfc3339
from controlplane.base.tasks import TaskGroup
from controlplane.client.api import APIClient
from controlplane.client.errors import ClientError
from controlplane.client.resources import ResourceClient

__all__ = ["StorageVersionReports"]

ROUND_SECONDS = 600.0
FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 30.0
AT_A_TIME = 8
TRIES = 5
"""At one object that others write too, before it counts as a failure."""

log = logs.get(__name__)


class StorageVersionReports:
    """What one server reports. ``completed`` is set once everything has been reported, and stays so.

    Args:
        forms: by resource. ``alike``: resources with the same objects as another one, and that one; they are reported
            there.
    """

    def __init__(
        self,
        server_id: str,
        forms: Mapping[GroupResource, ServerForm],
        *,
        alike: Mapping[GroupResource, GroupResource],
        clock: Clock,
    ) -> None:
        self.completed = asyncio.Event()
        self._server_id, self._forms, self._alike, self._clock = server_id, forms, alike, clock
        self._pending: set[GroupResource] = set(forms)
        self._errors: dict[GroupResource, Exception] = {}

    def pending(self, resource: GroupResource) -> str | None:
        """Whether a resource has not been reported yet: the last error (Go's ``<nil>`` without one); None if it has,
        or need not be."""
        resource = self._alike.get(resource, resource)
        if resource not in self._pending:
            return None
        return str(self._errors.get(resource, "<nil>"))

    async def run(self, client: APIClient) -> None:
        """Report now and every 10 minutes, since somebody may have changed or removed a report."""
        versions = ResourceClient(client, STORAGE_VERSIONS, namespaced=False)
        pause = FIRST_PAUSE_SECONDS
        while True:
            if await self._round(versions):
                self.completed.set()
                pause = FIRST_PAUSE_SECONDS
                await self._clock.sleep(ROUND_SECONDS)
            else:
                await self._clock.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    async def _round(self, versions: ResourceClient) -> bool:
        """Report everything; whether all of it has worked."""
        try:
            known = {meta.name(obj): obj for obj in (await versions.list()).items}
        except (APIError, ClientError) as error:
            self._errors.update(dict.fromkeys(self._pending, error))
            log.warning("storage versions cannot be read", error=error)
            return False
        failed: list[GroupResource] = []
        waiting = iter(sorted(self._forms))
        async with TaskGroup("storage-versions") as group:
            workers = [
                group.start(self._work(waiting, versions, known, failed), name=f"worker-{n}")
                for n in range(min(AT_A_TIME, len(self._forms)))
            ]
            await asyncio.gather(*workers)
        return not failed

    async def _work(
        self,
        waiting: Iterator[GroupResource],
        versions: ResourceClient,
        known: Mapping[str, Obj],
        failed: list[GroupResource],
    ) -> None:
        for resource in waiting:  # shared by all workers
            try:
                await self._report(versions, resource, known.get(storage_version_name(resource)))
            except (APIError, ClientError) as error:
                self._errors[resource] = error
                failed.append(resource)
                log.warning("a storage version cannot be reported", resource=str(resource), error=error)
            else:
                self._pending.discard(resource)
                self._errors.pop(resource, None)

    async def _report(self, versions: ResourceClient, resource: GroupResource, obj: Obj | None) -> None:
        """Write one report, unless it is there; ``obj``: the storage version as listed, None if there was none."""
        name = storage_version_name(resource)
        for left in reversed(range(TRIES)):
            try:
                if obj is None:
                    obj = await versions.create(_new(name))
                wanted = reported(obj, self._server_id, self._forms[resource], now=rfc3339(self._clock.now()))
                if wanted is not obj:
                    await versions.update_status(wanted)
                return
            except APIError as error:
                if error.reason not in ("AlreadyExists", "Conflict", "NotFound") or not left:
                    raise
            obj = await _read(versions, name)


async def _read(versions: ResourceClient, name: str) -> Obj | None:
    try:
        return await versions.get(Key("", name))
    except APIError as error:
        if error.reason == "NotFound":
            return None
        raise


def _new(name: str) -> Obj:
    head = {"apiVersion": f"{STORAGE_VERSIONS.group}/{STORAGE_VERSIONS.version}", "kind": "StorageVersion"}
    return {**head, "metadata": {"name": name}, "spec": {}}
