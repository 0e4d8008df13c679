"""What a server serves: groups, versions and resources, as far as it could be learned.

Nothing may be taken for absent because a part could not be read: what failed is reported beside what was found.
Servers that have aggregated discovery are asked for it (two requests, whatever the number of groups); a version that it
marks as stale, or leaves out of a group it knows, has failed. Others are asked group by group.

Source: KEP-3352 (the documents), kubernetes/client-go ``discovery`` (stale versions count as failed).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping

from controlplane.apimachinery.identity import GVR, GroupVersion, Obj
from controlplane.apimachinery.status import APIError
from controlplane.base.values import dataclass
from controlplane.client.api import APIClient
from controlplane.client.errors import ClientError
from controlplane.client.results import object_of, raise_for_status, read

__all__ = ["APIResource", "Discovered", "Group", "discover", "groups", "resources"]

_ROOTS = ("/api", "/apis")
_GROUPS_A_TURN = 16
"""Groups read between turns of the loop, of some five resources each: half a millisecond."""
_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"


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
    core, named = await _roots(client)
    return _groups_of_versions(core) + _groups_of_list(named)


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
    """All resources of all versions (``preferred_only``: each resource once, in the version its group prefers among
    those that have it).

    Raises:
        APIError, Unreachable: not even the groups could be read.
    """
    found: list[APIResource] = []
    failed: dict[GroupVersion, Exception] = {}
    for root, document in zip(_ROOTS, await _roots(client, accept=_AGGREGATED), strict=True):
        if document.get("kind") == "APIGroupDiscoveryList":
            await _read_aggregated(document, found, failed)
            continue
        for group in _groups_of_versions(document) if root == "/api" else _groups_of_list(document):
            for version in group.versions:
                gv = GroupVersion(group.name, version)
                try:
                    found += await resources(client, gv)
                except (APIError, ClientError) as e:
                    failed[gv] = e
    return Discovered(tuple(_preferred(found) if preferred_only else found), failed)


async def _read_aggregated(document: Obj, found: list[APIResource], failed: dict[GroupVersion, Exception]) -> None:
    left = deque(document.pop("items", None) or ())
    while left:
        group = left.popleft()  # and free it
        if len(left) % _GROUPS_A_TURN == 0:
            await asyncio.sleep(0)
        name = group["metadata"].get("name") or ""
        for version in group.get("versions") or ():
            gv = GroupVersion(name, version["version"])
            if version.get("freshness") == "Stale":
                failed[gv] = APIError(503, "ServiceUnavailable", f"stale GroupVersion discovery: {gv}")
                continue
            for entry in version.get("resources") or ():
                response = entry.get("responseKind") or {}
                found.append(
                    APIResource(
                        gvr=GVR(name, gv.version, entry["resource"]),
                        kind=response.get("kind") or "",
                        namespaced=entry.get("scope") == "Namespaced",
                        verbs=frozenset(entry.get("verbs") or ()),
                    )
                )


def _preferred(found: list[APIResource]) -> list[APIResource]:
    """Versions come in their group's order of preference, so the first of each resource is the preferred one."""
    first: dict[tuple[str, str], APIResource] = {}
    for resource in found:
        first.setdefault(resource.gvr.gr, resource)
    return list(first.values())


def _groups_of_versions(document: Obj) -> list[Group]:
    versions = document.get("versions") or ()
    return [Group(name="", versions=tuple(versions), preferred=versions[0])] if versions else []


def _groups_of_list(document: Obj) -> list[Group]:
    found = []
    for group in document.get("groups") or ():
        names = tuple(version["version"] for version in group["versions"])
        preferred = (group.get("preferredVersion") or {}).get("version") or names[0]
        found.append(
            Group(name=group["name"], versions=(preferred, *(n for n in names if n != preferred)), preferred=preferred)
        )
    return found


async def _roots(client: APIClient, *, accept: str = "") -> list[Obj]:
    """The two lists of groups. One that is not there is empty, since nothing of it is served (client-go's rule); that
    both are not there cannot be."""
    documents: list[Obj] = []
    missing: list[APIError] = []
    for path in _ROOTS:
        try:
            documents.append(await _get(client, path, accept=accept))
        except APIError as e:
            if e.code != 404:
                raise
            missing.append(e)
            documents.append({})
    if len(missing) == len(_ROOTS):
        raise missing[0]
    return documents


async def _get(client: APIClient, path: str, *, accept: str = "") -> Obj:
    response = await client.request("GET", path, headers={"Accept": accept} if accept else None)
    raise_for_status(response, "GET")
    return await read(response, object_of)
