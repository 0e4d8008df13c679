"""What storage versions say, and how one is changed: which server stores a resource in which form, and whether all do
in the same.

The servers report, the collector takes out those that have gone; both then settle what is common by the same function.

Source: kubernetes/apiserver ``pkg/storageversion/updater.go`` (names, conditions, when a condition counts as changed).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from controlplane.apimachinery.identity import GVR, GroupResource, Obj

__all__ = [
    "ALL_EQUAL",
    "STORAGE_VERSIONS",
    "ServerForm",
    "common_encoding_version",
    "reported",
    "resource_of",
    "storage_version_name",
    "without_servers",
]

STORAGE_VERSIONS = GVR("internal.apiserver.k8s.io", "v1alpha1", "storageversions")
ALL_EQUAL = "AllEncodingVersionsEqual"
"""The condition's type."""

_CORE = "core"
"""How names spell the core group."""


class ServerForm(NamedTuple):
    """How one server has a resource; versions are ``group/version``, or ``version`` of the core group."""

    encoding: str
    decodable: tuple[str, ...]
    served: tuple[str, ...]


def storage_version_name(resource: GroupResource) -> str:
    """The object of a resource: ``core.configmaps``, ``example.org.widgets``."""
    return f"{resource.group or _CORE}.{resource.resource}"


def resource_of(name: str) -> GroupResource:
    """The inverse of ``storage_version_name``."""
    group, _, resource = name.rpartition(".")
    return GroupResource("" if group == _CORE else group, resource)


def common_encoding_version(servers: Sequence[Obj]) -> str | None:
    """The version in which all servers store, None if they differ or there are none. ``servers``: the entries of
    ``status.storageVersions``."""
    versions = {str(server.get("encodingVersion") or "") for server in servers}
    return versions.pop() if len(versions) == 1 else None


def reported(obj: Obj, server_id: str, form: ServerForm, *, now: str) -> Obj:
    """A storage version with what a server says of itself; the same object if it is nothing new. ``now``: RFC 3339."""
    entry: Obj = {
        "apiServerID": server_id,
        "encodingVersion": form.encoding,
        "decodableVersions": list(form.decodable),
        "servedVersions": list(form.served),
    }
    known = list((obj.get("status") or {}).get("storageVersions") or ())
    at = next((i for i, one in enumerate(known) if one.get("apiServerID") == server_id), None)
    if at is None:
        return _settled(obj, [*known, entry], now)
    return _settled(obj, [*known[:at], entry, *known[at + 1 :]], now)


def without_servers(obj: Obj, gone: Callable[[str], bool], *, now: str) -> Obj:
    """A storage version without the entries of servers that are ``gone``; the same object if there are none."""
    known = list((obj.get("status") or {}).get("storageVersions") or ())
    left = [one for one in known if not gone(str(one.get("apiServerID") or ""))]
    return obj if left == known else _settled(obj, left, now)


def _settled(obj: Obj, servers: list[Obj], now: str) -> Obj:
    """With these servers, and what follows for the common version and the condition."""
    status = obj.get("status") or {}
    before, common = status.get("commonEncodingVersion"), common_encoding_version(servers)
    new: Obj = {"storageVersions": servers}
    if common is not None:
        new["commonEncodingVersion"] = common
    changed = before is not None and common is not None and before != common
    generation = (obj.get("metadata") or {}).get("generation")
    new["conditions"] = _conditions(status.get("conditions") or (), common is not None, now, generation, forced=changed)
    return obj if new == status else {**obj, "status": new}


def _conditions(
    conditions: Sequence[Obj],
    agreed: bool,  # noqa: FBT001  # the condition's value
    now: str,
    generation: int | None,
    *,
    forced: bool,
) -> list[Obj]:
    """The conditions with ours as it is now. Its time is that of its last change; ``forced``: of this one."""
    word = "Set" if agreed else "Unset"
    condition: Obj = {
        "type": ALL_EQUAL,
        "status": "True" if agreed else "False",
        "lastTransitionTime": now,
        "reason": f"CommonEncodingVersion{word}",
        "message": f"Common encoding version {word.lower()}",
    }
    if generation:
        condition["observedGeneration"] = generation
    old = next((one for one in conditions if one.get("type") == ALL_EQUAL), None)
    if old is None:
        return [*conditions, condition]
    if not forced and old.get("status") == condition["status"]:
        condition["lastTransitionTime"] = old.get("lastTransitionTime") or now
    return [condition if one is old else one for one in conditions]
