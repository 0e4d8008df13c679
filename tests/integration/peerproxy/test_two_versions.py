"""Through either of two servers everything is served that one of them serves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from controlplane.apimachinery.identity import GVR, Key
from controlplane.client.loopback import LoopbackClient
from controlplane.client.resources import PatchType, ResourceClient
from controlplane.generic.config import Config
from controlplane.generic.declare import Version, declare
from controlplane.peerproxy.config import PeerProxyConfig
from controlplane.peerproxy.source import peer_source
from controlplane.testing.fleet import fleet as kit
from controlplane.testing.planes import Plane
from tests.aio import run
from tests.integration.peerproxy.fleet import AGGREGATED, Fleet, eventually, fleet, heard, impatient, json_of
from tests.integration.peerproxy.kinds import BETA_WIDGETS, GADGETS, WIDGETS, serve_a, serve_b
from tests.processes import free_port

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


def test_servers_that_store_in_different_versions_show_one_list(tmp_path: Path) -> None:
    """Which says in which of them an object is stored, and is all that tells the servers apart."""

    def stored_as(version: str) -> Callable[[Config], None]:
        versions = [Version(name=name, schema={"type": "object"}) for name in ("v1", "v2")]
        return lambda config: config.declared.append(
            declare("Bolt", group="parts.example.org", versions=versions, storage_version=version)
        )

    async def main() -> None:
        async with fleet(tmp_path, "b") as (made, _):
            await made.stop("b")
            planes = [await made.start(version, stored_as(version)) for version in ("v1", "v2")]
            for plane in planes:
                await heard(plane, 1)
            for path in ("/apis/parts.example.org/v1", "/apis/parts.example.org/v2"):
                first, second = [await json_of(plane.client(), path) for plane in planes]
                assert first == second
            own = [await json_of(plane.client(), "/apis", f"{AGGREGATED};profile=nopeer") for plane in planes]
            assert own[0] == own[1], "by the aggregated form nobody could tell"

    run(main())


PROTOBUF = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"
V2_PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"


async def exact(client: LoopbackClient, path: str, accept: str) -> tuple[str, bytes]:
    """A document's ETag and bytes."""
    response = await client.request("GET", path, headers={"Accept": accept})
    assert (response.status, response.content_type) == (200, accept), path
    return dict(response.headers)["Etag"], response.content()


def test_openapi_of_both_has_what_either_serves(tmp_path: Path) -> None:
    async def main() -> None:
        async with fleet(tmp_path) as (_, planes):
            clients = [plane.client() for plane in planes.values()]

            async def roots() -> list[Any] | None:
                found = [(await json_of(client, "/openapi/v3"))["paths"] for client in clients]
                return found if found[0].keys() == found[1].keys() else None

            first, second = await eventually(roots, seconds=30)
            assert {f"apis/{gvr.gv}" for gvr, _ in KINDS} | {"apis/tools.example.org"} <= first.keys()
            assert first == second, "though each declares other versions of one kind"
            for path in (*(f"/openapi/v3/{key}" for key in first), "/openapi/v2"):
                for accept in ("application/json", V2_PROTOBUF if path == "/openapi/v2" else PROTOBUF):
                    assert len({await exact(client, path, accept) for client in clients}) == 1, (path, accept)
            for client in clients:
                swagger = await json_of(client, "/openapi/v2")
                for gvr, kind in KINDS:
                    path = f"/apis/{gvr.gv}/namespaces/{{namespace}}/{gvr.resource}"
                    document = await json_of(client, f"/openapi/v3/apis/{gvr.gv}")
                    assert path in document["paths"]
                    assert path in swagger["paths"]
                    named = [name for name in document["components"]["schemas"] if name.endswith(f".{kind}")]
                    assert len(named) == 1
                    assert named[0] in swagger["definitions"]
                    assert not [name for name in document["components"]["schemas"] if name.endswith("_v2")]
                    protobuf = await client.request("GET", f"/openapi/v3/apis/{gvr.gv}", headers={"Accept": PROTOBUF})
                    assert (protobuf.status, protobuf.content_type) == (200, PROTOBUF)
                assert not [name for name in swagger["definitions"] if name.endswith("_v2")]

    run(main())


