"""What blocks an object's deletion, in lines: objects, finalizers, owners, failing discovery, and what the garbage
collector makes of it. Nothing is changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import Key, Obj
from controlplane.base.values import dataclass
from controlplane.client.api import APIClient
from controlplane.client.discovery import APIResource
from controlplane.client.naming import resource_named
from controlplane.client.resources import ResourceClient
from controlplane.controllers.blocking.world import Seen, World, look_around
from controlplane.controllers.garbage_collector.graph import FOREGROUND, ORPHAN, Owner, owners_of

__all__ = ["Report", "why"]

_SHOWN = 10
_CONTENT = "namespaces"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """``state``: one line. ``blocked_by``: what has to go or be done before the object goes; empty if nothing.
    ``owners``: each with what is known of it. ``collector``: what the garbage collector would do with this object, and
    with others once it is gone. ``unseen``: what could not be looked at, so that the rest may be incomplete."""

    state: str
    blocked_by: tuple[str, ...]
    owners: tuple[str, ...]
    collector: tuple[str, ...]
    unseen: tuple[str, ...]

    def text(self) -> str:
        lines = [self.state]
        for title, part in (
            ("blocked by", self.blocked_by or ("nothing",)),
            ("owners", self.owners or ("none",)),
            ("garbage collector, dry run", self.collector),
            ("could not be seen", self.unseen),
        ):
            if part:
                lines += [f"{title}:", *(f"  {line}" for line in part)]
        return "\n".join(lines) + "\n"


async def why(client: APIClient, resource_name: str, key: Key) -> Report:
    """Look at everything, then at the object.

    Raises:
        NoSuchResource. APIError: 404 if there is no such object. ClientError: the server cannot be asked.
    """
    world = await look_around(client)
    resource = resource_named(world.kinds.values(), resource_name)
    key = key if resource.namespaced else Key("", key.name)
    obj = await ResourceClient(client, resource.gvr, namespaced=resource.namespaced).get(key)
    deleted_at = obj["metadata"].get("deletionTimestamp")
    name = f"{resource.gvr.gr} {f'{key.namespace}/' if key.namespace else ''}{key.name}"
    state = f"{name} is being deleted since {deleted_at}" if deleted_at else f"{name} is not being deleted"
    return Report(
        state=state,
        blocked_by=tuple(_blocked_by(world, resource, obj)),
        owners=tuple(f"{_named(owner)}: {_state_of(world, owner, key.namespace)}" for owner in owners_of(obj)),
        collector=tuple(_collector(world, obj, key.namespace)),
        unseen=tuple(f"{what}: {error}" for what, error in sorted(world.unseen.items())),
    )


def _blocked_by(world: World, resource: APIResource, obj: Obj) -> Iterator[str]:
    dependents = world.dependents(meta.uid(obj))
    for finalizer in meta.finalizers(obj):
        if finalizer == FOREGROUND:
            yield f"finalizer {finalizer}: its blocking dependents go first"
            uid = meta.uid(obj)
            blocking = [d for d in dependents if any(o.uid == uid and o.blocks for o in d.owners)]
            yield from _listed("dependent", blocking)
        elif finalizer == ORPHAN:
            yield f"finalizer {finalizer}: its dependents are set free first"
            yield from _listed("dependent", dependents)
        else:
            yield f"finalizer {finalizer}: whoever put it there has to take it off"
    if resource.gvr.gr == ("", _CONTENT):
        yield from _namespace_blocked_by(world, obj)


def _namespace_blocked_by(world: World, obj: Obj) -> Iterator[str]:
    for finalizer in (obj.get("spec") or {}).get("finalizers") or ():
        if finalizer == "kubernetes":
            yield "spec.finalizers kubernetes: the namespace controller takes it off when the namespace is empty"
        else:
            yield f"spec.finalizers {finalizer}: whoever put it there has to take it off"
    content = [seen for seen in world.objects.values() if seen.identity.namespace == meta.name(obj)]
    counts = Counter(str(seen.resource.gvr.gr) for seen in content)
    yield from (f"content: {count} {resource}" for resource, count in sorted(counts.items()))
    yield from _listed("content with finalizers", [seen for seen in content if seen.finalizers])
    for what, error in sorted(world.unseen.items()):
        yield f"content that cannot be seen: {what}: {error}"
    if meta.is_being_deleted(obj):
        for condition in (obj.get("status") or {}).get("conditions") or ():
            if condition.get("status") == "True":
                yield f"condition {condition.get('type')}: {condition.get('message')}"


def _listed(what: str, objects: list[Seen]) -> Iterator[str]:
    for seen in sorted(objects, key=str)[:_SHOWN]:
        held = f", held by {', '.join(seen.finalizers)}" if seen.finalizers else ""
        going = f", being deleted since {seen.deleted_at}" if seen.deleted_at else ""
        yield f"{what}: {seen}{going}{held}"
    if len(objects) > _SHOWN:
        yield f"{what}: and {len(objects) - _SHOWN} more"


def _named(owner: Owner) -> str:
    return f"{owner.kind}.{owner.api_version} {owner.name}"


def _state_of(world: World, owner: Owner, namespace: str) -> str:
    seen = world.objects.get(owner.uid)
    if seen is None:
        return "absent" if world.knows(owner) else "not to be told: its kind cannot be seen"
    if seen.identity.namespace and seen.identity.namespace != namespace:
        return f"in another namespace ({seen.identity.namespace}), where it cannot own this object: taken for absent"
    if seen.deleted_at and FOREGROUND in seen.finalizers:
        return "waits for its dependents to be deleted"
    return "exists"


def _collector(world: World, obj: Obj, namespace: str) -> Iterator[str]:
    owners = owners_of(obj)
    states = [_state_of(world, owner, namespace) for owner in owners]
    if not owners:
        yield "leaves it: it has no owners"
    elif any(state == "exists" for state in states):
        yield "leaves it: an owner exists"
    elif any(state.startswith("not to be told") for state in states):
        yield "leaves it: of an owner it cannot be told whether it exists"
    elif meta.is_being_deleted(obj):
        yield "leaves it: it is being deleted already"
    else:
        yield "deletes it: none of its owners exists"
    going = world.goes_with(meta.uid(obj))
    if going:
        yield f"deletes {len(going)} once it is gone:"
        yield from _listed("goes too", going)
