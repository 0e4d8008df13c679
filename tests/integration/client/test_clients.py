"""Both carriers against a whole control plane: the same verbs, the same answers, the same watches."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import GVR, Key, Obj
from controlplane.apimachinery.status import APIError
from controlplane.apimachinery.user import UserInfo
from controlplane.base.tasks import TaskGroup
from controlplane.client.api import APIClient
from controlplane.client.config import ClientConfig
from controlplane.client.discovery import discover
from controlplane.client.errors import Unreachable
from controlplane.client.http import HTTPClient
from controlplane.client.kubeconfig import load_kubeconfig
from controlplane.client.resources import PatchType, ResourceClient
from controlplane.generic.controllers import SERVER_USER
from controlplane.reconcile.informer import Informer
from tests.aio import run
from tests.integration.plane import running_plane

CONFIGMAPS = GVR("", "v1", "configmaps")
carriers = pytest.mark.parametrize("carrier", ["loopback", "https"])


@asynccontextmanager
async def connected(directory: Path, carrier: str) -> AsyncIterator[APIClient]:
    """A client with all rights on a fresh plane."""
    async with running_plane(directory) as plane:
        if carrier == "loopback":
            yield plane.running.loopback(SERVER_USER)
        else:
            async with HTTPClient(load_kubeconfig(directory / "admin.conf")) as client:
                yield client


def configmap(name: str, value: str = "1") -> Obj:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default"},
        "data": {"v": value},
    }


@carriers
def test_an_object_lives_its_life(carrier: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with connected(tmp_path, carrier) as client:
            maps = ResourceClient(client, CONFIGMAPS, namespaced=True)
            key = Key("default", "a")
            made = await maps.create(configmap("a"), field_manager="me")
            assert await maps.get(key) == made
            made["data"]["v"] = "2"
            updated = await maps.update(made)
            with pytest.raises(APIError) as conflict:
                await maps.update({**made, "data": {"v": "3"}})
            assert (conflict.value.code, conflict.value.reason) == (409, "Conflict")
            assert conflict.value.details == {"name": "a", "kind": "configmaps"}
            patched = await maps.patch(key, {"data": {"w": "1"}})
            assert patched["data"] == {"v": "2", "w": "1"}
            patched = await maps.patch(key, [{"op": "remove", "path": "/data/w"}], PatchType.JSON)
            assert patched["data"] == updated["data"] == {"v": "2"}
            with pytest.raises(APIError) as precondition:
                await maps.delete(key, uid="other")
            assert precondition.value.code == 409
            assert (await maps.delete(key, uid=made["metadata"]["uid"]))["status"] == "Success"
            with pytest.raises(APIError) as missing:
                await maps.get(key)
            assert missing.value.message == 'configmaps "a" not found'

    run(main())


@carriers
def test_many_objects_are_listed_in_pages_and_deleted_together(carrier: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with connected(tmp_path, carrier) as client:
            maps = ResourceClient(client, CONFIGMAPS, namespaced=True)
            for number in range(7):
                await maps.create(configmap(f"c{number}"))
            pages = [page async for page in maps.pages("default", page_items=3)]
            assert [len(page.items) for page in pages] == [3, 3, 1]
            assert len({page.resource_version for page in pages}) == 1
            assert {item["kind"] for page in pages for item in page.items} == {"ConfigMap"}
            await maps.delete_collection("default", field_selector="metadata.name!=c3")
            assert [item["metadata"]["name"] for item in (await maps.list("default")).items] == ["c3"]

    run(main())


@carriers
def test_a_watch_gives_the_state_then_the_changes_and_ends_when_left(carrier: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with connected(tmp_path, carrier) as client:
            maps = ResourceClient(client, CONFIGMAPS, namespaced=True)
            await maps.create(configmap("a"))
            seen = []
            async with maps.watch("default", send_initial_events=True) as events:
                async for event in events:
                    seen.append((event.type, event.object["metadata"].get("name")))
                    if event.type == "BOOKMARK":
                        await maps.create(configmap("b"))
                        await maps.delete(Key("default", "a"))
                    if event.type == "DELETED":
                        break
            assert seen == [("ADDED", "a"), ("BOOKMARK", None), ("ADDED", "b"), ("DELETED", "a")]
            with pytest.raises(APIError) as refused:
                async with maps.watch("default", send_initial_events=True, field_selector="nonsense=1"):
                    pass
            assert refused.value.code == 400

    run(main())


@carriers
def test_an_informer_follows_a_plane(carrier: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with connected(tmp_path, carrier) as client:
            maps = ResourceClient(client, CONFIGMAPS, namespaced=True)
            for number in range(300):
                await maps.create(configmap(f"c{number:03}"))
            informer = Informer(maps, namespace="default")
            reports: list[tuple[str | None, str | None]] = []

            def report(old: Obj | None, new: Obj | None) -> None:
                reports.append((meta.name(old) if old else None, meta.name(new) if new else None))
                if new is None:
                    done.set()

            informer.add_handler(report)
            async with TaskGroup("test") as group:
                done = asyncio.Event()
                group.start(informer.run(), name="informer")
                await informer.synced.wait()
                assert len(informer.store) == len(reports) == 300
                reports.clear()
                await maps.create(configmap("new"))
                await maps.patch(Key("default", "c007"), {"data": {"v": "2"}})
                await maps.delete(Key("default", "c000"))
                await done.wait()
            assert reports == [(None, "new"), ("c007", "c007"), ("c000", None)]
            changed = informer.store.get(Key("default", "c007"))
            assert changed is not None
            assert changed["data"] == {"v": "2"}

    run(main())


@carriers
def test_discovery_finds_what_is_served(carrier: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with connected(tmp_path, carrier) as client:
            found = await discover(client)
            assert not found.failed
            by_name = {str(resource.gvr.gr): resource for resource in found.resources}
            assert {"namespaces", "configmaps", "leases.coordination.k8s.io"} <= set(by_name)
            assert (by_name["configmaps"].kind, by_name["configmaps"].namespaced) == ("ConfigMap", True)
            assert not by_name["namespaces"].namespaced
            assert "watch" in by_name["configmaps"].verbs

    run(main())


def test_the_loopback_skips_no_authorization(tmp_path: Path) -> None:
    async def main() -> None:
        async with running_plane(tmp_path) as plane:
            nobody = plane.running.loopback(UserInfo(name="nobody", groups=("system:authenticated",)))
            with pytest.raises(APIError) as refused:
                await ResourceClient(nobody, CONFIGMAPS, namespaced=True).list("default")
            assert (refused.value.code, refused.value.reason) == (403, "Forbidden")

    run(main())


def test_a_server_that_another_authority_vouches_for_is_not_trusted(tmp_path: Path) -> None:
    async def main() -> None:
        async with running_plane(tmp_path) as plane:
            async with HTTPClient(ClientConfig(server=plane.running.url)) as client:
                with pytest.raises(Unreachable, match="certificate verify failed") as refused:
                    await client.request("GET", "/version")
                assert not refused.value.sent
            async with HTTPClient(ClientConfig(server=plane.running.url, verify=False)) as client:
                assert (await client.request("GET", "/version")).status == 200

    run(main())