def test_a_version_of_which_each_serves_a_part_is_one_document(tmp_path: Path) -> None:
    async def main() -> None:
        async with fleet(tmp_path, "b") as (made, planes):

            def without_secrets(config: Config) -> None:
                config.resources = [resource for resource in config.resources if resource.plural != "secrets"]

            part = await made.start("part", without_secrets)
            await heard(part, 1)
            await heard(planes["b"], 1)
            for plane in (part, planes["b"]):

                async def complete(plane: Plane = plane) -> bool:
                    document = await json_of(plane.client(), "/openapi/v3/api/v1")
                    paths = document["paths"].keys()
                    both = {"/api/v1/namespaces/{namespace}/secrets", "/api/v1/namespaces/{namespace}/configmaps"}
                    return both <= paths and "io.k8s.api.core.v1.Secret" in document["components"]["schemas"]

                assert await eventually(complete, seconds=30)

            async def same() -> bool:  # once "b", which has all of it from the start, has heard "part"'s, too
                roots = [await json_of(plane.client(), "/openapi/v3") for plane in (part, planes["b"])]
                return bool(roots[0]["paths"]["api/v1"] == roots[1]["paths"]["api/v1"])

            assert await eventually(same)

    run(main())


def test_what_servers_say_differently_of_one_version_all_show_alike(tmp_path: Path) -> None:
    """Of two schemas of one kind one counts on all; else one ETag would be that of two documents."""

    def serving(field: str, *kinds: str) -> Callable[[Config], None]:
        schema = {
            "type": "object",
            "properties": {"spec": {"type": "object", "properties": {field: {"type": "string"}}}},
        }

        def configure(config: Config) -> None:
            config.declared += [
                declare(kind, group="shop.example.org", versions=Version(name="v1", schema=schema)) for kind in kinds
            ]

        return configure

    async def main() -> None:
        async with kit({"a": serving("old", "Lamp", "Sofa"), "b": serving("new", "Lamp", "Desk")}) as servers:
            clients = [plane.client() for plane in servers.servers.values()]
            path = "/openapi/v3/apis/shop.example.org/v1"

            async def complete() -> bool:
                documents = [(await json_of(client, path))["components"]["schemas"] for client in clients]
                names = {f"org.example.shop.v1.{kind}" for kind in ("Lamp", "Sofa", "Desk")}
                return all(names <= document.keys() for document in documents)

            await eventually(complete, seconds=30)
            for accept in ("application/json", PROTOBUF):
                assert len({await exact(client, path, accept) for client in clients}) == 1, accept
            swaggers = {await exact(client, "/openapi/v2", "application/json") for client in clients}
            assert len(swaggers) == 1
            document = await json_of(clients[0], path)
            assert not [name for name in document["components"]["schemas"] if name.endswith("_v2")]

    run(main())


def test_peers_can_be_listened_for_at_an_address_of_their_own(tmp_path: Path) -> None:
    async def main() -> None:
        async with fleet(tmp_path, "b") as (made, _):
            port = free_port()

            def apart(made: Fleet, config: Config) -> None:
                made.peered(config, bind_address=f"127.0.0.1:{port}")

            b2 = await made.start("b2", serve_b, change=apart)
            await made.stop("b")
            a = await made.start("a", serve_a)
            await heard(a, 1)
            record = a.control_plane.presence.records.peers[b2.control_plane.presence.server.id]
            assert (record.host, record.port) == ("127.0.0.1", port)
            assert (await ResourceClient(impatient(a), GADGETS, namespaced=True).list("default")).items == []

    run(main())


def test_a_peer_gets_a_bounded_number_of_requests(tmp_path: Path) -> None:
    async def main() -> None:
        async with fleet(tmp_path, "b") as (made, _):

            def no_watches(made: Fleet, config: Config) -> None:
                made.peered(config)
                source = PeerProxyConfig(
                    ca_file=str(made.files.certs / "serving-ca.crt"),
                    proxy_cert_file=str(made.files.proxy_cert),
                    proxy_key_file=str(made.files.proxy_key),
                    streams=1,
                )
                config.sources[-1] = peer_source(source)

            a = await made.start("a", serve_a, change=no_watches)
            await heard(a, 1)
            gadgets = ResourceClient(impatient(a), GADGETS, namespaced=True)
            one = {"apiVersion": str(GADGETS.gv), "kind": "Gadget", "metadata": {"name": "one", "namespace": "default"}}
            await gadgets.create(one)
            async with gadgets.watch("default") as events:
                assert (await anext(events)).type == "ADDED"
                response = await impatient(a).request("GET", f"/apis/{GADGETS.gv}/gadgets", query=[("watch", "true")])
                assert (response.status, dict(response.headers)["Retry-After"]) == (429, "1")
                assert len((await gadgets.list("default")).items) == 1, "other requests are not held up"

    run(main())
