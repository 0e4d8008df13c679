from __future__ import annotations

import json
import subprocess
import sys
from email.utils import formatdate

import pytest

from controlplane.apimachinery.status import APIError
from controlplane.apis.builtin import BUILTIN
from controlplane.apiserver.openapi.handler import OpenAPI
from controlplane.apiserver.registry.table import build_table
from controlplane.client.request import Request, Response
from controlplane.testing.clock import DEFAULT_START, FakeClock
from tests.aio import run
from tests.unit.apiserver.openapi.published import PRODUCT, WIDGETS, ask, get, get_json, serving, widgets

PATHS = ["/openapi/v3", "/openapi/v3/api/v1", "/openapi/v2"]
V2 = "application/com.github.proto-openapi.spec.v2"
V3 = "application/com.github.proto-openapi.spec.v3"


def header(answer: Response, name: str) -> str | None:
    found = [value for key, value in answer.headers if key == name]
    assert len(found) <= 1
    return found[0] if found else None


@pytest.mark.parametrize("path", PATHS)
def test_who_has_a_document_already_is_told_so(path: str) -> None:
    first = ask(path)
    etag = header(first, "Etag")
    assert etag is not None
    assert etag.strip('"').isalnum()
    assert header(first, "Last-Modified") == formatdate(DEFAULT_START, usegmt=True)
    for tag in (etag, f"W/{etag}", f'"x", {etag}', "*"):
        again = ask(path, headers={"If-None-Match": tag})
        assert (again.status, again.content(), header(again, "Etag")) == (304, b"", etag)
    assert ask(path, headers={"If-None-Match": '"x"'}).status == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"If-Modified-Since": formatdate(DEFAULT_START, usegmt=True)}, 304),
        ({"If-Modified-Since": formatdate(DEFAULT_START - 1, usegmt=True)}, 200),
        ({"If-Modified-Since": "yesterday"}, 200),
        ({"If-Modified-Since": formatdate(DEFAULT_START, usegmt=True), "If-None-Match": '"x"'}, 200),
    ],
    ids=["not since", "since", "no date", "the tag decides"],
)
def test_a_time_decides_where_there_is_no_tag(headers: dict[str, str], status: int) -> None:
    assert ask("/openapi/v2", headers=headers).status == status


def test_a_document_asked_for_by_its_hash_may_be_kept() -> None:
    url = get_json("/openapi/v3")["paths"]["api/v1"]["serverRelativeURL"]
    answer = ask(url)
    assert answer.status == 200
    assert header(answer, "Cache-Control") == "public, immutable"
    assert header(answer, "Expires") == formatdate(DEFAULT_START + 365 * 24 * 3600, usegmt=True)
    assert header(answer, "Vary") == "Accept"
    assert header(answer, "Etag") == '"' + url.partition("hash=")[2] + '"'
    assert header(ask("/openapi/v3/api/v1"), "Cache-Control") is None


def test_a_document_asked_for_by_an_old_hash_is_elsewhere() -> None:
    answer = ask("/openapi/v3/api/v1?hash=0")
    assert answer.status == 301
    assert header(answer, "Location") == get_json("/openapi/v3")["paths"]["api/v1"]["serverRelativeURL"]


@pytest.mark.parametrize("key", ["apis/nobody/v1", "api/v2", "nothing", ""])
def test_what_nobody_serves_is_not_found(key: str) -> None:
    assert ask(f"/openapi/v3/{key}").status == 404


def test_a_document_is_looked_for_when_the_server_has_caught_up() -> None:
    async def scenario() -> None:
        async with serving(*BUILTIN) as (tables, _, mirror):
            path = "/openapi/v3/apis/shop.example.com/v1"

            async def catch_up(_request: Request) -> bool:
                resources = (*BUILTIN, WIDGETS)
                tables.swap(build_table((resource, mirror.storage(resource)) for resource in resources))
                return True

            openapi = OpenAPI(tables, product=PRODUCT, clock=FakeClock(), catch_up=catch_up)
            assert (await get(openapi, path)).status == 200

    run(scenario())


def test_what_may_be_served_elsewhere_is_unavailable_not_unknown() -> None:
    async def scenario() -> None:
        async with serving(*BUILTIN) as (tables, _, _):

            async def catch_up(_request: Request) -> bool:
                return False

            openapi = OpenAPI(tables, product=PRODUCT, clock=FakeClock(), catch_up=catch_up)
            with pytest.raises(APIError) as refused:
                await get(openapi, "/openapi/v3/apis/shop.example.com/v1")
            assert refused.value.code == 503
            for path in PATHS:
                assert (await get(openapi, path)).status == 200

    run(scenario())


