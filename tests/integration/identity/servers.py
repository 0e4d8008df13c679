"""Several servers of one process on one store, and what they say of themselves there."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import GVR, Obj
from controlplane.generic.config import Config
from controlplane.storage.kv.api import prefix_end
from controlplane.testing.planes import Plane, running_plane
from controlplane.testing.shared_store import SharedStore
from tests.integration.controllers.objects import Objects

__all__ = ["LEASES", "RECORDS", "leases", "on_store", "stored_records"]

LEASES = GVR("coordination.k8s.io", "v1", "leases")
RECORDS = b"/registry/peerserverleases/"


@asynccontextmanager
async def on_store(
    store: SharedStore, certificates: Path, configure: Callable[[Config], None] | None = None
) -> AsyncIterator[Plane]:
    """A server on a store that it shares."""

    def configured(config: Config) -> None:
        config.open_store = store.open
        if configure is not None:
            configure(config)

    async with running_plane(cert_dir=certificates, configure=configured) as plane:
        yield plane


async def leases(plane: Plane) -> dict[str, Obj]:
    """Identity leases by name."""
    listed = await Objects(plane).of(LEASES).list("kube-system", label_selector="apiserver.kubernetes.io/identity")
    return {meta.name(item): item for item in listed.items}


async def stored_records(store: SharedStore) -> dict[str, Any]:
    """The peer records in the store, by server id."""
    found = await store.kv.range(RECORDS, prefix_end(RECORDS))
    return {item.key.removeprefix(RECORDS).decode(): json.loads(item.value) for item in found.items}
