"""What a delete asks for, and which finalizers it leaves for the garbage collector.

Source: kubernetes/apiserver ``pkg/registry/generic/registry/store.go`` (deletionFinalizersForGarbageCollection,
markAsDeleting) and ``pkg/registry/rest/delete.go`` (preconditions).
"""

from __future__ import annotations

from controlplane.apimachinery import status
from controlplane.apimachinery.identity import GroupResource, Obj
from controlplane.apimachinery.resource import Resource
from controlplane.apimachinery.validation.metadata import FOREGROUND_FINALIZER, ORPHAN_FINALIZER
from controlplane.base.values import dataclass

__all__ = ["DeleteRequest", "check_preconditions", "finalizers_after", "mark_deleting"]

_POLICY_FINALIZERS = (ORPHAN_FINALIZER, FOREGROUND_FINALIZER)
_OF_POLICY = {"Orphan": ORPHAN_FINALIZER, "Foreground": FOREGROUND_FINALIZER, "Background": None}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteRequest:
    """Delete options, validated. ``uid`` and ``resource_version`` are preconditions (None: none);
    ``orphan_dependents`` and ``propagation_policy`` are never both set."""

    dry_run: bool = False
    grace_period_seconds: int | None = None
    uid: str | None = None
    resource_version: str | None = None
    orphan_dependents: bool | None = None
    propagation_policy: str | None = None


def check_preconditions(request: DeleteRequest, resource: Resource, meta: Obj, revision: int) -> None:
    """Require the stored object to be the one that was meant.

    Raises:
        APIError: 409; it names the kind where other conflicts name the resource, as upstream does.
    """
    if resource.strategy.own_preconditions:
        _check_own_preconditions(request, resource, meta, revision)
        return
    subject = GroupResource(resource.group, resource.kind)
    if request.uid is not None and request.uid != meta.get("uid"):
        raise status.conflict(
            subject,
            meta["name"],
            f"the UID in the precondition ({request.uid}) does not match the UID in record ({meta.get('uid')}). "
            "The object might have been deleted and then recreated",
        )
    if request.resource_version is not None and request.resource_version != str(revision):
        raise status.conflict(
            subject,
            meta["name"],
            f"the ResourceVersion in the precondition ({request.resource_version}) does not match the ResourceVersion "
            f"in record ({revision}). The object might have been modified",
        )


def _check_own_preconditions(request: DeleteRequest, resource: Resource, meta: Obj, revision: int) -> None:
    """The same as kinds with a storage of their own have it: kubernetes/apiextensions-apiserver
    ``pkg/registry/customresourcedefinition/etcd.go`` and kubernetes' namespaces. Raises APIError 409."""
    for name, wanted, given in (
        ("UID", request.uid, meta.get("uid") or ""),
        ("ResourceVersion", request.resource_version, str(revision)),
    ):
        if wanted is not None and wanted != given:
            why = f"Precondition failed: {name} in precondition: {wanted}, {name} in object meta: {given}"
            raise status.conflict(resource.gr, meta["name"], why)


def finalizers_after(
    request: DeleteRequest, meta: Obj, *, garbage_collection: bool, has_dependents: bool = True
) -> list[str]:
    """The finalizers an object has once it is under deletion: an explicit policy adds the garbage collector's finalizer
    and removes its other one; without one, what the object carries already stays. A kind without dependents keeps
    neither, whatever was asked: the garbage collector does not look at it and would never take it away."""
    finalizers = list(meta.get("finalizers") or ())
    if not garbage_collection:
        return finalizers
    wanted = _wanted_finalizer(request, finalizers) if has_dependents else None
    kept = [f for f in finalizers if f not in _POLICY_FINALIZERS]
    after = [*kept, wanted] if wanted else kept
    return finalizers if set(after) == set(finalizers) else after


def _wanted_finalizer(request: DeleteRequest, finalizers: list[str]) -> str | None:
    """The garbage collector's finalizer that the request asks for, or else the one that is there."""
    if request.orphan_dependents is not None:
        return ORPHAN_FINALIZER if request.orphan_dependents else None
    if request.propagation_policy is not None:
        return _OF_POLICY[request.propagation_policy]
    return next((f for f in finalizers if f in _POLICY_FINALIZERS), None)


def mark_deleting(meta: Obj, now: str, *, counted: bool = True) -> None:
    """Say that deletion has begun: the first time raises the generation, if the object has one and this is
    ``counted``."""
    if not meta.get("deletionTimestamp"):
        if counted and meta.get("generation"):
            meta["generation"] += 1
        meta["deletionTimestamp"] = now
    elif meta["deletionTimestamp"] > now:
        meta["deletionTimestamp"] = now
