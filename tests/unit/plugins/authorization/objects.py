"""Roles and bindings for tests, and an index over a mirror that they are written to."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from controlplane.apimachinery.identity import Key, Obj
from controlplane.apimachinery.resource import Resource
from controlplane.apis.rbac.clusterrolebindings import CLUSTER_ROLE_BINDINGS
from controlplane.apis.rbac.clusterroles import CLUSTER_ROLES
from controlplane.apis.rbac.rolebindings import ROLE_BINDINGS
from controlplane.apis.rbac.roles import ROLES
from controlplane.apis.rbac.rules import GROUP
from controlplane.plugins.authorization.rbac.index import KINDS, RoleIndex
from controlplane.storage.cache import Mirror
from tests.mirrors import opened

__all__ = ["account", "binding", "group", "indexed", "remove", "role", "store", "user"]

BY_KIND: dict[str, Resource] = {kind.kind: kind for kind in KINDS}
READ_CONFIGMAPS: Obj = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}


@asynccontextmanager
async def indexed(*objects: Obj) -> AsyncIterator[tuple[Mirror, RoleIndex]]:
    """A mirror and its index, with objects that were there before the index."""
    async with opened() as (mirror, _):
        for obj in objects:
            await store(mirror, obj)
        index = RoleIndex(mirror, frozenset(kind.gr for kind in KINDS))
        try:
            yield mirror, index
        finally:
            index.close()


async def store(mirror: Mirror, obj: Obj) -> None:
    """Create an object, and wait until the mirror has it."""
    metadata = obj["metadata"]
    storage = mirror.storage(BY_KIND[obj["kind"]])
    await storage.create(Key(metadata.get("namespace", ""), metadata["name"]), obj)
    assert await mirror.fresh(None)


async def remove(mirror: Mirror, obj: Obj) -> None:
    async def check(_obj: Obj, _entry: object) -> None:
        """Whatever it is."""

    metadata = obj["metadata"]
    storage = mirror.storage(BY_KIND[obj["kind"]])
    await storage.delete(Key(metadata.get("namespace", ""), metadata["name"]), check, version="v1")
    assert await mirror.fresh(None)


def role(name: str, *rules: Obj, namespace: str = "") -> Obj:
    return _object(ROLES if namespace else CLUSTER_ROLES, name, namespace, {"rules": list(rules)})


def binding(name: str, role_name: str, *subjects: Obj, namespace: str = "", kind: str = "") -> Obj:
    """``kind`` of the role: by default that which goes with the binding."""
    kind = kind or ("Role" if namespace else "ClusterRole")
    reference = {"apiGroup": GROUP, "kind": kind, "name": role_name}
    of = ROLE_BINDINGS if namespace else CLUSTER_ROLE_BINDINGS
    return _object(of, name, namespace, {"roleRef": reference, "subjects": list(subjects)})


def user(name: str) -> Obj:
    return {"kind": "User", "apiGroup": GROUP, "name": name}


def group(name: str) -> Obj:
    return {"kind": "Group", "apiGroup": GROUP, "name": name}


def account(name: str, namespace: str = "") -> Obj:
    return {"kind": "ServiceAccount", "name": name, **({"namespace": namespace} if namespace else {})}


def _object(kind: Resource, name: str, namespace: str, fields: Obj) -> Obj:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": f"{GROUP}/v1", "kind": kind.kind, "metadata": metadata, **fields}