@pytest.mark.parametrize(
    ("path", "accept", "content_type"),
    [
        ("/openapi/v2", "", "application/json"),
        ("/openapi/v2", "*/*", "application/json"),
        ("/openapi/v2", "application/*", "application/json"),
        ("/openapi/v2", f"{V2}@v1.0+protobuf", f"{V2}.v1.0+protobuf"),
        ("/openapi/v2", f"{V2}.v1.0+protobuf, application/json;q=0.9", f"{V2}.v1.0+protobuf"),
        ("/openapi/v2", f"{V2}.v1.0+protobuf;q=0.5, application/json", "application/json"),
        ("/openapi/v3/api/v1", f"{V3}@v1.0+protobuf", f"{V3}.v1.0+protobuf"),
        ("/openapi/v3/api/v1", f"{V3}.v1.0+protobuf", f"{V3}.v1.0+protobuf"),
        ("/openapi/v3/api/v1", "text/plain, application/json", "application/json"),
        ("/openapi/v3", f"{V3}@v1.0+protobuf", "application/json"),
    ],
)
def test_documents_come_in_the_form_asked_for(path: str, accept: str, content_type: str) -> None:
    answer = ask(path, headers={"Accept": accept} if accept else None)
    assert (answer.status, answer.content_type) == (200, content_type)


@pytest.mark.parametrize(
    ("path", "accept"),
    [("/openapi/v2", "text/html"), ("/openapi/v2", f"{V3}@v1.0+protobuf"), ("/openapi/v3/api/v1", "application/yaml")],
)
def test_other_forms_are_not_acceptable(path: str, accept: str) -> None:
    answer = ask(path, headers={"Accept": accept})
    assert (answer.status, answer.content()) == (406, b"")


@pytest.mark.parametrize("path", PATHS)
def test_json_and_protobuf_have_one_tag(path: str) -> None:
    accept = f"{V2}@v1.0+protobuf, {V3}@v1.0+protobuf"
    assert header(ask(path), "Etag") == header(ask(path, headers={"Accept": accept}), "Etag")


def tags(product: str = "v1.36.0") -> list[str | None]:
    return [header(ask(path, *BUILTIN, WIDGETS, product=product), "Etag") for path in PATHS]


def test_hashes_are_equal_in_all_processes() -> None:
    code = "import json; from tests.unit.apiserver.openapi.test_handler import tags; print(json.dumps(tags()))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONHASHSEED": "7", **path_env()},
    )
    assert json.loads(done.stdout) == tags()


def path_env() -> dict[str, str]:
    return {"PYTHONPATH": ":".join(sys.path)}


def test_another_version_of_the_server_has_other_hashes() -> None:
    assert not set(tags()) & set(tags("v1.37.0"))


def test_a_change_of_one_resource_changes_its_own_hash_alone() -> None:
    before = get_json("/openapi/v3", *BUILTIN, WIDGETS)["paths"]
    after = get_json("/openapi/v3", *BUILTIN, widgets({"type": "object"}))["paths"]
    assert {key for key in before if before[key] != after[key]} == {"apis/shop.example.com/v1"}
    assert header(ask("/openapi/v2"), "Etag") != header(ask("/openapi/v2", *BUILTIN, widgets({})), "Etag")


def test_a_description_of_a_native_kind_counts() -> None:
    from dataclasses import replace

    from controlplane.apis.core.configmaps import CONFIGMAPS

    (version,) = CONFIGMAPS.versions
    changed = replace(CONFIGMAPS, versions=(replace(version, schema={**version.schema, "description": "Other."}),))
    before, after = (get_json("/openapi/v3", resource)["paths"] for resource in (CONFIGMAPS, changed))
    assert before["api/v1"] != after["api/v1"]


def test_an_aggregator_says_no_type_of_its_root_and_looks_for_a_document_first() -> None:
    async def scenario() -> None:
        async with serving() as (tables, _, _):
            openapi = OpenAPI(tables, product=PRODUCT, clock=FakeClock(), aggregated=True)
            root = await get(openapi, "/openapi/v3", {"Accept": "text/html"})
            assert (root.status, root.content_type) == (200, "text/plain; charset=utf-8")
            assert "apis" in json.loads(root.content())["paths"]
            unread = {"Accept": "text/html"}
            assert (await get(openapi, "/openapi/v3/apis/none.example.com/v1", unread)).status == 404
            assert (await get(openapi, "/openapi/v3/apis", unread)).status == 406

    run(scenario())
