"""Discovery documents of one table, as bytes; each is put together when it is first asked for.

Source: kubernetes/apiserver ``pkg/endpoints/discovery`` (legacy) and ``pkg/endpoints/discovery/aggregated`` (v2).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from functools import cached_property

from controlplane.apimachinery.codec.json import dumps
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.resource import Subresource
from controlplane.apiserver.discovery.metrics import AGGREGATIONS
from controlplane.apiserver.discovery.resources import legacy_entries, shown_subresources, shown_verbs
from controlplane.apiserver.registry.table import ResourceTable, Served, ServedGroup, ServedVersion

__all__ = [
    "Aggregated",
    "Documents",
    "EncodedGroups",
    "api_versions",
    "group_document",
    "group_list",
    "resource_list",
]


class EncodedGroups:
    """Groups in the aggregated form, as JSON. Most are the same in one document after the other, whatever has changed
    about the rest: they are encoded once. Those that are in no document any more are forgotten with the next."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Obj, bytes]] = {}

    def of(self, groups: Sequence[Obj]) -> list[bytes]:
        """Each group's JSON."""
        encoded = []
        for group in groups:
            name = group["metadata"].get("name") or ""
            known = self._known.get(name)
            if known is None or known[0] is not group:
                known = self._known[name] = group, dumps(group)
            encoded.append(known[1])
        if len(self._known) > len(encoded):
            present = {group["metadata"].get("name") or "" for group in groups}
            self._known = {name: known for name, known in self._known.items() if name in present}
        return encoded


class Aggregated:
    """An aggregated document and its ETag, which is equal on all servers that serve the same."""

    def __init__(self, groups: list[Obj], encoded: EncodedGroups) -> None:
        self.value: Obj = {
            "kind": "APIGroupDiscoveryList",
            "apiVersion": "apidiscovery.k8s.io/v2",
            "metadata": {},
            "items": groups,
        }
        AGGREGATIONS.inc()
        self.body = dumps({**self.value, "items": []}).removesuffix(b"]}") + b",".join(encoded.of(groups)) + b"]}"
        self.etag = f'"{hashlib.sha512(self.body).hexdigest().upper()}"'


class Documents:
    """All documents of ``table``. ``server_address``: host and port that clients are told in ``/api``; ``encoded``:
    what was encoded for the table before."""

    def __init__(self, table: ResourceTable, server_address: str, encoded: EncodedGroups | None = None) -> None:
        self._table, self.server_address = table, server_address
        self.encoded = encoded or EncodedGroups()
        self._groups: dict[str, Obj] = {}
        self._versions: dict[tuple[str, str], Obj] = {}

    @cached_property
    def core(self) -> Obj | None:
        """``/api``; None if there is no core group. It has no apiVersion, as upstream's has none."""
        group = self._table.group("")
        if group is None:
            return None
        return api_versions([version.name for version in group.versions], self.server_address)

    @cached_property
    def groups(self) -> Obj:
        """``/apis``."""
        return group_list([group for group in self.described if group["metadata"]])

    def group(self, name: str) -> Obj | None:
        """``/apis/<group>``; None if nobody serves it."""
        group = self._table.group(name) if name else None
        if group is None:
            return None
        if name not in self._groups:
            self._groups[name] = group_document(_discovered_group(group))
        return self._groups[name]

    def is_custom(self, name: str) -> bool:
        """Whether a group has custom resources only: its unknown paths are like any that nobody knows."""
        group = self._table.group(name)
        return group is not None and group.is_custom

    def version(self, group: str, version: str) -> Obj | None:
        """``/api/<version>`` (group ``""``) or ``/apis/<group>/<version>``; None if nobody serves it."""
        key = (group, version)
        if key not in self._versions:
            served_group = self._table.group(group)
            served = served_group.version(version) if served_group is not None else None
            if served is None:
                return None
            self._versions[key] = resource_list(group, version, legacy_entries(served.resources.values()))
        return self._versions[key]

    @cached_property
    def described(self) -> list[Obj]:
        """All groups in the aggregated form, in order; the core group has no name."""
        return [_discovered_group(group) for group in self._table.groups]

    def described_version(self, group: str, version: str) -> Obj | None:
        """One version in the aggregated form."""
        found = self._table.group(group)
        versions: list[Obj] = _discovered_group(found)["versions"] if found is not None else []
        return next((entry for entry in versions if entry["version"] == version), None)

    @cached_property
    def aggregated_core(self) -> Aggregated:
        """``/api`` for clients that ask for one document."""
        return Aggregated([group for group in self.described if not group["metadata"]], EncodedGroups())

    @cached_property
    def aggregated_groups(self) -> Aggregated:
        """``/apis`` for clients that ask for one document."""
        return Aggregated([group for group in self.described if group["metadata"]], self.encoded)

    def paths(self) -> list[str]:
        """All paths that have a document."""
        paths = ["/apis"]
        for group in self._table.groups:
            root = f"/apis/{group.name}" if group.name else "/api"
            paths += [root, *(f"{root}/{version.name}" for version in group.versions)]
        return paths


