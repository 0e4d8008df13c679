"""Custom resources among servers that show what each other serves: they come and go with their definitions."""

from __future__ import annotations

import json
from pathlib import Path

from controlplane.apimachinery.identity import Obj
from tests.aio import run
from tests.integration.peerproxy.fleet import AGGREGATED, eventually, fleet, heard, impatient, json_of
from tests.integration.peerproxy.kinds import GADGETS, serve_a
from tests.integration.peerproxy.test_api_services import without_custom_resources

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
BOLTS = "/apis/parts.example.org/v1/bolts"
DEFINITION: Obj = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "bolts.parts.example.org"},
    "spec": {
        "group": "parts.example.org",
        "scope": "Cluster",
        "names": {"plural": "bolts", "singular": "bolt", "kind": "Bolt", "listKind": "BoltList"},
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        ],
    },
}


def test_a_custom_resource_that_a_peer_was_heard_with_goes_with_its_definition(tmp_path: Path) -> None:
    async def main() -> None:
        async with fleet(tmp_path, "b") as (made, planes):
            b = planes["b"].client()
            created = await b.request("POST", DEFINITIONS, body=json.dumps(DEFINITION).encode())
            assert created.status == 201
            a = await made.start("a", serve_a)
            await heard(a, 1)
            assert (await impatient(a).request("GET", BOLTS)).status == 200
            shown = await json_of(impatient(a), "/apis", AGGREGATED)
            assert shown == await json_of(b, "/apis", AGGREGATED), "groups that one knows alone leave the order alike"
            deleted = await b.request("DELETE", f"{DEFINITIONS}/bolts.parts.example.org")
            assert deleted.status == 200

            async def gone() -> bool:
                return (await a.client().request("GET", f"{DEFINITIONS}/bolts.parts.example.org")).status == 404

            await eventually(gone)
            assert (await impatient(a).request("GET", BOLTS)).status == 404
            shown = await json_of(impatient(a), "/apis", AGGREGATED)
            assert "parts.example.org" not in {group["metadata"]["name"] for group in shown["items"]}
            assert shown == await json_of(b, "/apis", AGGREGATED)

    run(main())


def test_a_server_that_knows_no_definitions_hears_what_comes_and_goes(tmp_path: Path) -> None:
    async def main() -> None:
        async with fleet(tmp_path, "b") as (made, planes):
            a = impatient(await made.start("a", serve_a, without_custom_resources))
            b = planes["b"].client()

            async def answered(status: int) -> bool:
                return (await a.request("GET", BOLTS)).status == status

            await eventually(lambda: answered(404))
            for _ in range(2):
                assert (await b.request("POST", DEFINITIONS, body=json.dumps(DEFINITION).encode())).status == 201
                await eventually(lambda: answered(200))
                assert "parts.example.org" in {group["name"] for group in (await json_of(a, "/apis"))["groups"]}
                assert (await b.request("DELETE", f"{DEFINITIONS}/bolts.parts.example.org")).status == 200
                await eventually(lambda: answered(404))

    run(main())


def test_what_a_peer_was_asked_for_is_everybodys_once_it_is_defined(tmp_path: Path) -> None:
    """Whatever is remembered of the way to the peer, and though its definition serves nothing."""

    async def main() -> None:
        async with fleet(tmp_path) as (_, planes):
            a, path = planes["a"], f"/apis/{GADGETS.gv}/gadgets"
            for _ in range(2):
                assert (await impatient(a).request("GET", path)).status == 200
            names = {"plural": GADGETS.resource, "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"}
            versions = [{**DEFINITION["spec"]["versions"][0], "name": "v2", "served": False}]
            definition = {
                **DEFINITION,
                "metadata": {"name": f"{GADGETS.resource}.{GADGETS.group}"},
                "spec": {**DEFINITION["spec"], "group": GADGETS.group, "names": names, "versions": versions},
            }
            created = await a.client().request("POST", DEFINITIONS, body=json.dumps(definition).encode())
            assert created.status == 201, created.content()
            assert (await impatient(a).request("GET", path)).status == 404

    run(main())
