"""Discovery documents of all servers on one store together, as one table knows them; each is put together when it is
first asked for.

All forms are made from the aggregated one, so they always say the same.

Source: KEP-4020; the legacy forms and the core group are beyond what kubernetes/apiserver merges.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from controlplane.apimachinery.identity import GroupVersion, Obj
from controlplane.apiserver.discovery.documents import (
    Aggregated,
    Documents,
    EncodedGroups,
    api_versions,
    group_document,
    group_list,
    resource_list,
)
from controlplane.apiserver.discovery.merging import MergedBefore, merged_groups
from controlplane.apiserver.discovery.metrics import MERGED_HITS, MERGED_MISSES
from controlplane.apiserver.registry.peers import Elsewhere

__all__ = ["Known", "MergedDocuments"]


class Known(NamedTuple):
    """What one table's documents leave to the next's. ``merged``: see ``merged_groups``."""

    merged: MergedBefore
    encoded: EncodedGroups


class MergedDocuments:
    """As ``Documents``, of which ``own`` are this server's. ``known``: what was merged for the table before, and what
    was encoded of it."""

    def __init__(self, own: Documents, elsewhere: Elsewhere, known: Known | None = None) -> None:
        self._own, self._elsewhere = own, elsewhere
        self._known = known or Known({}, EncodedGroups())
        self._versions: dict[tuple[str, str], Obj | None] = {}
        self._aggregated: Aggregated | None = None

    @cached_property
    def core(self) -> Obj | None:
        group = self._core
        if not self._elsewhere.whole or group is None:
            return self._own.core
        return api_versions([version["version"] for version in group["versions"]], self._own.server_address)

    @cached_property
    def groups(self) -> Obj:
        return group_list(self._named) if self._elsewhere.whole else self._own.groups

    def group(self, name: str) -> Obj | None:
        if not self._elsewhere.whole:
            return self._own.group(name)
        group = self._by_name.get(name) if name else None
        return group_document(group) if group is not None else None

    def is_custom(self, name: str) -> bool:
        return self._own.is_custom(name)

    def version(self, group: str, version: str) -> Obj | None:
        if not self._elsewhere.whole:
            return self._own.version(group, version)
        key = (group, version)
        if key not in self._versions:
            self._versions[key] = self._resource_list(GroupVersion(*key))
        return self._versions[key]

    @cached_property
    def aggregated_core(self) -> Aggregated:
        if not self._elsewhere.whole:
            return self._own.aggregated_core
        return Aggregated([self._core] if self._core is not None else [], EncodedGroups())

    @property
    def aggregated_groups(self) -> Aggregated:
        if self._aggregated is None:
            MERGED_MISSES.inc()
            self._aggregated = Aggregated(self._named, self._known.encoded)
        else:
            MERGED_HITS.inc()
        return self._aggregated

    def paths(self) -> list[str]:
        if not self._elsewhere.whole:
            return self._own.paths()
        paths = ["/apis"]
        for name, group in self._by_name.items():
            root = f"/apis/{name}" if name else "/api"
            paths += [root, *(f"{root}/{version['version']}" for version in group["versions"])]
        return paths

    @cached_property
    def _by_name(self) -> dict[str, Obj]:
        """All groups, in order."""
        own = sorted(self._own.described, key=lambda group: bool(group["metadata"]))  # the core group first, as peers'
        lists: dict[str, Sequence[Obj]] = {id_: server.groups for id_, server in self._elsewhere.servers.items()}
        lists[self._elsewhere.own_id] = own
        merged = merged_groups([lists[id_] for id_ in sorted(lists)], self._known.merged)
        return {group["metadata"].get("name") or "": group for group in merged}

    @property
    def _core(self) -> Obj | None:
        return self._by_name.get("")

    @property
    def _named(self) -> list[Obj]:
        return [group for name, group in self._by_name.items() if name]

    def _resource_list(self, gv: GroupVersion) -> Obj | None:
        versions: Sequence[Obj] = self._by_name.get(gv.group, {}).get("versions") or ()
        merged = next((entry for entry in versions if entry["version"] == gv.version), None)
        own = self._own.version(gv.group, gv.version)
        if merged is None:
            return own
        known = list(self._legacy_entries(gv, own))
        if merged is self._own.described_version(gv.group, gv.version) and _agreed(known):
            return own
        entries: list[Obj] = []
        for resource in merged.get("resources") or ():
            entries.append(_entry(gv, resource["resource"], resource, resource, known))
            for subresource in resource.get("subresources") or ():
                name = f"{resource['resource']}/{subresource['subresource']}"
                entries.append(_entry(gv, name, resource, subresource, known))
        return resource_list(gv.group, gv.version, entries)

    def _legacy_entries(self, gv: GroupVersion, own: Obj | None) -> Iterator[dict[str, Obj]]:
        """What each server says in the legacy form, as far as it is known, in the order of their ids."""
        servers = {id_: dict(server.legacy.get(gv, {})) for id_, server in self._elsewhere.servers.items()}
        listed: Sequence[Obj] = own["resources"] if own is not None else ()
        servers[self._elsewhere.own_id] = {entry["name"]: entry for entry in listed}
        for id_ in sorted(servers):
            yield servers[id_]


def _agreed(known: Sequence[dict[str, Obj]]) -> bool:
    """Whether all who have told anything say the same."""
    told = [entries for entries in known if entries]
    return all(entries == told[0] for entries in told)


def _entry(gv: GroupVersion, name: str, resource: Obj, described: Obj, known: Sequence[dict[str, Obj]]) -> Obj:
    """An entry in the legacy form: the first server's that has one, with the verbs of all."""
    verbs = described.get("verbs") or []
    found = next((entries[name] for entries in known if name in entries), None)
    if found is not None:
        return found if sorted(found.get("verbs") or ()) == sorted(verbs) else {**found, "verbs": verbs}
    kind = described.get("responseKind") or {}
    of = GroupVersion(kind.get("group") or gv.group, kind.get("version") or gv.version)
    entry: Obj = {
        "name": name,
        "singularName": "" if "/" in name else resource.get("singularResource") or "",
        "namespaced": resource.get("scope") == "Namespaced",
        **({"group": of.group, "version": of.version} if of != gv else {}),
        "kind": kind.get("kind") or "",
        "verbs": verbs,
    }
    if "/" not in name:
        entry.update({field: resource[field] for field in ("shortNames", "categories") if resource.get(field)})
    return entry
