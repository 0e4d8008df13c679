"""What it means that something is off: it is nowhere to be seen. Each check returns lines of what was seen all the
same."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Any

from controlplane.apiextensions.definition.resource import DEFINITIONS
from controlplane.apimachinery.identity import GVK, GVR, GroupVersion, Key
from controlplane.apimachinery.resource import Resource
from controlplane.apis.builtin import BUILTIN
from controlplane.client.api import APIClient
from controlplane.client.discovery import discover, groups, resources
from controlplane.client.resources import ResourceClient
from controlplane.client.results import object_of
from controlplane.generic.controllers import selected, served_resources
from controlplane.testing.planes import Plane
from tests.integration.controllers.objects import until

__all__ = ["KINDS", "seen_though_off", "traces"]

KINDS: tuple[Resource, ...] = (*BUILTIN, DEFINITIONS)
QUOTAS, NAMESPACES = GVR("", "v1", "resourcequotas"), GVR("", "v1", "namespaces")
_VERBS = (("GET", ""), ("POST", ""), ("DELETE", ""), ("GET", "/x"), ("PUT", "/x"), ("PATCH", "/x"), ("DELETE", "/x"))


async def seen_though_off(plane: Plane) -> list[str]:
    """Traces of every built-in kind that this plane does not serve, and of controllers that do not run."""
    served = served_resources(plane.control_plane.config)
    off = [kind for kind in KINDS if kind.gr not in served]
    seen = [line async for line in traces(plane.client(), off)]
    for kind in KINDS:
        if kind.gr in served and kind.plural in ("clusterroles", "roles"):
            seen += [line async for line in _in_roles(plane.client(), kind, off)]
    seen += _in_admission(plane, off)
    seen += await _in_quota(plane, off)
    return [*seen, *await _in_readiness(plane, off)]


async def traces(client: APIClient, off: Iterable[Resource]) -> AsyncIterator[str]:
    """Where kinds that are off can be seen: discovery in both forms, OpenAPI in both versions, requests."""
    off = list(off)
    plurals = {kind.gr for kind in off}
    aggregated = await discover(client)
    for found in aggregated.resources:
        if found.gvr.gr in plurals:
            yield f"aggregated discovery has {found.gvr}"
    listed = await groups(client)
    for group in listed:
        for version in group.versions:
            for one in await resources(client, GroupVersion(group.name, version)):
                if one.gvr.gr in plurals:
                    yield f"discovery has {one.gvr}"
    present = {group.name for group in listed}
    gone = {kind.group for kind in off} - {kind.group for kind in KINDS if kind not in off}
    for name in gone & present:
        yield f"discovery has the group {name!r}"
    kinds = {kind.gvk(version.name) for kind in off for version in kind.versions}
    paths = {f"{_root(kind, v.name)}/{kind.plural}" for kind in off for v in kind.versions}
    for name, document in [doc async for doc in _openapi(client)]:
        for path in document.get("paths") or ():
            plain = path.replace("/namespaces/{namespace}/", "/").replace("/watch/", "/")
            if any(plain == p or plain.startswith(p + "/") for p in paths):
                yield f"{name} has the path {path}"
        schemas = document.get("definitions") or (document.get("components") or {}).get("schemas") or {}
        for title, schema in schemas.items():
            named = [GVK(**gvk) for gvk in schema.get("x-kubernetes-group-version-kind") or ()]
            if len(named) == 1 and named[0] in kinds:
                yield f"{name} has the schema {title}"
    for kind in off:
        async for line in _answers(client, kind):
            yield line


async def _answers(client: APIClient, kind: Resource) -> AsyncIterator[str]:
    for version in kind.versions:
        place = "/namespaces/default" if kind.namespaced else ""
        for method, name in _VERBS:
            path = f"{_root(kind, version.name)}{place}/{kind.plural}{name}"
            response = await client.request(method, path, body=b"{}" if method in ("POST", "PUT", "PATCH") else b"")
            if response.status != 404:
                yield f"{method} {path} is answered {response.status}"


async def _openapi(client: APIClient) -> AsyncIterator[tuple[str, Any]]:
    yield "OpenAPI v2", await _json(client, "/openapi/v2")
    root = await _json(client, "/openapi/v3")
    for path, entry in root["paths"].items():
        yield f"OpenAPI v3 of {path}", await _json(client, entry["serverRelativeURL"])


async def _in_roles(client: APIClient, roles: Resource, off: Iterable[Resource]) -> AsyncIterator[str]:
    """Rules of the server's own roles that name what is off."""
    path = f"{_root(roles, 'v1')}/{roles.plural}"
    query = [("labelSelector", "kubernetes.io/bootstrapping=rbac-defaults")]
    listed = object_of(await client.request("GET", path, query=query))
    for role in listed["items"]:
        for rule in role.get("rules") or ():
            for kind in off:
                if kind.group in (rule.get("apiGroups") or ()) and any(
                    name.partition("/")[0] == kind.plural for name in rule.get("resources") or ()
                ):
                    yield f"the role {role['metadata']['name']} names {kind.gr}"


