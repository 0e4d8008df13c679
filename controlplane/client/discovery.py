"""What a server serves: groups, versions and resources, as far as it could be learned.

Nothing may be taken for absent because a part could not be read: what failed is reported beside what was found.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from controlplane.apimachinery.identity import GVR, GroupVersion, Obj
from controlplane.apimachinery.status import APIError
from controlplane.client.api import APIClient
from controlplane.client.errors import ClientError
from controlplane.client.results import object_of, raise_for_status

__all__ = ["APIResource", "Discovered", "Group", "discover", "groups", "resources"]


@dataclass(frozen=True, slots=True, kw_only=True)
class APIResource:
    """One resource (no subresource) of one version."""

    gvr: GVR
    kind: str
    namespaced: bool
    verbs: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """One group; ``versions`` in the server's order of preference. The core group is ``""``."""

    name: str
    versions: tuple[str, ...]
    preferred: str


@dataclass(frozen=True, slots=True)
class Discovered:
    """``resources`` in the server's order; ``failed``: versions whose resources could not be read, and why."""

    resources: tuple[APIResource, ...]
    failed: Mapping[GroupVersion, Exception]


async def groups(client: APIClient) -> list[Group]:
    """The groups that the server lists, the core group first.

    Raises:
        APIError, Unreachable: a list could not be read.
    """
    core = await _get(client, "/api")
    found = [Group(name="", versions=tuple(versions), preferred=versions[0])] if (versions := core["versions"]) else []
    for group in (await _get(client, "/apis"))["groups"]:
        names = tuple(version["version"] for version in group["versions"])
        preferred = (group.get("preferredVersion") or {}).get("version") or names[0]
        found.append(Group(name=group["name"], versions=names, preferred=preferred))
    return found


async def resources(client: APIClient, gv: GroupVersion) -> list[APIResource]:
    """The resources of one version, without subresources.

    Raises:
        APIError: also 404 if the version is not served. Unreachable.
    """
    listed = await _get(client, f"/apis/{gv}" if gv.group else f"/api/{gv}")
    return [
        APIResource(
            gvr=GVR(entry.get("group") or gv.group, entry.get("version") or gv.version, entry["name"]),
            kind=entry["kind"],
            namespaced=bool(entry.get("namespaced")),
            verbs=frozenset(entry.get("verbs") or ()),
        )
        for entry in listed["resources"]
        if "/" not in entry["name"]
    ]


async def discover(client: APIClient, *, preferred_only: bool = False) -> Discovered:
    """All resources of all versions (``preferred_only``: of each group's preferred one).

    Raises:
        APIError, Unreachable: not even the groups could be read.
    """
    found: list[APIResource] = []
    failed: dict[GroupVersion, Exception] = {}
    for group in await groups(client):
        for version in (group.preferred,) if preferred_only else group.versions:
            gv = GroupVersion(group.name, version)
            try:
                found += await resources(client, gv)
            except (APIError, ClientError) as e:
                failed[gv] = e
    return Discovered(tuple(found), failed)


async def _get(client: APIClient, path: str) -> Obj:
    response = await client.request("GET", path)
    raise_for_status(response, "GET")
    return object_of(response)
