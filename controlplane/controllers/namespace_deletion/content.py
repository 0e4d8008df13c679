"""The content of a namespace on its way out: delete it, and say what is left and why.

Every namespaced resource that can be deleted is asked for what it has, emptied, and asked again. What could not be
discovered, read or deleted is an error beside the counts: nobody may take it for empty.

Source: behaviour of kubernetes ``pkg/controller/namespace/deletion/namespaced_resources_deleter.go``.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import field

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import GVR, GroupResource, Obj
from controlplane.apimachinery.status import APIError
from controlplane.base.values import dataclass
from controlplane.client.api import APIClient
from controlplane.client.discovery import APIResource, Discovered, discover
from controlplane.client.errors import ClientError
from controlplane.client.resources import Propagation, ResourceClient

__all__ = ["Content", "delete_content"]

_AT_A_TIME = 8


@dataclass(slots=True)
class Content:
    """What one round left behind. ``discovery_error`` and ``errors`` are texts for the namespace's conditions.

    ``remaining``: objects left, by resource. ``finalizers``: how many of them each finalizer is on.
    """

    discovery_error: str = ""
    errors: list[str] = field(default_factory=list)
    remaining: dict[GroupResource, int] = field(default_factory=dict)
    finalizers: Counter[str] = field(default_factory=Counter)

    @property
    def gone(self) -> bool:
        """Whether the namespace is known to be empty."""
        return not (self.discovery_error or self.errors or self.remaining)


async def delete_content(client: APIClient, namespace: str) -> Content:
    """Delete everything in the namespace once; objects with finalizers stay until these are off."""
    content = Content()
    try:
        found = await discover(client, preferred_only=True)
    except (APIError, ClientError) as e:
        content.discovery_error = str(e)
        return content
    if found.failed:
        content.discovery_error = _partial(found)
    room = asyncio.Semaphore(_AT_A_TIME)

    async def empty(resource: APIResource) -> None:
        async with room:
            await _empty(ResourceClient(client, resource.gvr, namespaced=True), resource, namespace, content)

    deletable = [r for r in found.resources if r.namespaced and "delete" in r.verbs]
    async with asyncio.TaskGroup() as group:
        for resource in deletable:
            group.create_task(empty(resource))
    return content


async def _empty(client: ResourceClient, resource: APIResource, namespace: str, content: Content) -> None:
    if "list" not in resource.verbs and "deletecollection" not in resource.verbs:
        return  # nothing can be found, as of subresource-like kinds
    try:
        items = await _items(client, resource, namespace)
        if items:
            await _delete_all(client, resource, namespace, items)
            items = await _items(client, resource, namespace)
    except (APIError, ClientError) as e:
        content.errors.append(str(e))
        return
    if not items:
        return
    content.remaining[resource.gvr.gr] = len(items)
    held = Counter(finalizer for item in items for finalizer in meta.finalizers(item))
    content.finalizers.update(held)
    if not held:
        content.errors.append(
            f"unexpected items still remain in namespace: {namespace} for gvr: {_go_text(resource.gvr)}"
        )


async def _items(client: ResourceClient, resource: APIResource, namespace: str) -> Sequence[Obj]:
    if "list" not in resource.verbs:
        await client.delete_collection(namespace, propagation=Propagation.BACKGROUND)
        return ()
    return (await client.list(namespace, metadata_only=True)).items


async def _delete_all(client: ResourceClient, resource: APIResource, namespace: str, items: Sequence[Obj]) -> None:
    if "deletecollection" in resource.verbs:
        await client.delete_collection(namespace, propagation=Propagation.BACKGROUND)
        return
    for item in items:
        try:
            await client.delete(meta.key_of(item), uid=meta.uid(item), propagation=Propagation.BACKGROUND)
        except APIError as e:
            if e.reason not in ("NotFound", "Conflict"):
                raise


def _partial(found: Discovered) -> str:
    listed = ", ".join(sorted(f"{gv}: {error}" for gv, error in found.failed.items()))
    return (
        f"Discovery failed for some groups, {len(found.failed)} failing: "
        f"unable to retrieve the complete list of server APIs: {listed}"
    )


def _go_text(gvr: GVR) -> str:
    return f"{gvr.group}/{gvr.version}, Resource={gvr.resource}"
