"""Aggregated discovery of several servers as one: everything that any of them has, in the order on which they agree.

Of two servers that describe something differently the first one's word counts, but verbs and subresources add up, so
the same servers in the same order always give the same document.

Source: behaviour of kubernetes/apiserver ``pkg/endpoints/discovery/aggregated`` (peer_aggregated_handler.go). Versions
and resources of three and more servers are ordered at once, as groups are there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import is_

from controlplane.apimachinery.identity import Obj
from controlplane.apiserver.discovery.consensus import consensus

__all__ = ["MergedBefore", "merged_groups"]


MergedBefore = dict[str, tuple[list[Obj], Obj]]
"""By name, the groups that were merged, and into what."""


def merged_groups(lists: Sequence[Sequence[Obj]], before: MergedBefore | None = None) -> list[Obj]:
    """The groups of all servers. ``lists``: each server's, in the order of their ids; entries are not changed, and
    those that all servers agree on are the first one's own. ``before``: what was merged the last time, of which is kept
    what is made of the very same entries; it is brought up to date."""
    known: MergedBefore = {}

    def join(name: str, several: list[Obj]) -> Obj:
        found = before.get(name) if before is not None else None
        if found is None or not _same(found[0], several):
            found = several, _agreed(several) or _merged_group(several)
        known[name] = found
        return found[1]

    by_name, order = _ordered(lists, _group_name)
    merged = [join(name, by_name[name]) for name in order]
    if before is not None:
        before.clear()
        before.update(known)
    return merged


def _merged(
    lists: Sequence[Sequence[Obj]], name_of: Callable[[Obj], str], join: Callable[[list[Obj]], Obj]
) -> list[Obj]:
    by_name, order = _ordered(lists, name_of)
    return [_agreed(by_name[name]) or join(by_name[name]) for name in order]


def _ordered(lists: Sequence[Sequence[Obj]], name_of: Callable[[Obj], str]) -> tuple[dict[str, list[Obj]], list[str]]:
    """All entries by name, and the names in the order on which the lists agree."""
    by_name: dict[str, list[Obj]] = {}
    for entries in lists:
        for entry in entries:
            by_name.setdefault(name_of(entry), []).append(entry)
    return by_name, consensus([[name_of(entry) for entry in entries] for entries in lists])


def _same(some: list[Obj], others: list[Obj]) -> bool:
    return len(some) == len(others) and all(map(is_, some, others))


def _agreed(several: list[Obj]) -> Obj | None:
    first = several[0]
    return first if all(other == first for other in several[1:]) else None


def _group_name(group: Obj) -> str:
    name: str = group["metadata"].get("name") or ""
    return name


def _merged_group(several: list[Obj]) -> Obj:
    versions = [group.get("versions") or () for group in several]
    return {**several[0], "versions": _merged(versions, lambda entry: str(entry["version"]), _merged_version)}


def _merged_version(several: list[Obj]) -> Obj:
    resources = [version.get("resources") or () for version in several]
    fresh = any(version.get("freshness") != "Stale" for version in several)
    return {
        **several[0],
        "resources": _merged(resources, lambda entry: str(entry["resource"]), _merged_resource),
        "freshness": "Current" if fresh else "Stale",
    }


def _merged_resource(several: list[Obj]) -> Obj:
    merged = {**several[0], "verbs": sorted({verb for resource in several for verb in resource.get("verbs") or ()})}
    subresources = {one["subresource"]: one for resource in several for one in resource.get("subresources") or ()}
    if subresources:
        merged["subresources"] = [subresources[name] for name in sorted(subresources)]
    return merged
