import json

import pytest

from controlplane.apimachinery.resource import Resource
from controlplane.apis.coordination.leases import LEASES
from controlplane.apis.core.configmaps import CONFIGMAPS
from controlplane.apis.core.namespaces import NAMESPACES
from controlplane.apiserver.discovery.resources import storage_version_hash
from controlplane.apiserver.registry.table import build_table
from tests.aio import run
from tests.unit.apiserver.plane import Answer, Plane, running_plane

FEW = (NAMESPACES, CONFIGMAPS, LEASES)
V2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def ask(path: str, accept: str = "application/json", *, resources: tuple[Resource, ...] = FEW) -> Answer:
    async def scenario() -> Answer:
        async with running_plane(resources) as plane:
            return await plane.call("GET", path, headers={"Accept": accept})

    return run(scenario())


def test_the_core_group_lists_its_versions_and_where_the_server_is() -> None:
    assert ask("/api").body == {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:6443"}],
    }


def test_the_core_version_lists_its_resources_with_their_subresources_and_no_api_version() -> None:
    body = ask("/api/v1").body
    assert list(body) == ["kind", "groupVersion", "resources"]
    assert [entry["name"] for entry in body["resources"]] == [
        "configmaps",
        "namespaces",
        "namespaces/finalize",
        "namespaces/status",
    ]
    assert body["resources"][1] == {
        "name": "namespaces",
        "singularName": "namespace",
        "namespaced": False,
        "kind": "Namespace",
        "verbs": ["create", "delete", "get", "list", "patch", "update", "watch"],
        "shortNames": ["ns"],
        "storageVersionHash": "Q3oi5N2YM8M=",
    }


def test_the_storage_version_hash_is_upstreams() -> None:
    assert storage_version_hash(CONFIGMAPS) == "qFsyl6wFWjQ="


@pytest.mark.parametrize("path", ["/apis/coordination.k8s.io", "/apis/coordination.k8s.io/"])
def test_a_group_names_its_versions_and_the_preferred_one(path: str) -> None:
    version = {"groupVersion": "coordination.k8s.io/v1", "version": "v1"}
    assert ask(path).body == {
        "kind": "APIGroup",
        "apiVersion": "v1",
        "name": "coordination.k8s.io",
        "versions": [version],
        "preferredVersion": version,
    }


def test_the_list_of_groups_leaves_out_the_core() -> None:
    body = ask("/apis/").body
    assert (body["kind"], body["apiVersion"]) == ("APIGroupList", "v1")
    assert [group["name"] for group in body["groups"]] == ["coordination.k8s.io"]


@pytest.mark.parametrize("path", ["/apis/none.io", "/apis/none.io/v1", "/apis/v1", "/nothing/here"])
def test_groups_and_paths_that_nobody_serves_are_no_status(path: str) -> None:
    answer = ask(path)
    assert (answer.status, answer.raw) == (404, b"404 page not found\n")


@pytest.mark.parametrize("path", ["/api/v2", "/apis/coordination.k8s.io/v9"])
def test_versions_that_a_group_does_not_have_are_a_status(path: str) -> None:
    answer = ask(path)
    assert (answer.status, answer.message) == (404, "the server could not find the requested resource")


def test_without_a_core_group_there_is_no_api() -> None:
    assert ask("/api", resources=tuple(r for r in FEW if r.group)).raw == b"404 page not found\n"


def test_other_methods_are_405_and_other_types_406() -> None:
    async def scenario() -> None:
        async with running_plane(FEW) as plane:
            assert (await plane.call("POST", "/api")).status == 405
            assert (await plane.call("POST", "/apis")).status == 200, "no route there says which methods it has"
            assert (await plane.call("GET", "/api/v1", headers={"Accept": "text/html"})).status == 406

    run(scenario())


@pytest.mark.parametrize(
    "accept",
    [
        pytest.param(V2, id="alone"),
        pytest.param(f"{V2},application/json", id="first"),
        pytest.param(f"application/json,{V2}", id="last: plain JSON does not win over it"),
    ],
)
def test_a_client_that_knows_the_aggregated_document_gets_it(accept: str) -> None:
    answer = ask("/apis", accept)
    assert answer.response.content_type == V2
    headers = dict(answer.response.headers)
    assert headers["Cache-Control"] == "public"
    assert headers["Vary"] == "Accept"
    resource = answer.body["items"][0]["versions"][0]["resources"][0]
    assert resource["resource"] == "leases"
    assert resource["responseKind"] == {"group": "", "version": "", "kind": "Lease"}
    assert (resource["scope"], resource["singularResource"]) == ("Namespaced", "lease")


def test_the_aggregated_core_has_a_group_without_a_name() -> None:
    item = ask("/api", V2).body["items"][0]
    assert item["metadata"] == {}
    namespaces = item["versions"][0]["resources"][1]
    assert [s["subresource"] for s in namespaces["subresources"]] == ["finalize", "status"]


def test_an_aggregated_version_that_is_not_spoken_is_406() -> None:
    assert ask("/api", V2.replace("v=v2", "v=v9")).status == 406


def test_an_aggregated_document_that_the_client_has_is_304_with_nothing_in_it() -> None:
    async def scenario() -> None:
        async with running_plane(FEW) as plane:
            first = await plane.call("GET", "/apis", headers={"Accept": V2})
            etag = dict(first.response.headers)["ETag"]
            again = await plane.call("GET", "/apis", headers={"Accept": V2, "If-None-Match": etag})
            assert (again.status, again.raw) == (304, b"")

    run(scenario())


async def _etag(plane: Plane) -> str:
    answer = await plane.call("GET", "/api", headers={"Accept": V2})
    return dict(answer.response.headers)["ETag"]


def test_a_new_table_is_in_all_documents_at_once_and_changes_the_etag() -> None:
    async def scenario() -> None:
        async with running_plane(FEW) as plane:
            before = await _etag(plane)
            plane.tables.swap(build_table([(CONFIGMAPS, plane.mirror.storage(CONFIGMAPS))]))
            assert await _etag(plane) != before
            assert (await plane.call("GET", "/apis")).body["groups"] == []
            assert plane.discovery.paths() == ["/apis", "/api", "/api/v1"]

    run(scenario())


def test_documents_are_also_to_be_had_indented_and_as_yaml() -> None:
    async def scenario() -> None:
        async with running_plane(FEW) as plane:
            indented = await plane.call("GET", "/apis", headers={"User-Agent": "curl/8"})
            assert indented.raw == json.dumps(indented.body, indent=2).encode()
            yaml = await plane.call("GET", "/apis", headers={"Accept": "application/yaml"})
            assert yaml.raw.startswith(b"apiVersion: v1\n")

    run(scenario())
