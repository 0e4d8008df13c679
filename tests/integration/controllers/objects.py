"""Short ways to make, look at and wait for objects of a plane in process."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import GVR, Key, Obj
from controlplane.apimachinery.status import APIError
from controlplane.client.resources import Propagation, ResourceClient
from controlplane.testing.planes import Plane

CONFIGMAPS = GVR("", "v1", "configmaps")
NAMESPACES = GVR("", "v1", "namespaces")
SECONDS = 20.0


class Objects:
    """ConfigMaps (``namespace``), namespaces, and whatever else a test names by its GVR."""

    def __init__(self, plane: Plane, namespace: str = "default") -> None:
        self._client, self.namespace = plane.client(), namespace
        self.configmaps = self.of(CONFIGMAPS)
        self.namespaces = self.of(NAMESPACES, namespaced=False)

    def of(self, gvr: GVR, *, namespaced: bool = True) -> ResourceClient:
        return ResourceClient(self._client, gvr, namespaced=namespaced)

    async def make(
        self, name: str, *owners: Obj, namespace: str = "", finalizers: tuple[str, ...] = (), blocks: bool = False
    ) -> Obj:
        """A ConfigMap that depends on ``owners``."""
        metadata: dict[str, Any] = {"name": name, "namespace": namespace or self.namespace}
        if owners:
            metadata["ownerReferences"] = [owner_reference(owner, blocks=blocks) for owner in owners]
        if finalizers:
            metadata["finalizers"] = list(finalizers)
        return await self.configmaps.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})

    async def delete(self, name: str, propagation: Propagation | None = None) -> None:
        await self.configmaps.delete(Key(self.namespace, name), propagation=propagation)

    async def find(self, name: str, namespace: str = "") -> Obj | None:
        return await found(self.configmaps.get(Key(namespace or self.namespace, name)))

    async def names(self) -> set[str]:
        """The test's own ConfigMaps."""
        items = (await self.configmaps.list(self.namespace)).items
        return {meta.name(item) for item in items} - {"kube-root-ca.crt"}

    async def gone(self, *names: str) -> None:
        """Wait until none of these ConfigMaps is there."""

        async def none() -> bool:
            return not (await self.names() & set(names))

        await until(none)


def owner_reference(owner: Obj, *, blocks: bool = False) -> Obj:
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": meta.name(owner),
        "uid": meta.uid(owner),
    }
    return {**reference, "blockOwnerDeletion": True} if blocks else reference


async def found(reading: Awaitable[Obj]) -> Obj | None:
    """What a read gives, None for NotFound."""
    try:
        return await reading
    except APIError as e:
        if e.reason == "NotFound":
            return None
        raise


async def until(condition: Callable[[], Awaitable[bool]], *, seconds: float = SECONDS, every: float = 0.02) -> None:
    """Ask again and again, for a bounded time: what the test waits for is another party's work."""
    async with asyncio.timeout(seconds):
        while not await condition():  # noqa: ASYNC110 - another program's state, not an event of ours
            await asyncio.sleep(every)
