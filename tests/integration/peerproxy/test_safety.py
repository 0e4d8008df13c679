"""Nothing is given up because a server that is away cannot show what depends on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from controlplane.apimachinery.identity import GVR, Key, Obj
from controlplane.apimachinery.status import APIError
from controlplane.client.resources import PatchType, Propagation, ResourceClient
from controlplane.testing.planes import Plane
from tests.aio import run
from tests.integration.peerproxy.fleet import eventually, fleet, heard
from tests.integration.peerproxy.kinds import BETA_WIDGETS, GADGETS, serve_a, serve_b

NAMESPACES, CONFIGMAPS = GVR("", "v1", "namespaces"), GVR("", "v1", "configmaps")


def objects(plane: Plane, gvr: GVR, *, namespaced: bool = True) -> ResourceClient:
    return ResourceClient(plane.client(), gvr, namespaced=namespaced)


def described(gvr: GVR, kind: str, name: str, namespace: str = "", **metadata: Any) -> Obj:
    place = {"namespace": namespace} if namespace else {}
    return {"apiVersion": str(gvr.gv), "kind": kind, "metadata": {"name": name, **place, **metadata}}


async def found(client: ResourceClient, key: Key) -> Obj | None:
    try:
        return await client.get(key)
    except APIError as error:
        if error.reason != "NotFound":
            raise
        return None


async def says_what_is_left(namespaces: ResourceClient, name: str) -> bool:
    """Whether a namespace's condition names the one gadget in it."""
    conditions = ((await namespaces.get(Key("", name))).get("status") or {}).get("conditions") or ()
    return any(
        condition["type"] == "NamespaceDeletionContentFailure"
        and condition["status"] == "True"
        and "gadgets.tools.example.org (1)" in condition["message"]
        for condition in conditions
    )


def test_a_namespace_stays_as_long_as_something_of_it_is_in_the_store(tmp_path: Path) -> None:
    async def main() -> None:
        async with fleet(tmp_path) as (made, planes):
            a = planes["a"]
            namespaces = objects(a, NAMESPACES, namespaced=False)
            for name in ("held", "free"):
                await namespaces.create(described(NAMESPACES, "Namespace", name))
                await objects(a, BETA_WIDGETS).create(described(BETA_WIDGETS, "Widget", "w", name))
            await objects(a, GADGETS).create(described(GADGETS, "Gadget", "g", "held"))
            await made.stop("b")
            await heard(a, 0)
            for name in ("held", "free"):
                await namespaces.delete(Key("", name))

            async def gone(name: str) -> bool:
                return await found(namespaces, Key("", name)) is None

            assert await eventually(lambda: says_what_is_left(namespaces, "held"))
            assert await eventually(lambda: gone("free")), "another namespace is not held up by it"
            assert not await gone("held")
            await made.start("b", serve_b)
            assert await eventually(lambda: gone("held"), seconds=30)
            left = await made.store.kv.range(b"/registry/tools.example.org/", b"/registry/tools.example.org0")
            assert not left.items

    run(main())


def test_a_server_without_the_proxy_keeps_what_it_does_not_know(tmp_path: Path) -> None:
    """It leads the controllers, and its discovery is its own; the objects are in the store that it shares."""

    async def main() -> None:
        async with fleet(tmp_path, "b") as (made, _):
            await made.stop("b")
            old = await made.start("a", serve_a, change=lambda _made, _config: None)
            namespaces = objects(old, NAMESPACES, namespaced=False)

            async def gone(name: str) -> bool:
                return await found(namespaces, Key("", name)) is None

            for name in ("first", "held"):
                await namespaces.create(described(NAMESPACES, "Namespace", name))
            await namespaces.delete(Key("", "first"))
            assert await eventually(lambda: gone("first")), "it leads, before the other could"
            b = await made.start("b", serve_b)
            gadgets = objects(b, GADGETS)
            await gadgets.create(described(GADGETS, "Gadget", "g", "held"))
            await namespaces.delete(Key("", "held"))
            assert await eventually(lambda: says_what_is_left(namespaces, "held"))
            await gadgets.delete(Key("held", "g"))
            assert await eventually(lambda: gone("held"), seconds=30)

    run(main())


async def look_again(plane: Plane) -> None:
    """Let the collector read discovery now, and not only at the end of its half minute."""
    services = objects(plane, GVR("apiregistration.k8s.io", "v1", "apiservices"), namespaced=False)
    await services.patch(Key("", "v1.coordination.k8s.io"), {"metadata": {"labels": {"looked": "at"}}}, PatchType.MERGE)


def test_an_owner_is_not_let_go_before_dependents_that_nobody_serves_now(tmp_path: Path) -> None:
    async def main() -> None:
        async with fleet(tmp_path) as (made, planes):
            a = planes["a"]
            owners, key = objects(a, CONFIGMAPS), Key("default", "owner")
            owner = await owners.create(described(CONFIGMAPS, "ConfigMap", "owner", "default"))
            reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
            gadget = described(GADGETS, "Gadget", "g", "default", ownerReferences=[reference])
            await objects(a, GADGETS).create(gadget)
            await made.stop("b")
            await heard(a, 0)
            await owners.delete(key, propagation=Propagation.ORPHAN)
            waiting = await owners.get(key)
            waiting["metadata"]["finalizers"] = []
            with pytest.raises(APIError, match=r"gadgets\.tools\.example\.org \(1\)") as refused:
                await owners.update(waiting)
            assert (refused.value.code, refused.value.reason) == (409, "Conflict")
            await made.start("b", serve_b)
            await heard(a, 1)
            await look_again(a)

            async def let_go() -> bool:
                return await found(owners, key) is None

            assert await eventually(let_go, seconds=30)
            kept = await objects(a, GADGETS).get(Key("default", "g"))
            assert not kept["metadata"].get("ownerReferences")

    run(main())
