"""The roles that a server makes at its start, on a running control plane."""

from __future__ import annotations

from pathlib import Path

from controlplane.apimachinery.identity import GVR, Key
from controlplane.apis.rbac.rules import GROUP
from controlplane.client.resources import ResourceClient
from controlplane.generic.config import Config
from controlplane.testing.planes import Plane, running_plane
from tests.aio import run

ROLES = GVR(GROUP, "v1", "clusterroles")
BINDINGS = GVR(GROUP, "v1", "clusterrolebindings")


def clients(plane: Plane) -> tuple[ResourceClient, ResourceClient]:
    client = plane.client()
    return ResourceClient(client, ROLES, namespaced=False), ResourceClient(client, BINDINGS, namespaced=False)


def test_they_are_there_when_the_server_is_ready_and_mended_by_the_next_start(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path}/store.db"

    async def first() -> None:
        async with running_plane(tmp_path, store=store) as plane:
            roles, bindings = clients(plane)
            assert (await plane.client().request("GET", "/readyz/poststarthook/rbac/bootstrap-roles")).status == 200
            await roles.delete(Key("", "system:discovery"))
            own = await roles.get(Key("", "system:basic-user"))
            own["rules"] = [{"apiGroups": ["x"], "resources": ["y"], "verbs": ["z"]}]
            await roles.update(own)
            elsewhere = await bindings.get(Key("", "system:basic-user"))
            await bindings.delete(Key("", "system:basic-user"))
            elsewhere["roleRef"]["name"] = "view"
            del elsewhere["metadata"]["resourceVersion"], elsewhere["metadata"]["uid"]
            await bindings.create(elsewhere)

    async def second() -> None:
        async with running_plane(tmp_path, store=store) as plane:
            roles, bindings = clients(plane)
            assert (await roles.get(Key("", "system:discovery")))["rules"]
            assert len((await roles.get(Key("", "system:basic-user")))["rules"]) == 4, "one of mine, three permissions"
            assert (await bindings.get(Key("", "system:basic-user")))["roleRef"]["name"] == "system:basic-user"
            listed = await roles.list()
            assert len({role["metadata"]["resourceVersion"] for role in listed.items}) == len(listed.items)

    run(first())
    run(second())


def test_a_second_start_writes_nothing(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path}/store.db"

    def alone(config: Config) -> None:
        config.run_controllers = False  # one of them fills aggregated roles

    async def versions() -> list[str]:
        async with running_plane(tmp_path, store=store, configure=alone) as plane:
            found = [await client.list() for client in clients(plane)]
            return [obj["metadata"]["resourceVersion"] for page in found for obj in page.items]

    assert run(versions()) == run(versions())


def test_where_roles_are_off_none_are_made_and_controllers_work_all_the_same(tmp_path: Path) -> None:
    def without_roles(config: Config) -> None:
        config.resources = [resource for resource in config.resources if resource.group != GROUP]

    async def scenario() -> None:
        async with running_plane(tmp_path, configure=without_roles) as plane:
            namespaces = ResourceClient(plane.client(), GVR("", "v1", "namespaces"), namespaced=False)
            assert (await plane.client().request("GET", f"/apis/{GROUP}/v1/clusterroles")).status == 404
            assert (await plane.client().request("GET", "/readyz/poststarthook/rbac/bootstrap-roles")).status == 404
            await namespaces.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "brief"}})
            listed = await namespaces.list()
            async with namespaces.watch(resource_version=listed.resource_version) as events:
                await namespaces.delete(Key("", "brief"))
                while (await anext(events)).type != "DELETED":
                    pass

    run(scenario())


def test_a_reset_plane_has_them_again() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            roles, _ = clients(plane)
            before = {role["metadata"]["name"] for role in (await roles.list()).items}
            await plane.reset()
            assert {role["metadata"]["name"] for role in (await roles.list()).items} == before

    run(scenario())
