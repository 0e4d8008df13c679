"""Discovery of a peer that cannot be asked any more: shown, with every version marked as not current."""

from __future__ import annotations

from collections.abc import Iterable

from controlplane.apimachinery.identity import Obj

__all__ = ["as_stale"]


def as_stale(groups: Iterable[Obj]) -> tuple[Obj, ...]:
    """The groups, each version marked."""
    return tuple(
        {**group, "versions": [{**version, "freshness": "Stale"} for version in group.get("versions") or ()]}
        for group in groups
    )
