"""StorageVersionMigration objects as the migrator reads and writes them: conditions, order, which is whose turn.

Pure. Source: reasons and messages of kubernetes 1.36 ``pkg/controller/storageversionmigrator``.
"""

from __future__ import annotations

from collections.abc import Iterable

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import GVR, GroupResource, Obj

__all__ = [
    "FAILED",
    "MIGRATIONS",
    "RUNNING",
    "SUCCEEDED",
    "condition_of",
    "in_turn",
    "is_running",
    "is_terminal",
    "is_true",
    "resource_of",
    "revision_of",
    "with_condition",
    "with_revision",
]

MIGRATIONS = GVR("storagemigration.k8s.io", "v1beta1", "storageversionmigrations")

RUNNING, SUCCEEDED, FAILED = "Running", "Succeeded", "Failed"


def resource_of(migration: Obj) -> GroupResource:
    """The resource that is migrated."""
    resource: Obj = (migration.get("spec") or {}).get("resource") or {}
    return GroupResource(resource.get("group") or "", resource.get("resource") or "")


def revision_of(migration: Obj) -> str:
    """The resource version at which it began, ``""`` if it has none yet."""
    return (migration.get("status") or {}).get("resourceVersion") or ""


def condition_of(migration: Obj, type_: str) -> Obj | None:
    conditions = (migration.get("status") or {}).get("conditions") or ()
    return next((condition for condition in conditions if condition["type"] == type_), None)


def is_true(migration: Obj, type_: str) -> bool:
    condition = condition_of(migration, type_)
    return condition is not None and condition["status"] == "True"


def is_terminal(migration: Obj) -> bool:
    return is_true(migration, SUCCEEDED) or is_true(migration, FAILED)


def is_running(migration: Obj) -> bool:
    return is_true(migration, RUNNING)


def in_turn(migrations: Iterable[Obj]) -> list[Obj]:
    """Oldest first, by name where they are of one second."""
    return sorted(migrations, key=lambda one: (meta.creation_timestamp(one), meta.name(one)))


def with_revision(migration: Obj, revision: str) -> Obj:
    return {**migration, "status": {**(migration.get("status") or {}), "resourceVersion": revision}}


def with_condition(migration: Obj, type_: str, status: str, reason: str, message: str, *, now: str) -> Obj:
    """The migration with this condition, in its old place or at the end. ``now`` (RFC 3339) counts where the status is
    another one than before."""
    state = migration.get("status") or {}
    conditions = list(state.get("conditions") or ())
    place = next((i for i, condition in enumerate(conditions) if condition["type"] == type_), len(conditions))
    since = now
    if place < len(conditions) and conditions[place]["status"] == status:
        since = conditions[place]["lastTransitionTime"]
    conditions[place : place + 1] = [
        {"type": type_, "status": status, "lastTransitionTime": since, "reason": reason, "message": message}
    ]
    return {**migration, "status": {**state, "conditions": conditions}}
