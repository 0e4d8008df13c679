"""What is in a store under keys that nobody serves, and whose it is."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from controlplane.apis.core.configmaps import CONFIGMAPS
from controlplane.base.tasks import cancel_and_wait
from controlplane.plugins.admission.unserved_objects import UnservedObjects
from controlplane.storage.kv.api import ABSENT
from tests.aio import run
from tests.mirrors import opened


def gadget(namespace: str = "", *owners: str) -> bytes:
    place = {"namespace": namespace} if namespace else {}
    references = {"ownerReferences": [{"uid": uid} for uid in owners]} if owners else {}
    return json.dumps({"apiVersion": "g/v1", "kind": "G", "metadata": {"name": "g", **place, **references}}).encode()


@pytest.mark.parametrize(
    ("key", "value", "namespaced", "owned"),
    [
        pytest.param("g/gadgets/ns/one", gadget("ns"), {"gadgets.g": 1}, {}, id="in the namespace"),
        pytest.param("gadgets/ns/one", gadget("ns", "u"), {"gadgets": 1}, {"gadgets": 1}, id="native, with an owner"),
        pytest.param("g/gadgets/other/one", gadget("other", "u"), {}, {"gadgets.g": 1}, id="in another namespace"),
        pytest.param("g/ns/one", gadget("", "u"), {}, {"ns.g": 1}, id="of no namespace, in a resource called like it"),
        pytest.param("g/gadgets/ns/one", b"k8s:enc:secret", {"gadgets.g": 1}, {}, id="not readable: by its key"),
        pytest.param("configmaps/ns/one", gadget("ns", "u"), {}, {}, id="served here"),
        pytest.param("controlplane/ns/one", b"x", {}, {}, id="a server's own"),
        pytest.param("peerserverleases/ns", b"{}", {}, {}, id="no object of a namespace"),
    ],
)
def test_objects_are_counted_where_they_lie(
    key: str, value: bytes, namespaced: dict[str, int], owned: dict[str, int]
) -> None:
    async def main() -> tuple[Any, Any]:
        async with opened() as (mirror, _):
            mirror.storage(CONFIGMAPS)
            await mirror.kv.put(mirror.prefix + key.encode(), value, expect=ABSENT)
            assert await mirror.fresh(None)
            content = UnservedObjects(mirror)
            assert await content.in_namespace("ns") == await content.in_namespace("ns")
            return dict(await content.in_namespace("ns")), dict(await content.owned_by("u"))

    assert run(main()) == (namespaced, owned)


def test_an_object_that_changes_or_goes_counts_anew() -> None:
    async def main() -> None:
        async with opened() as (mirror, _):
            content, key = UnservedObjects(mirror), mirror.prefix + b"g/gadgets/ns/one"
            first = await mirror.kv.put(key, gadget("ns", "u"), expect=ABSENT)
            assert await mirror.fresh(None)
            assert await content.owned_by("u")
            second = await mirror.kv.put(key, gadget("ns"), expect=first.revision)
            assert await mirror.fresh(None)
            assert (dict(await content.owned_by("u")), dict(await content.in_namespace("ns"))) == ({}, {"gadgets.g": 1})
            await mirror.kv.delete(key, expect=second.revision)
            assert await mirror.fresh(None)
            assert not await content.in_namespace("ns")

    run(main())


def test_as_many_as_another_server_serves_do_not_hold_the_loop() -> None:
    async def main() -> None:
        async with opened() as (mirror, _):
            for number in range(5000):
                key = f"g/gadgets/ns/{number}".encode()
                await mirror.kv.put(mirror.prefix + key, gadget("ns", "u"), expect=ABSENT)
            assert await mirror.fresh(None)
            content, turns = UnservedObjects(mirror), 0

            async def others() -> None:
                nonlocal turns
                while True:
                    turns += 1
                    await asyncio.sleep(0)

            task = asyncio.ensure_future(others())
            asked = asyncio.ensure_future(content.in_namespace("ns"))
            await asyncio.sleep(0)
            await cancel_and_wait([asked])  # whoever asks may go; it is not known then what has been looked at
            before = turns
            assert await content.in_namespace("ns") == {"gadgets.g": 5000}
            assert turns > before + 1
            assert await content.owned_by("u") == {"gadgets.g": 5000}
            await cancel_and_wait([task])

    run(main())
