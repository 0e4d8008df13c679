"""kr8s, unchanged: discovery, lists, watches with resume, patches, server-side apply, deletes."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from controlplane.testing.planes import ThreadedPlane
from tests.aio import run
from tests.integration.clients.widgets import DEFINITION, widget

kr8s: Any = pytest.importorskip("kr8s", reason="no kr8s (PyPI: kr8s)")
aio: Any = pytest.importorskip("kr8s.asyncio")
objects: Any = pytest.importorskip("kr8s.asyncio.objects")
pytestmark = pytest.mark.filterwarnings("default")


@asynccontextmanager
async def connected(plane: ThreadedPlane) -> AsyncIterator[Any]:
    api = await aio.api(kubeconfig=str(plane.kubeconfig))
    try:
        yield api
    finally:
        await api._session.aclose()


async def config_map(api: Any, name: str, **data: str) -> Any:
    made = await objects.ConfigMap(
        {"metadata": {"name": name, "namespace": "default", "labels": {"app": "shop"}}, "data": data}, api=api
    )
    await made.create()
    return made


async def names(api: Any, **selectors: Any) -> list[str]:
    return [found.name async for found in api.get("configmaps", namespace="default", **selectors)]


async def take(events: Any, count: int) -> list[tuple[str, str]]:
    seen = []
    for _ in range(count):
        kind, obj = await anext(events)
        seen.append((kind, obj.name))
    return seen


async def patch_as(api: Any, path: str, content: str, body: Any, **params: str) -> Any:
    """A patch of a type that kr8s' objects have no method for: by its own calls to the server."""
    async with api.call_api(
        "PATCH",
        version="v1",
        namespace="default",
        url=path,
        content=json.dumps(body),
        headers={"Content-Type": content},
        params=params,
    ) as answer:
        return answer.json()


def test_finds_kinds_and_lists(control_plane: ThreadedPlane) -> None:
    async def use() -> None:
        async with connected(control_plane) as api:
            kinds = {found["kind"] for found in await api.api_resources()}
            assert {"ConfigMap", "Namespace", "Secret", "Lease"} <= kinds
            for index in range(3):
                await config_map(api, f"m{index}")
            assert await names(api) == ["m0", "m1", "m2"]
            assert await names(api, label_selector={"app": "other"}) == []
            assert await names(api, field_selector={"metadata.name": "m1"}) == ["m1"]

    run(use())


def test_watch_resumes_from_a_version(control_plane: ThreadedPlane) -> None:
    async def use() -> None:
        async with connected(control_plane) as api:
            first = await config_map(api, "a")
            events = api.async_watch("configmaps", namespace="default", since=first.metadata.resourceVersion)
            second = await config_map(api, "b", k="v")
            assert await take(events, 1) == [("ADDED", "b")]
            await events.aclose()
            await first.delete()
            await second.patch({"data": {"k": "w"}})
            again = api.async_watch("configmaps", namespace="default", since=second.metadata.resourceVersion)
            await second.delete()
            assert await take(again, 1) == [("DELETED", "b")]
            await again.aclose()
            since = api.async_watch("configmaps", namespace="default", since=first.metadata.resourceVersion)
            assert await take(since, 4) == [("ADDED", "b"), ("DELETED", "a"), ("MODIFIED", "b"), ("DELETED", "b")]
            await since.aclose()

    run(use())


def test_patches_in_all_types(control_plane: ThreadedPlane) -> None:
    async def use() -> None:
        async with connected(control_plane) as api:
            made = await config_map(api, "m", a="1", b="2")
            await made.patch({"data": {"a": None, "c": "3"}})
            assert made.data == {"b": "2", "c": "3"}
            await made.patch([{"op": "replace", "path": "/data/b", "value": "4"}], type="json")
            assert made.data == {"b": "4", "c": "3"}
            await made.label(painted="red")
            assert made.labels == {"app": "shop", "painted": "red"}
            account = await objects.ServiceAccount(
                {"metadata": {"name": "robot", "namespace": "default"}, "secrets": [{"name": "one"}]}, api=api
            )
            await account.create()
            both = await patch_as(
                api,
                "serviceaccounts/robot",
                "application/strategic-merge-patch+json",
                {"secrets": [{"name": "two"}]},
            )
            assert {secret["name"] for secret in both["secrets"]} == {"one", "two"}

    run(use())


def test_server_side_apply(control_plane: ThreadedPlane) -> None:
    async def use() -> None:
        async with connected(control_plane) as api:
            body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": {"a": "1"}}
            path, content = "configmaps/m", "application/apply-patch+yaml"
            applied = await patch_as(api, path, content, body, fieldManager="kr8s-test")
            assert applied["metadata"]["managedFields"][0]["manager"] == "kr8s-test"
            with pytest.raises(kr8s.ServerError) as conflict:
                await patch_as(api, path, content, {**body, "data": {"a": "2"}}, fieldManager="other")
            assert conflict.value.response.status_code == 409
            forced = await patch_as(
                api, path, content, {**body, "data": {"a": "2"}}, fieldManager="other", force="true"
            )
            assert forced["data"] == {"a": "2"}

    run(use())


def test_deletes_and_waits(control_plane: ThreadedPlane) -> None:
    async def use() -> None:
        async with connected(control_plane) as api:
            made = await config_map(api, "m")
            await made.delete(propagation_policy="Background")
            await made.wait("delete", timeout=10)
            assert not await made.exists()
            with pytest.raises(kr8s.NotFoundError):
                await made.refresh()

    run(use())


def test_custom_resource(control_plane: ThreadedPlane) -> None:
    """The definition is made through the client; its kind is known by discovery alone."""

    async def use() -> None:
        async with connected(control_plane) as api:
            await (await objects.CustomResourceDefinition(DEFINITION, api=api)).create()
            kind, plural, namespaced = await api.lookup_kind("widget")
            assert (kind, plural, namespaced) == ("widget.example.org/v1", "widgets", True)
            door = await objects.new_class("Widget", "example.org/v1", asyncio=True)(widget("door", "red"), api=api)
            await door.create()
            events = api.async_watch(type(door), namespace="default", since=door.metadata.resourceVersion)
            await door.patch({"status": {"painted": "red"}}, subresource="status")
            assert door.status == {"painted": "red"}
            await door.delete()
            assert await take(events, 2) == [("MODIFIED", "door"), ("DELETED", "door")]
            await events.aclose()

    run(use())
