"""Through either of two servers everything is served that one of them serves."""

from __future__ import annotations

from pathlib import Path

import pytest

from controlplane.apimachinery.identity import GVR, Key
from controlplane.client.resources import PatchType, ResourceClient
from tests.aio import run
from tests.integration.peerproxy.fleet import AGGREGATED, fleet, json_of
from tests.integration.peerproxy.kinds import BETA_WIDGETS, GADGETS, WIDGETS

KINDS = ((WIDGETS, "Widget"), (BETA_WIDGETS, "Widget"), (GADGETS, "Gadget"))
FORMS = (
    *((path, AGGREGATED) for path in ("/api", "/apis")),
    *(
        (path, "application/json")
        for path in (
            *("/api", "/apis", "/apis/factory.example.org", "/apis/tools.example.org", "/api/v1"),
            *(f"/apis/{gvr.gv}" for gvr, _ in KINDS),
        )
    ),
)


@pytest.mark.parametrize("through", ["a", "b"])
def test_every_verb_works_through_either(through: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with fleet(tmp_path) as (_, planes):
            for gvr, kind in KINDS:
                await use(ResourceClient(planes[through].client(), gvr, namespaced=True), gvr, kind)

    run(main())


async def use(client: ResourceClient, gvr: GVR, kind: str) -> None:
    one = Key("default", "one")
    listed = await client.list("default")
    assert listed.items == []
    async with client.watch("default", resource_version=listed.resource_version) as events:
        described = {
            "apiVersion": str(gvr.gv),
            "kind": kind,
            "metadata": {"name": "one", "namespace": "default"},
        }
        created = await client.create({**described, "spec": {"color": "red"}})
        assert created["metadata"]["uid"]
        patched = await client.patch(one, {"spec": {"color": "blue"}}, PatchType.MERGE)
        assert patched["spec"] == {"color": "blue"}
        replaced = await client.update({**patched, "spec": {"color": "green"}})
        assert replaced["spec"] == {"color": "green"}
        assert (await client.get(one))["spec"] == {"color": "green"}
        assert len((await client.list("default")).items) == 1
        await client.delete(one)
        seen = [await anext(events) for _ in range(4)]
    assert [event.type for event in seen] == ["ADDED", "MODIFIED", "MODIFIED", "DELETED"]
    assert {event.object["apiVersion"] for event in seen} == {str(gvr.gv)}
    await client.delete_collection("default")


def test_discovery_of_both_is_the_same_in_every_form(tmp_path: Path) -> None:
    async def main() -> None:
        async with fleet(tmp_path) as (_, planes):
            a, b = planes["a"].client(), planes["b"].client()
            for path, accept in FORMS:
                first, second = await json_of(a, path, accept), await json_of(b, path, accept)
                first.pop("serverAddressByClientCIDRs", None)
                second.pop("serverAddressByClientCIDRs", None)
                assert first == second, path
            groups = {group["metadata"]["name"] for group in (await json_of(a, "/apis", AGGREGATED))["items"]}
            assert {"factory.example.org", "tools.example.org"} <= groups
            own = {g["metadata"]["name"] for g in (await json_of(a, "/apis", f"{AGGREGATED};profile=nopeer"))["items"]}
            assert groups - own == {"tools.example.org"}

    run(main())
