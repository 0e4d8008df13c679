"""The planes of the test kit, as their users have them."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from controlplane.apimachinery.identity import GVR, Key, Obj
from controlplane.apimachinery.status import APIError
from controlplane.apimachinery.user import UserInfo
from controlplane.client.resources import ResourceClient
from controlplane.generic.config import Config
from controlplane.testing.planes import Plane, ThreadedPlane, plane_in_thread, running_plane
from tests.aio import run

pytestmark = pytest.mark.alone

CONFIGMAPS = GVR("", "v1", "configmaps")


def configmaps(plane: Plane) -> ResourceClient:
    return ResourceClient(plane.client(), CONFIGMAPS, namespaced=True)


def held(name: str) -> Obj:
    """An object that an ordinary deletion would not remove."""
    return {"metadata": {"namespace": "default", "name": name, "finalizers": ["example.org/held"]}}


def test_a_plane_starts_in_less_than_a_third_of_a_second() -> None:
    async def start() -> float:
        begin = time.perf_counter()
        async with running_plane():
            return time.perf_counter() - begin

    assert any(run(start()) < 0.3 for _ in range(20))  # once is proof, however busy the machine is at other times


def test_reset_removes_everything_and_watches_see_it() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            client = configmaps(plane)
            await client.create(held("one"))
            listed = await client.list("default")
            async with client.watch("default", resource_version=listed.resource_version) as events:
                await plane.reset()
                event = await anext(events)
            assert (event.type, event.object["metadata"]["name"]) == ("DELETED", "one")
            assert (await client.list("default")).items == []
            await client.create(held("one"))

    run(scenario())


def test_a_client_is_who_it_says_and_may_do_what_that_user_may() -> None:
    async def scenario() -> int:
        async with running_plane() as plane:
            nobody = plane.client(UserInfo(name="nobody"))
            return (await nobody.request("GET", "/api/v1/namespaces")).status

    assert run(scenario()) == 403


def test_fixture_one(control_plane: ThreadedPlane) -> None:
    control_plane.run(lambda plane: configmaps(plane).create(held("left-behind")))


def test_fixture_two_finds_nothing_of_the_first(control_plane: ThreadedPlane) -> None:
    with pytest.raises(APIError) as caught:
        control_plane.run(lambda plane: configmaps(plane).get(Key("default", "left-behind")))
    assert caught.value.code == 404


def test_many_at_once_know_nothing_of_each_other(new_control_plane: Callable[..., ThreadedPlane]) -> None:
    planes = [new_control_plane() for _ in range(4)]
    assert len({plane.url for plane in planes}) == 4
    planes[0].run(lambda plane: configmaps(plane).create(held("mine")))
    for plane in planes[1:]:
        assert plane.run(lambda p: configmaps(p).list("default")).items == []
    assert all(plane.kubeconfig.exists() for plane in planes)


def test_a_plane_comes_back_where_it_was(tmp_path: Path) -> None:
    """With the directory, the store and the port of one that went, as docs/testing-operators.md has it."""
    store = f"sqlite:{tmp_path}/store.db"
    with plane_in_thread(tmp_path, store=store) as plane:
        plane.run(lambda it: configmaps(it).create(held("kept")))
        kubeconfig, port = plane.kubeconfig.read_text(), int(plane.url.rsplit(":", 1)[1])

    def same_port(config: Config) -> None:
        config.port = port

    with plane_in_thread(tmp_path, store=store, configure=same_port) as plane:
        assert plane.kubeconfig.read_text() == kubeconfig
        kept = plane.run(lambda it: configmaps(it).get(Key("default", "kept")))
        assert kept["metadata"]["finalizers"] == ["example.org/held"]