def _group_version(group: str, version: str) -> str:
    return f"{group}/{version}" if group else version


def api_versions(versions: list[str], server_address: str) -> Obj:
    """``/api``."""
    return {
        "kind": "APIVersions",
        "versions": versions,
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": server_address}],
    }


def group_list(described: Iterable[Obj]) -> Obj:
    """``/apis``, from groups in the aggregated form."""
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(group) for group in described]}


def group_document(described: Obj) -> Obj:
    """``/apis/<group>``, from the group in the aggregated form."""
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(described)}


def resource_list(group: str, version: str, entries: list[Obj]) -> Obj:
    """``/api/<version>`` or ``/apis/<group>/<version>``."""
    return {
        "kind": "APIResourceList",
        **({"apiVersion": "v1"} if group else {}),
        "groupVersion": _group_version(group, version),
        "resources": entries,
    }


def _group(described: Obj) -> Obj:
    name = described["metadata"]["name"]
    names = [version["version"] for version in described["versions"]]
    versions = [{"groupVersion": _group_version(name, version), "version": version} for version in names]
    return {"name": name, "versions": versions, "preferredVersion": versions[0]}


def _discovered_group(group: ServedGroup) -> Obj:
    """A group in the aggregated form; made once for a group, whatever the number of tables that it is in."""
    described: Obj | None = group.memo.get("discovered")
    if described is None:
        described = group.memo["discovered"] = {
            "metadata": {"name": group.name} if group.name else {},
            "versions": [_discovered_version(version) for version in group.versions],
        }
    return described


def _discovered_version(version: ServedVersion) -> Obj:
    if version.remote is not None:
        return version.remote.discovered
    return {
        "version": version.name,
        "resources": [_discovered_resource(served) for served in version.resources.values()],
        "freshness": "Current",
    }


def _discovered_resource(served: Served) -> Obj:
    resource = served.resource
    entry: Obj = {
        "resource": resource.plural,
        "responseKind": _response_kind(served),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": shown_verbs(resource),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    if resource.subresources:
        entry["subresources"] = [
            {
                "subresource": subresource.name,
                "responseKind": _subresource_kind(served, subresource),
                "verbs": sorted(subresource.verbs),
            }
            for subresource in shown_subresources(resource)
        ]
    return entry


def _subresource_kind(served: Served, subresource: Subresource) -> Obj:
    shown = subresource.kind
    if shown is None:
        return _response_kind(served)
    return {"group": shown.group, "version": shown.storage_version, "kind": shown.kind}


def _response_kind(served: Served) -> Obj:
    """The kind of answers; of native kinds the group and version are empty, which means: those of the resource."""
    if served.resource.native:
        return {"group": "", "version": "", "kind": served.gvk.kind}
    return {"group": served.gvk.group, "version": served.gvk.version, "kind": served.gvk.kind}
