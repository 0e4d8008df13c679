"""kubernetes_asyncio, unchanged: lists, watches with resume, patches in all types, server-side apply, deletes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from controlplane.testing.planes import ThreadedPlane
from tests.aio import run
from tests.integration.clients.widgets import DEFINITION, GROUP, widget

kubernetes: Any = pytest.importorskip("kubernetes_asyncio", reason="no kubernetes_asyncio (PyPI: kubernetes_asyncio)")
pytestmark = pytest.mark.filterwarnings("default")

Event = tuple[str, str]


@asynccontextmanager
async def connected(plane: ThreadedPlane) -> AsyncIterator[Any]:
    async with await kubernetes.config.new_client_from_config(str(plane.kubeconfig)) as client:
        yield kubernetes.client.CoreV1Api(client)


def config_map(name: str, **data: str) -> Any:
    meta = kubernetes.client.V1ObjectMeta(name=name, labels={"app": "shop"})
    return kubernetes.client.V1ConfigMap(metadata=meta, data=data)


async def take(watch: Any, count: int) -> list[Event]:
    seen: list[Event] = []
    async for event in watch:
        seen.append((event["type"], event["object"].metadata.name))
        if len(seen) == count:
            break
    return seen


def test_lists_in_pages(control_plane: ThreadedPlane) -> None:
    async def use() -> None:
        async with connected(control_plane) as core:
            for index in range(5):
                await core.create_namespaced_config_map("default", config_map(f"m{index}"))
            names: list[str] = []
            token = None
            while True:
                page = await core.list_namespaced_config_map("default", limit=2, _continue=token)
                names += [item.metadata.name for item in page.items]
                token = page.metadata._continue
                if not token:
                    break
            assert names == [f"m{i}" for i in range(5)]

    run(use())


def test_watch_goes_on_after_the_server_ended_it(control_plane: ThreadedPlane) -> None:
    """A watch ends after its second; another from the last version that was seen brings the rest."""

    async def use() -> None:
        async with connected(control_plane) as core:
            start = (await core.list_namespaced_config_map("default")).metadata.resource_version
            await core.create_namespaced_config_map("default", config_map("a"))
            async with kubernetes.watch.Watch() as watch:
                watch.stream(core.list_namespaced_config_map, "default", resource_version=start, timeout_seconds=1)
                assert await take(watch, 2) == [("ADDED", "a")]  # it ended: there is no second
                version = watch.resource_version
            await core.create_namespaced_config_map("default", config_map("b"))
            await core.delete_namespaced_config_map("a", "default")
            async with kubernetes.watch.Watch() as watch:
                watch.stream(core.list_namespaced_config_map, "default", resource_version=version)
                assert await take(watch, 2) == [("ADDED", "b"), ("DELETED", "a")]

    run(use())


def test_watch_sees_what_is_written_meanwhile(control_plane: ThreadedPlane) -> None:
    async def use() -> None:
        async with connected(control_plane) as core, kubernetes.watch.Watch() as watch:
            start = (await core.list_namespaced_config_map("default")).metadata.resource_version
            watch.stream(core.list_namespaced_config_map, "default", resource_version=start, timeout_seconds=20)
            async with asyncio.TaskGroup() as tasks:
                events = tasks.create_task(take(watch, 20))
                for index in range(20):
                    await core.create_namespaced_config_map("default", config_map(f"n{index}"))
            assert events.result() == [("ADDED", f"n{index}") for index in range(20)]

    run(use())


def test_patches_in_all_types(control_plane: ThreadedPlane) -> None:
    async def use() -> None:
        async with connected(control_plane) as core:

            async def patch(body: Any, content: str) -> Any:
                return (await core.patch_namespaced_config_map("m", "default", body, _content_type=content)).data

            await core.create_namespaced_config_map("default", config_map("m", a="1", b="2"))
            merge = {"data": {"a": None, "c": "3"}}
            assert await patch(merge, "application/merge-patch+json") == {"b": "2", "c": "3"}
            operations = [{"op": "replace", "path": "/data/b", "value": "4"}]
            assert await patch(operations, "application/json-patch+json") == {"b": "4", "c": "3"}
            account = kubernetes.client.V1ServiceAccount(
                metadata=kubernetes.client.V1ObjectMeta(name="robot"),
                secrets=[kubernetes.client.V1ObjectReference(name="one")],
            )
            await core.create_namespaced_service_account("default", account)
            both = await core.patch_namespaced_service_account(
                "robot",
                "default",
                {"secrets": [{"name": "two"}]},
                _content_type="application/strategic-merge-patch+json",
            )
            assert {secret.name for secret in both.secrets} == {"one", "two"}

    run(use())


def test_server_side_apply_and_its_conflict(control_plane: ThreadedPlane) -> None:
    async def use() -> None:
        async with connected(control_plane) as core:

            async def apply(value: str, **options: Any) -> Any:
                body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": {"a": value}}
                return await core.patch_namespaced_config_map(
                    "m", "default", body, _content_type="application/apply-patch+yaml", **options
                )

            applied = await apply("1", field_manager="asyncio-test")
            assert [(m.manager, m.operation) for m in applied.metadata.managed_fields] == [("asyncio-test", "Apply")]
            with pytest.raises(kubernetes.client.ApiException) as conflict:
                await apply("2", field_manager="other")
            assert conflict.value.status == 409
            assert (await apply("2", field_manager="other", force=True)).data == {"a": "2"}

    run(use())


def test_deletes_one_and_all(control_plane: ThreadedPlane) -> None:
    async def use() -> None:
        async with connected(control_plane) as core:
            for name in ("a", "b", "c"):
                await core.create_namespaced_config_map("default", config_map(name))
            assert (await core.delete_namespaced_config_map("a", "default")).status == "Success"
            with pytest.raises(kubernetes.client.ApiException) as gone:
                await core.read_namespaced_config_map("a", "default")
            assert gone.value.status == 404
            await core.delete_collection_namespaced_config_map("default")
            assert (await core.list_namespaced_config_map("default")).items == []

    run(use())


def test_custom_resource(control_plane: ThreadedPlane) -> None:
    async def use() -> None:
        async with connected(control_plane) as core:
            await kubernetes.client.ApiextensionsV1Api(core.api_client).create_custom_resource_definition(DEFINITION)
            custom = kubernetes.client.CustomObjectsApi(core.api_client)
            where = (GROUP, "v1", "default", "widgets")
            made = await custom.create_namespaced_custom_object(*where, widget("door", "red"))
            merge = {"_content_type": "application/merge-patch+json"}
            patch = {"spec": {"color": "blue"}}
            patched = await custom.patch_namespaced_custom_object(*where, "door", patch, **merge)
            assert patched["spec"] == patch["spec"]
            status = {"status": {"painted": "blue"}}
            await custom.patch_namespaced_custom_object_status(*where, "door", status, **merge)
            await custom.delete_namespaced_custom_object(*where, "door")
            events = []
            async with kubernetes.watch.Watch() as watch:
                version = made["metadata"]["resourceVersion"]
                watch.stream(custom.list_namespaced_custom_object, *where, resource_version=version, timeout_seconds=10)
                async for event in watch:
                    events.append((event["type"], event["object"].get("status")))
                    if len(events) == 3:
                        break
            assert events == [("MODIFIED", None), ("MODIFIED", status["status"]), ("DELETED", status["status"])]

    run(use())
