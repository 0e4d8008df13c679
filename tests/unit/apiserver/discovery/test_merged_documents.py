"""Two servers' tables, each with what the other says: their documents are the same, whichever form is asked for."""

from dataclasses import replace
from typing import Any

import pytest

from controlplane.apimachinery.identity import GroupVersion
from controlplane.apimachinery.resource import Resource
from controlplane.apis.coordination.leases import LEASES
from controlplane.apis.core.configmaps import CONFIGMAPS
from controlplane.apis.core.namespaces import NAMESPACES
from controlplane.apis.core.secrets import SECRETS
from controlplane.apiserver.discovery.documents import Documents
from controlplane.apiserver.discovery.handler import Discovery
from controlplane.apiserver.discovery.merged_documents import MergedDocuments
from controlplane.apiserver.registry.peers import FROM_PEER, Elsewhere, PeerResources
from controlplane.apiserver.registry.table import ResourceTable, TableHolder, build_table
from controlplane.client.request import Request, Response
from controlplane.storage.cache.mirror import Mirror
from controlplane.storage.kv.backends import open_kv
from tests.aio import run

ADDRESS = "127.0.0.1:6443"
V2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
LEASES_WITHOUT_WATCH = replace(
    LEASES, verbs=tuple(verb for verb in LEASES.verbs if verb != "watch"), short_names=("le",)
)


def nobody(_: Request) -> None:
    return None


def table_of(*resources: Resource) -> ResourceTable:
    async def made() -> ResourceTable:
        kv = await open_kv("memory:")
        mirror = Mirror(kv)
        table = build_table([(resource, mirror.storage(resource)) for resource in resources])
        await mirror.close()
        await kv.close()
        return table

    return run(made())


def said_by(table: ResourceTable, *gvs: GroupVersion) -> PeerResources:
    own = Documents(table, ADDRESS)
    lists = {gv: own.version(*gv) for gv in gvs}
    legacy = {gv: {entry["name"]: entry for entry in one["resources"]} for gv, one in lists.items() if one is not None}
    return PeerResources.of(tuple(own.described), legacy=legacy)


def seen_from(own_id: str, *, whole: bool = True, **tables: ResourceTable) -> ResourceTable:
    gvs = [GroupVersion("", "v1"), GroupVersion("coordination.k8s.io", "v1")]
    servers = {id_: said_by(table, *gvs) for id_, table in tables.items() if id_ != own_id}
    elsewhere = Elsewhere(own_id=own_id, servers=servers, answer=nobody, whole=whole)
    return tables[own_id].with_elsewhere(elsewhere)


def documents(table: ResourceTable) -> MergedDocuments:
    assert table.elsewhere is not None
    return MergedDocuments(Documents(table, ADDRESS), table.elsewhere)


A = table_of(NAMESPACES, CONFIGMAPS, SECRETS, LEASES)
B = table_of(NAMESPACES, CONFIGMAPS, LEASES_WITHOUT_WATCH)


@pytest.mark.parametrize(
    "form",
    [
        pytest.param(lambda d: d.core, id="/api"),
        pytest.param(lambda d: d.groups, id="/apis"),
        pytest.param(lambda d: d.group("coordination.k8s.io"), id="a group"),
        pytest.param(lambda d: d.version("", "v1"), id="a version of which one server has more"),
        pytest.param(lambda d: d.version("coordination.k8s.io", "v1"), id="a version in which one server does more"),
        pytest.param(lambda d: d.aggregated_core.value, id="aggregated core"),
        pytest.param(lambda d: d.aggregated_groups.value, id="aggregated groups"),
        pytest.param(lambda d: d.aggregated_groups.etag, id="its tag"),
        pytest.param(lambda d: d.paths(), id="paths"),
    ],
)
def test_both_servers_show_the_same(form: Any) -> None:
    assert form(documents(seen_from("a", a=A, b=B))) == form(documents(seen_from("b", a=A, b=B)))


def test_legacy_lists_have_the_entries_of_all_with_their_hashes_and_all_verbs() -> None:
    seen = documents(seen_from("b", a=A, b=B))
    core, leases = seen.version("", "v1"), seen.version("coordination.k8s.io", "v1")
    assert core is not None
    assert leases is not None
    secrets = next(entry for entry in core["resources"] if entry["name"] == "secrets")
    assert secrets["storageVersionHash"]
    assert "watch" in leases["resources"][0]["verbs"]
    assert "shortNames" not in leases["resources"][0], "the first server's entry counts"


def test_an_entry_that_is_known_from_aggregated_discovery_alone_says_what_that_says() -> None:
    without_lists = said_by(A)
    elsewhere = Elsewhere(own_id="b", servers={"a": without_lists}, answer=nobody)
    core = documents(B.with_elsewhere(elsewhere)).version("", "v1")
    assert core is not None
    assert next(entry for entry in core["resources"] if entry["name"] == "secrets") == {
        "name": "secrets",
        "singularName": "secret",
        "namespaced": True,
        "kind": "Secret",
        "verbs": sorted(SECRETS.verbs),
    }


def ask(table: ResourceTable, path: str, accept: str, *, from_peer: bool = False) -> Response:
    request = Request("GET", path, headers={"Accept": accept})
    if from_peer:
        request.values[FROM_PEER] = True
    response = Discovery(TableHolder(table, complete=True), lambda: ADDRESS).handle(request)
    assert response is not None
    return response


@pytest.mark.parametrize("accept", ["application/json", f"{V2},application/json"])
@pytest.mark.parametrize("path", ["/api", "/apis", "/api/v1"])
def test_a_peer_is_shown_this_servers_own(path: str, accept: str) -> None:
    merged = ask(seen_from("b", a=A, b=B), path, accept, from_peer=True)
    assert merged.content() == ask(B, path, accept).content()


def test_the_profile_nopeer_shows_this_servers_own_and_has_its_tag() -> None:
    seen = seen_from("b", a=table_of(NAMESPACES, LEASES), b=table_of(NAMESPACES, LEASES_WITHOUT_WATCH))
    merged, own = ask(seen, "/apis", V2), ask(seen, "/apis", f"{V2};profile=nopeer")
    assert own.content() == ask(table_of(NAMESPACES, LEASES_WITHOUT_WATCH), "/apis", V2).content()
    assert merged.content() != own.content()
    assert dict(merged.headers)["ETag"] != dict(own.headers)["ETag"]


def test_without_the_whole_only_aggregated_groups_are_merged() -> None:
    seen = seen_from("b", whole=False, a=A, b=B)
    for path, accept in (("/api", V2), ("/api/v1", "application/json"), ("/apis", "application/json")):
        assert ask(seen, path, accept).content() == ask(B, path, accept).content()
    assert b'"watch"' in ask(seen, "/apis", V2).content()
