"""Values of wrong types that somebody else puts into the store: no server and no controller ends by one, they cannot be
read, and what is beside them goes on."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.apimachinery.codec.json import dumps, loads
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.resource import Resource
from controlplane.apis.core.serviceaccounts import SERVICE_ACCOUNTS
from controlplane.client.resources import ResourceClient
from controlplane.controllers.core import NAMESPACES
from controlplane.generic.builtin import CONTROLLERS
from controlplane.generic.config import Config
from controlplane.testing.planes import Plane, running_plane
from tests.aio import run
from tests.foreign_values import LONG, STORED_KINDS, spoilt_objects

PARTS = 1 if LONG else 23
"""Of so many spoilt objects one is put, so that a run takes seconds; ``LONG``: all of them."""


def with_all_controllers(config: Config) -> None:
    config.controllers = list(CONTROLLERS)


def path_of(resource: Resource) -> str:
    served = next((version.name for version in resource.versions if version.served), resource.storage_version)
    group = f"/apis/{resource.group}" if resource.group else "/api"
    return f"{group}/{served}/" + ("namespaces/default/" if resource.namespaced else "") + resource.plural


async def put(plane: Plane, resource: Resource, obj: Obj, at: str = "") -> None:
    """As another program would: straight into the store."""
    namespace = "default/" if resource.namespaced else ""
    key = f"/registry/{resource.key_prefix}/{namespace}{at or obj['metadata']['name']}"
    result = await plane.control_plane.kv.put(key.encode(), dumps(obj), expect=0)
    assert result.succeeded


async def get(plane: Plane, path: str) -> tuple[int, Any]:
    response = await plane.client().request("GET", path)
    body = response.body if isinstance(response.body, bytes) else b"".join(response.body)
    return response.status, loads(body) if body.startswith(b"{") else body


async def still_works(plane: Plane) -> None:
    """A new namespace gets what controllers put into it."""
    namespaces = ResourceClient(plane.client(), NAMESPACES, namespaced=False)
    accounts = ResourceClient(plane.client(), SERVICE_ACCOUNTS.gvr("v1"), namespaced=True)
    async with accounts.watch("work") as events:
        await namespaces.create({"metadata": {"name": "work"}})
        async for event in events:
            if event.type == "ADDED":
                assert event.object["metadata"]["name"] == "default"
                break
    assert (await get(plane, "/livez"))[0] == 200


@pytest.mark.parametrize("offset", range(2 if not LONG else 1))
def test_no_value_ends_a_server_or_a_controller(offset: int) -> None:
    async def main() -> None:
        async with running_plane(configure=with_all_controllers) as plane:
            number = 0
            for resource in STORED_KINDS:
                if resource.plural in ("namespaces", "serviceaccounts"):  # of which the proof below is made
                    continue
                for obj in spoilt_objects(resource, 3):
                    number += 1
                    if number % PARTS == offset % PARTS:
                        await put(plane, resource, obj)
            await plane.control_plane.mirror.fresh(None)
            await still_works(plane)

    run(main())


def test_one_that_cannot_be_read_says_so_until_it_is_gone() -> None:
    kinds = [one for one in STORED_KINDS if one.plural in {"configmaps", "secrets", "leases", "rolebindings"}]
    wrong = dict.fromkeys(("spec", "data", "roleRef", "subjects"), "text")

    async def main() -> None:
        async with running_plane(configure=with_all_controllers) as plane:
            for resource in kinds:
                head = {"kind": resource.kind, "apiVersion": resource.storage_gvk.api_version}
                await put(plane, resource, {**head, "metadata": {"name": "wrong"}, **wrong})
            for resource in kinds:
                for path in (path_of(resource), f"{path_of(resource)}/wrong"):
                    status, answer = await get(plane, path)
                    assert (status, answer["reason"]) == (500, "StorageReadError")
                    assert "object not decodable" in answer["message"]
                    assert f"json: cannot unmarshal string into Go struct field {resource.kind}." in answer["message"]
            await still_works(plane)
            kv = plane.control_plane.kv
            for resource in kinds:
                (found,) = (await kv.range(f"/registry/{resource.key_prefix}/default/wrong".encode(), b"")).items
                await kv.delete(found.key, expect=found.mod_revision)
                assert (await get(plane, path_of(resource)))[0] == 200

    run(main())


def test_another_kind_at_a_key_cannot_be_read_and_what_is_missing_is_put_in() -> None:
    secrets, bindings = (
        next(one for one in STORED_KINDS if one.plural == plural) for plural in ("secrets", "rolebindings")
    )

    async def main() -> None:
        async with running_plane(configure=with_all_controllers) as plane:
            other = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "other"}, "data": {"a": "b"}}
            await put(plane, secrets, other)
            await put(plane, secrets, {**other, "kind": "Secret", "metadata": {}}, at="nameless")
            bare = {"kind": "RoleBinding", "apiVersion": "rbac.authorization.k8s.io/v1", "later": 1}
            await put(plane, bindings, {**bare, "metadata": {"name": "bare", "namespace": "default"}})
            for name, why in (("other", "it is of kind 'ConfigMap', not 'Secret'"), ("nameless", "name is missing")):
                status, answer = await get(plane, f"{path_of(secrets)}/{name}")
                assert (status, answer["reason"]) == (500, "StorageReadError")
                assert why in answer["message"]
            status, answer = await get(plane, f"{path_of(bindings)}/bare")
            assert (status, answer["later"]) == (200, 1)
            assert answer["roleRef"] == {"apiGroup": "", "kind": "", "name": ""}
            status, answer = await get(plane, path_of(bindings))
            assert [item["roleRef"]["name"] for item in answer["items"]] == [""]

    run(main())
