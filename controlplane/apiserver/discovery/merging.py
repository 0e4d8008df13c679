"""Aggregated discovery of several servers as one: everything that any of them has, in the order on which they agree.

Of two servers that describe something differently the first one's word counts, but verbs and subresources add up, so
the same servers in the same order always give the same document.

Source: behaviour of kubernetes/apiserver ``pkg/endpoints/discovery/aggregated`` (peer_aggregated_handler.go). Versions
and resources of three and more servers are ordered at once, as groups are there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from controlplane.apimachinery.identity import Obj
from controlplane.apiserver.discovery.consensus import consensus

__all__ = ["merged_groups"]


def merged_groups(lists: Sequence[Sequence[Obj]]) -> list[Obj]:
    """The groups of all servers. ``lists``: each server's, in the order of their ids; entries are not changed, and
    those that all servers agree on are the first one's own."""
    return _merged(lists, _group_name, _merged_group)


def _merged(
    lists: Sequence[Sequence[Obj]], name_of: Callable[[Obj], str], join: Callable[[list[Obj]], Obj]
) -> list[Obj]:
    by_name: dict[str, list[Obj]] = {}
    for entries in lists:
        for entry in entries:
            by_name.setdefault(name_of(entry), []).append(entry)
    order = consensus([[name_of(entry) for entry in entries] for entries in lists])
    return [_agreed(by_name[name]) or join(by_name[name]) for name in order]


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
