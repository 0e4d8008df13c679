"""Garbage collection in a whole plane: what goes, what stays, in which order, and across restarts."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import GVR, Key, Obj
from controlplane.client.resources import Propagation
from controlplane.generic.config import Config
from controlplane.testing.planes import Plane, running_plane
from tests.aio import run
from tests.integration.controllers.objects import Objects, owner_reference, until

EVENTS = GVR("", "v1", "events")
ROLES = GVR("rbac.authorization.k8s.io", "v1", "clusterroles")
CRDS = GVR("apiextensions.k8s.io", "v1", "customresourcedefinitions")


@asynccontextmanager
async def objects() -> AsyncIterator[Objects]:
    async with running_plane() as plane:
        yield Objects(plane)


def without_controllers(config: Config) -> None:
    config.run_controllers = False


@pytest.mark.parametrize("propagation", [None, Propagation.BACKGROUND, Propagation.FOREGROUND])
def test_dependents_go_with_their_owner_to_any_depth(propagation: Propagation | None) -> None:
    async def main() -> None:
        async with objects() as o:
            root = await o.make("root")
            child = await o.make("child", root)
            await o.make("grandchild", child)
            await o.make("stranger")
            await o.delete("root", propagation)
            await o.gone("root", "child", "grandchild")
            assert await o.names() == {"stranger"}

    run(main())


def test_orphans_stay_and_lose_the_reference() -> None:
    async def main() -> None:
        async with objects() as o:
            root = await o.make("root")
            other = await o.make("other")
            await o.make("child", root, other)
            await o.delete("root", Propagation.ORPHAN)
            await o.gone("root")
            child = await o.find("child")
            assert child is not None
            assert [owner["name"] for owner in meta.owner_references(child)] == ["other"]

    run(main())


def test_one_owner_that_remains_keeps_a_dependent() -> None:
    async def main() -> None:
        async with objects() as o:
            one, two = await o.make("one"), await o.make("two")
            await o.make("child", one, two)
            await o.delete("one")

            async def only_two() -> bool:
                child = await o.find("child")
                assert child is not None, "collected though an owner remains"
                return [owner["name"] for owner in meta.owner_references(child)] == ["two"]

            await until(only_two)
            await o.delete("two")
            await o.gone("child")

    run(main())


def test_foreground_waits_for_what_blocks_and_for_nothing_else() -> None:
    async def main() -> None:
        async with objects() as o:
            root = await o.make("root")
            await o.make("blocks", root, blocks=True, finalizers=("example.com/hold",))
            await o.make("held", root, finalizers=("example.com/hold",))
            await o.delete("root", Propagation.FOREGROUND)

            async def dependents_are_going() -> bool:
                found = [await o.find("blocks"), await o.find("held")]
                return all(obj is not None and meta.is_being_deleted(obj) for obj in found)

            await until(dependents_are_going)
            assert await o.find("root") is not None
            await o.configmaps.patch(Key("default", "blocks"), {"metadata": {"finalizers": None}})
            await o.gone("blocks", "root")
            assert await o.find("held") is not None, "it does not block, so its owner went before it"

    run(main())


def test_a_circle_of_owners_is_collected_in_the_foreground() -> None:
    async def main() -> None:
        async with objects() as o:
            one = await o.make("one")
            two = await o.make("two", one, blocks=True)
            three = await o.make("three", two, blocks=True)
            reference = owner_reference(three, blocks=True)
            await o.configmaps.patch(Key("default", "one"), {"metadata": {"ownerReferences": [reference]}})
            await o.delete("one", Propagation.FOREGROUND)
            await o.gone("one", "two", "three")

    run(main())


def test_an_owner_in_another_namespace_is_reported_and_counts_as_absent() -> None:
    async def main() -> None:
        async with objects() as o:
            await o.namespaces.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "elsewhere"}})
            owner = await o.make("owner", namespace="elsewhere")
            await o.make("child", owner)
            await o.gone("child")
            assert await o.find("owner", "elsewhere") is not None
            events = o.of(EVENTS)

            async def reported() -> bool:
                return any(e["reason"] == "OwnerRefInvalidNamespace" for e in (await events.list("default")).items)

            await until(reported)

    run(main())


def test_an_owner_in_a_namespace_is_never_that_of_an_object_outside_of_them(caplog: pytest.LogCaptureFixture) -> None:
    """An event says so where the owner exists; the object stays whether it does or not, and nothing is logged as an
    error."""

    async def main() -> None:
        async with objects() as o:
            there = await o.make("there")
            nowhere: Obj = {**there, "metadata": {"name": "nowhere", "uid": "11111111-2222-3333-4444-555555555555"}}
            for name, owner in (("of-there", there), ("of-nowhere", nowhere)):
                metadata = {"name": name, "ownerReferences": [owner_reference(owner)]}
                await o.namespaces.create({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})

            async def told() -> bool:
                return bool((await o.of(EVENTS).list("default")).items)

            await until(told)
            [event] = (await o.of(EVENTS).list("default")).items
            assert event["involvedObject"]["name"] == "of-there"
            assert event["reason"] == "OwnerRefInvalidNamespace"
            identity = f"[v1/ConfigMap, namespace: , name: there, uid: {meta.uid(there)}]"
            assert event["message"] == f'ownerRef {identity} does not exist in namespace ""'
            await o.make("of-nowhere-too", nowhere)
            await o.gone("of-nowhere-too")
            for name in ("of-there", "of-nowhere"):
                assert not meta.is_being_deleted(await o.namespaces.get(Key("", name)))

    run(main())
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []


def test_an_owner_outside_namespaces_may_own_what_is_in_one_and_what_is_in_none() -> None:
    """Whichever names it first, no event says that it is elsewhere: events are made in order, and the one that is made
    last here is the only one."""

    async def main() -> None:
        async with objects() as o:
            roles, events = o.of(ROLES, namespaced=False), o.of(EVENTS)
            role = await roles.create(
                {"apiVersion": str(ROLES.gv), "kind": "ClusterRole", "metadata": {"name": "owner"}}
            )
            there = await o.make("there")
            await o.make("inside", role)
            for name, owner in (("outside", role), ("misplaced", there)):
                metadata = {"name": name, "ownerReferences": [owner_reference(owner)]}
                await o.namespaces.create({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})

            async def told() -> bool:
                return bool((await events.list("default")).items)

            await until(told)
            assert [e["involvedObject"]["name"] for e in (await events.list("default")).items] == ["misplaced"]

    run(main())


def test_an_owner_of_a_kind_that_nobody_knows_keeps_its_dependent_until_it_is_known() -> None:
    """The definition comes later, without such an object: then the owner is proved absent."""

    async def main() -> None:
        async with objects() as o:
            unknown = {
                "apiVersion": "example.com/v1",
                "kind": "Gadget",
                "metadata": {"name": "x", "uid": "11111111-2222-3333-4444-555555555557"},
            }
            await o.make("child", unknown)
            witness = await o.make("witness")
            await o.make("of-witness", witness)
            await o.delete("witness")
            await o.gone("of-witness")  # by then the collector has looked at "child" too
            assert await o.find("child") is not None
            await o.of(CRDS, namespaced=False).create(gadgets())
            await o.gone("child")

    run(main())


def test_custom_resources_own_and_are_owned() -> None:
    async def main() -> None:
        async with objects() as o:
            await o.of(CRDS, namespaced=False).create(gadgets())
            resource = o.of(GVR("example.com", "v1", "gadgets"))
            gadget = {
                "apiVersion": "example.com/v1",
                "kind": "Gadget",
                "metadata": {"namespace": "default", "name": "a"},
            }
            owner = await resource.create(gadget)
            await o.make("of-gadget", owner)
            root = await o.make("root")
            gadget["metadata"] |= {"name": "b", "ownerReferences": [owner_reference(root)]}  # type: ignore[operator]
            await resource.create(gadget)
            await o.delete("root")
            await resource.delete(Key("default", "a"), propagation=Propagation.FOREGROUND)
            await o.gone("of-gadget", "root")

            async def none() -> bool:
                return not (await resource.list()).items

            await until(none)

    run(main())


def test_what_was_asked_for_while_nobody_collected_is_done_after_the_start(tmp_path: Path) -> None:
    """A store is filled and its owners deleted without controllers; then they start."""
    store = f"sqlite:{tmp_path / 'store.db'}"

    async def before() -> None:
        async with running_plane(tmp_path, store=store, configure=without_controllers) as plane:
            o = Objects(plane)
            for kind in ("background", "foreground", "orphan"):
                owner = await o.make(kind)
                for number in range(3):
                    await o.make(f"{kind}-{number}", owner, blocks=True)
            await o.delete("background")
            await o.delete("foreground", Propagation.FOREGROUND)
            await o.delete("orphan", Propagation.ORPHAN)
            assert len(await o.names()) == 11

    async def after() -> None:
        async with running_plane(tmp_path, store=store) as plane:
            o = Objects(plane)
            expected = {f"orphan-{number}" for number in range(3)}

            async def settled() -> bool:
                return await o.names() == expected

            await until(settled)
            for name in expected:
                child = await o.find(name)
                assert child is not None
                assert not meta.owner_references(child)

    run(before())
    run(after())


@pytest.mark.timeout(600)
def test_a_big_graph_settles_though_the_collector_is_stopped_midway(tmp_path: Path) -> None:
    """Each object is owned by one of those before it: all go with the first, whatever the number of starts."""
    store = f"sqlite:{tmp_path / 'store.db'}"
    size, seconds = (5000, 180.0) if os.environ.get("CONTROLPLANE_TEST_LONG") else (500, 60.0)

    async def fill(plane: Plane) -> None:
        o = Objects(plane)
        made = [await o.make("n0")]
        for begin in range(1, size, 50):
            made += await asyncio.gather(
                *(o.make(f"n{at}", made[(at * 7919) % len(made)]) for at in range(begin, min(begin + 50, size)))
            )
        await o.delete("n0")

    async def first() -> None:
        async with running_plane(tmp_path, store=store, configure=without_controllers) as plane:
            await fill(plane)

    async def some(left: int) -> int:
        async with running_plane(tmp_path, store=store) as plane:
            o = Objects(plane)

            async def fewer() -> bool:
                some = await o.configmaps.list("default", limit=1, metadata_only=True)
                return len(some.items) + (some.remaining or 0) <= left

            await until(fewer, seconds=seconds, every=0.1)
            return len(await o.names())

    run(first(), seconds=seconds)
    assert run(some(size * 7 // 10), seconds=seconds) <= size * 7 // 10
    assert run(some(size * 3 // 10), seconds=seconds) <= size * 3 // 10
    run(some(1), seconds=seconds)


def gadgets() -> dict[str, object]:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }
