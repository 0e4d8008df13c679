"""The migrator's metrics."""

from __future__ import annotations

from controlplane.base import metrics

__all__ = ["MIGRATIONS", "OBJECTS", "REMAINING"]

OBJECTS = metrics.counter(
    "controlplane_storage_migration_objects_total",
    "Objects that storage migrations have looked at, by what became of them: rewritten, current, superseded, failed.",
    labels=("group", "resource", "outcome"),
)
REMAINING = metrics.gauge(
    "controlplane_storage_migration_remaining_objects",
    "Objects that the migration of a resource has not looked at yet.",
    labels=("group", "resource"),
)
MIGRATIONS = metrics.counter(
    "controlplane_storage_migrations_total",
    "Storage migrations that have ended, by how: succeeded, failed.",
    labels=("group", "resource", "result"),
)
