"""Namespace deletion in a whole plane: content goes, what is held is explained, what cannot be seen keeps it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from controlplane.apimachinery.identity import GVR, Key, Obj
from controlplane.client.resources import PatchType
from controlplane.testing.planes import running_plane
from tests.aio import run
from tests.integration.controllers.objects import Objects, found, until

SECRETS = GVR("", "v1", "secrets")
TOYS = GVR("example.org", "v1", "toys")
DEFINITIONS = GVR("apiextensions.k8s.io", "v1", "customresourcedefinitions")


@asynccontextmanager
async def objects() -> AsyncIterator[Objects]:
    async with running_plane() as plane:
        o = Objects(plane, "doomed")
        await o.namespaces.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "doomed"}})
        yield o


async def namespace(o: Objects) -> Obj | None:
    return await found(o.namespaces.get(Key("", "doomed")))


def conditions(obj: Obj) -> dict[str, tuple[str, str, str]]:
    return {
        c["type"]: (c["status"], c["reason"], c["message"]) for c in (obj.get("status") or {}).get("conditions", [])
    }


def test_everything_goes_then_the_namespace() -> None:
    async def main() -> None:
        async with objects() as o:
            await asyncio.gather(*(o.make(f"n{number}") for number in range(100)))
            await o.of(SECRETS).create(
                {"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "doomed", "name": "s"}}
            )
            await o.namespaces.delete(Key("", "doomed"))

            async def gone() -> bool:
                return await namespace(o) is None

            await until(gone)
            await o.namespaces.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "doomed"}})
            assert await o.names() == set()

    run(main())


def test_what_is_held_is_named_and_let_go_when_it_is_free() -> None:
    async def main() -> None:
        async with objects() as o:
            await o.make("held", finalizers=("example.com/hold", "example.com/other"))
            await o.make("also", finalizers=("example.com/hold",))
            await o.namespaces.delete(Key("", "doomed"))

            async def explained() -> bool:
                obj = await namespace(o)
                assert obj is not None
                return conditions(obj).get("NamespaceFinalizersRemaining", ("",))[0] == "True"

            await until(explained)
            obj = await namespace(o)
            assert obj is not None
            assert list(conditions(obj)) == [
                "NamespaceDeletionDiscoveryFailure",
                "NamespaceDeletionGroupVersionParsingFailure",
                "NamespaceDeletionContentFailure",
                "NamespaceContentRemaining",
                "NamespaceFinalizersRemaining",
            ]
            assert conditions(obj)["NamespaceContentRemaining"] == (
                "True",
                "SomeResourcesRemain",
                "Some resources are remaining: configmaps. has 2 resource instances",
            )
            assert conditions(obj)["NamespaceFinalizersRemaining"] == (
                "True",
                "SomeFinalizersRemain",
                (
                    "Some content in the namespace has finalizers remaining: "
                    "example.com/hold in 2 resource instances, example.com/other in 1 resource instances"
                ),
            )
            for name in ("held", "also"):
                await o.configmaps.patch(Key("doomed", name), {"metadata": {"finalizers": None}})

            async def gone() -> bool:
                return await namespace(o) is None

            await until(gone)

    run(main())


def test_another_party_s_finalizer_outlasts_ours() -> None:
    async def main() -> None:
        async with running_plane() as plane:
            o = Objects(plane, "doomed")
            await o.namespaces.create(
                {
                    "apiVersion": "v1",
                    "kind": "Namespace",
                    "metadata": {"name": "doomed"},
                    "spec": {"finalizers": ["example.com/other"]},
                }
            )
            await o.make("content")
            await o.namespaces.delete(Key("", "doomed"))

            async def ours_is_off() -> bool:
                obj = await namespace(o)
                assert obj is not None, "finalized over another party's head"
                return bool(obj["spec"]["finalizers"] == ["example.com/other"])

            await until(ours_is_off)
            assert await o.names() == set()

    run(main())


def _toys(*, served: bool) -> Obj:
    version = {"name": "v1", "served": served, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    return {
        "apiVersion": str(DEFINITIONS.gv),
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "toys.example.org"},
        "spec": {
            "group": TOYS.group,
            "scope": "Namespaced",
            "names": {"plural": "toys", "singular": "toy", "kind": "Toy"},
            "versions": [version],
        },
    }


def test_what_is_known_and_not_served_keeps_it_until_somebody_says_otherwise() -> None:
    """An administrator may finalize a namespace by hand, as upstream; the controller does not."""

    async def main() -> None:
        async with objects() as o:
            definitions = o.of(DEFINITIONS, namespaced=False)
            await definitions.create(_toys(served=True))
            toy = {"apiVersion": str(TOYS.gv), "kind": "Toy", "metadata": {"namespace": "doomed", "name": "one"}}
            await o.of(TOYS).create(toy)
            await definitions.patch(Key("", "toys.example.org"), _toys(served=False), PatchType.MERGE)
            await o.namespaces.delete(Key("", "doomed"))

            async def explained() -> bool:
                obj = await namespace(o)
                assert obj is not None
                status, _, message = conditions(obj).get("NamespaceDeletionContentFailure", ("", "", ""))
                return status == "True" and "toys.example.org (1)" in message

            await until(explained)
            obj = await namespace(o)
            assert obj is not None
            obj["spec"]["finalizers"] = []
            await o.namespaces.update(obj, subresource="finalize")
            assert await namespace(o) is None

    run(main())