def _in_admission(plane: Plane, off: Iterable[Resource]) -> list[str]:
    """Plugins that every write passes and that are off, or need what is off."""
    config = plane.control_plane.config
    names = {str(kind.gr) for kind in off}
    asked = {name for name, _ in plane.control_plane._admission._plugins}
    seen = [f"writes pass {name}, which is off" for name in asked - {plugin.name for plugin in config.admission}]
    return seen + [
        f"writes pass {plugin.name}, which needs {need}"
        for plugin in config.admission
        if plugin.name in asked
        for need in names & set(plugin.requires)
    ]


async def _in_quota(plane: Plane, off: Iterable[Resource]) -> list[str]:
    """Counts of what is off in a quota that asks for them."""
    served = served_resources(plane.control_plane.config)
    if not {QUOTAS.gr, NAMESPACES.gr} <= served:
        return []
    names = [f"count/{kind.gr}" for kind in off if kind.namespaced]
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "counted"}}
    await ResourceClient(plane.client(), NAMESPACES, namespaced=False).create(namespace)
    key, quotas = Key("counted", "of-what-is-off"), ResourceClient(plane.client(), QUOTAS, namespaced=True)
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"namespace": key.namespace, "name": key.name}}
    await quotas.create({**quota, "spec": {"hard": {"count/nobody.example.com": "1", **dict.fromkeys(names, "1")}}})
    if all(d.name != "resource-quota" for d in selected(plane.control_plane.config)):
        return []

    async def counted() -> bool:
        return "status" in (await quotas.get(key))

    await until(counted)
    used = (await quotas.get(key))["status"].get("used") or {}
    return [f"a quota counts {name}" for name in used]


async def _in_readiness(plane: Plane, off: Iterable[Resource]) -> list[str]:
    """Informers and controllers that readiness waits for."""
    host = plane.control_plane._controllers
    names = {condition.name for condition in host._manager.conditions()}
    runs = {d.name for d in selected(plane.control_plane.config, plane.control_plane._parts.identities.controller_keys)}
    waits = {name.partition("/")[2] for name in names if name.startswith("controller/")}
    seen = [f"readiness waits for {name}" for name in sorted(waits - runs)]
    seen += [f"readiness waits for {name}" for name in names for kind in off if name == f"informer/{kind.gr}"]
    ready = await plane.client().request("GET", "/readyz", query=[("verbose", "")])
    if ready.status != 200:
        seen.append(f"readyz is {ready.status}: {ready.content()!r}")
    return seen


def _root(kind: Resource, version: str) -> str:
    return f"/apis/{kind.group}/{version}" if kind.group else f"/api/{version}"


async def _json(client: APIClient, path: str) -> Any:
    path, _, query = path.partition("?")
    pairs = [tuple(pair.split("=", 1)) for pair in query.split("&") if pair]
    response = await client.request("GET", path, query=[(a, b) for a, b in pairs])
    assert response.status == 200, (path, response.status)
    return object_of(response)
