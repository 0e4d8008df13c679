"""The list of a version's resources, as servers without aggregated discovery give it, in the aggregated form.

Source: kubernetes/apiserver ``pkg/endpoints/installer.go`` (ConvertGroupVersionIntoToDiscovery).
"""

from __future__ import annotations

from collections.abc import Iterable

from controlplane.apimachinery.identity import GroupVersion, Obj

__all__ = ["from_resource_list"]


def from_resource_list(gv: GroupVersion, listed_resources: Iterable[Obj]) -> Obj:
    """The entry of one version, from those of its list. Subresources of what is not listed itself get one of their
    own."""
    entries: dict[str, Obj] = {}
    for listed in listed_resources:
        name, _, subresource = listed["name"].partition("/")
        if not subresource:
            entry = entries.setdefault(name, {})
            entry.update(_resource(gv, name, listed))
            continue
        parent = entries.setdefault(name, {"resource": name, "scope": _scope(listed), "verbs": []})
        parent.setdefault("subresources", []).append(
            {"subresource": subresource, "responseKind": _kind(gv, listed), "verbs": listed.get("verbs") or []}
        )
    return {"version": gv.version, "resources": list(entries.values())}


def _resource(gv: GroupVersion, name: str, listed: Obj) -> Obj:
    entry: Obj = {
        "resource": name,
        "responseKind": _kind(gv, listed),
        "scope": _scope(listed),
        "singularResource": listed.get("singularName") or "",
        "verbs": listed.get("verbs") or [],
    }
    for field in ("shortNames", "categories"):
        if listed.get(field):
            entry[field] = listed[field]
    return entry


def _scope(listed: Obj) -> str:
    return "Namespaced" if listed.get("namespaced") else "Cluster"


def _kind(gv: GroupVersion, listed: Obj) -> Obj:
    return {
        "group": listed.get("group") or gv.group,
        "version": listed.get("version") or gv.version,
        "kind": listed.get("kind") or "",
    }
