"""How fast storage is migrated."""

from __future__ import annotations

from controlplane.base.options import Duration, OptionGroup, option

__all__ = ["MigrationOptions"]


class MigrationOptions(OptionGroup):
    """How much of the server's time migrations may take."""

    resources: int = option(5, ge=1, description="resources that are migrated at a time")
    writes: int = option(16, ge=1, description="objects of one resource that are written at a time")
    writes_per_second: float = option(
        400.0, ge=0, description="objects written in a second, of all migrations together; 0 is no limit"
    )
    settle: Duration = option(
        30.0,
        ge=0,
        description="how long all servers must have agreed on the version in which they store a resource before it is "
        "migrated by itself (default: two lifetimes of a server's record)",
    )
