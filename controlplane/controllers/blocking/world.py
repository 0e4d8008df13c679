"""All objects as a client sees them now, by their metadata: who owns whom, and what could not be seen."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import GVK, GroupVersion, Obj
from controlplane.apimachinery.status import APIError
from controlplane.base.values import dataclass
from controlplane.client.api import APIClient
from controlplane.client.discovery import APIResource, discover
from controlplane.client.errors import ClientError
from controlplane.client.resources import ResourceClient
from controlplane.controllers.garbage_collector.graph import Identity, Owner, owners_of

__all__ = ["Seen", "World", "look_around"]

_AT_A_TIME = 8
_EVENTS = frozenset({("", "events"), ("events.k8s.io", "events")})


class Seen(NamedTuple):
    """One object: which, of which resource, and what of its metadata matters here."""

    identity: Identity
    resource: APIResource
    owners: tuple[Owner, ...]
    finalizers: tuple[str, ...]
    deleted_at: str

    def __str__(self) -> str:
        """As kubectl names it, with its namespace."""
        place = f"{self.identity.namespace}/" if self.identity.namespace else ""
        return f"{self.resource.gvr.gr} {place}{self.identity.name}"


@dataclass(frozen=True, slots=True)
class World:
    """``objects`` by uid. ``kinds``: what discovery knows. ``unseen``: what could not be discovered or listed, and why;
    nothing of it can be called absent."""

    objects: Mapping[str, Seen]
    kinds: Mapping[GVK, APIResource]
    unseen: Mapping[str, str]

    def dependents(self, uid: str) -> list[Seen]:
        """The objects that name this one as an owner."""
        return [seen for seen in self.objects.values() if any(owner.uid == uid for owner in seen.owners)]

    def knows(self, owner: Owner) -> bool:
        """Whether that an owner is not among ``objects`` means that it does not exist."""
        try:
            gv = GroupVersion.parse(owner.api_version)
        except ValueError:
            return False
        resource = self.kinds.get(GVK(gv.group, gv.version, owner.kind))
        return resource is not None and str(resource.gvr.gr) not in self.unseen

    def goes_with(self, uid: str) -> list[Seen]:
        """What the garbage collector would delete if the object with this uid were gone: all whose owners would be."""
        gone = {uid}
        found: list[Seen] = []
        while True:
            more = [
                seen
                for seen in self.objects.values()
                if seen.identity.uid not in gone
                and any(owner.uid in gone for owner in seen.owners)
                and all(self._is_gone(owner, gone) for owner in seen.owners)
            ]
            if not more:
                return found
            found += more
            gone |= {seen.identity.uid for seen in more}

    def _is_gone(self, owner: Owner, gone: Iterable[str]) -> bool:
        return owner.uid in gone or (owner.uid not in self.objects and self.knows(owner))


async def look_around(client: APIClient) -> World:
    """List everything that can be listed, as metadata.

    Raises:
        APIError, ClientError: not even the groups could be read.
    """
    found = await discover(client)
    unseen = {f"discovery of {gv}": str(error) for gv, error in found.failed.items()}
    objects: dict[str, Seen] = {}
    room = asyncio.Semaphore(_AT_A_TIME)

    async def take(resource: APIResource) -> None:
        async with room:
            try:
                listed = ResourceClient(client, resource.gvr, namespaced=resource.namespaced)
                async for page in listed.pages(metadata_only=True):
                    for item in page.items:
                        objects[meta.uid(item)] = _seen(resource, item)
            except (APIError, ClientError) as error:
                unseen[str(resource.gvr.gr)] = str(error)

    preferred = {resource.gvr.gr: resource for resource in reversed(found.resources)}
    async with asyncio.TaskGroup() as group:
        for resource in preferred.values():
            if resource.gvr.gr not in _EVENTS and resource.verbs >= {"delete", "list"}:
                group.create_task(take(resource))
    kinds = {GVK(r.gvr.group, r.gvr.version, r.kind): r for r in found.resources}
    return World(objects, kinds, unseen)


def _seen(resource: APIResource, obj: Obj) -> Seen:
    identity = Identity(str(resource.gvr.gv), resource.kind, meta.namespace(obj), meta.name(obj), meta.uid(obj))
    deleted_at = obj["metadata"].get("deletionTimestamp") or ""
    return Seen(identity, resource, owners_of(obj), tuple(meta.finalizers(obj)), deleted_at)
