import json

import pytest

from controlplane.client.request import Response
from controlplane.testing.clock import FakeClock
from tests.aio import run
from tests.unit.apiserver.plane import Plane, running_plane

PATH = "/api/v1/namespaces/ns/configmaps/a"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
METADATA = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"


async def _prepared(plane: Plane) -> Response:
    await plane.namespace()
    await plane.config_map("a", data={"k": "v"}, metadata={"labels": {"x": "y"}})
    return (await plane.call("GET", PATH)).response


def test_a_get_hands_out_the_kept_bytes_themselves() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            first = await _prepared(plane)
            again = await plane.call("GET", PATH)
            assert again.response.body is first.body

    run(scenario())


@pytest.mark.parametrize(
    ("query", "code", "message"),
    [
        pytest.param("resourceVersion=0", 200, "", id="any"),
        pytest.param("resourceVersion=1", 200, "", id="not older than"),
        pytest.param("resourceVersion=", 200, "", id="unset"),
        pytest.param(
            "resourceVersion=abc",
            500,
            'resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax',
            id="no number",
        ),
        pytest.param(
            "resourceVersion=18446744073709551616",
            500,
            'resourceVersion: Invalid value: "18446744073709551616": strconv.ParseUint: parsing '
            '"18446744073709551616": value out of range',
            id="too large a number",
        ),
        pytest.param(
            "export=true", 400, "the export parameter, deprecated since v1.14, is no longer supported", id="export"
        ),
        pytest.param("export=false", 200, "", id="no export"),
    ],
)
def test_a_get_takes_a_resource_version_as_a_lower_bound(query: str, code: int, message: str) -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await _prepared(plane)
            answer = await plane.call("GET", f"{PATH}?{query}")
            assert answer.status == code
            if message:
                assert answer.message == message

    run(scenario())


def test_a_missing_object_is_404_with_the_plural_the_group_and_the_name() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            answer = await plane.call("GET", "/apis/coordination.k8s.io/v1/namespaces/ns/leases/gone")
            assert answer.message == 'leases.coordination.k8s.io "gone" not found'
            assert answer.body["details"] == {"name": "gone", "group": "coordination.k8s.io", "kind": "leases"}

    run(scenario())


@pytest.mark.parametrize(
    ("query", "agent", "pretty"),
    [
        pytest.param("pretty=true", "tool", True, id="asked for"),
        pytest.param("", "curl/8.0", True, id="curl"),
        pytest.param("pretty=0", "curl/8.0", False, id="curl, not wanted"),
        pytest.param("pretty=", "tool", False, id="empty"),
        pytest.param("", "tool", False, id="by default"),
    ],
)
def test_people_get_indented_json(query: str, agent: str, pretty: bool) -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await _prepared(plane)
            answer = await plane.call("GET", f"{PATH}?{query}", headers={"User-Agent": agent})
            assert (b'\n  "metadata": {' in answer.raw) == pretty

    run(scenario())


def test_an_object_is_also_to_be_had_as_yaml() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await _prepared(plane)
            answer = await plane.call("GET", PATH, headers={"Accept": "application/yaml"})
            assert answer.response.content_type == "application/yaml"
            assert answer.raw.startswith(b"apiVersion: v1\ndata:\n  k: v\nkind: ConfigMap\n")

    run(scenario())


def test_an_object_is_also_to_be_had_as_its_metadata_alone() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            whole = json.loads((await _prepared(plane)).content())
            answer = await plane.call("GET", PATH, headers={"Accept": METADATA})
            assert answer.body == {
                "kind": "PartialObjectMetadata",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": whole["metadata"],
            }
            listed = METADATA.replace("Metadata;", "MetadataList;")
            assert (await plane.call("GET", PATH, headers={"Accept": listed})).status == 406

    run(scenario())


@pytest.mark.parametrize(
    ("include", "code", "shown"),
    [
        pytest.param("", 200, "PartialObjectMetadata", id="metadata by default"),
        pytest.param("Object", 200, "ConfigMap", id="the whole object"),
        pytest.param("None", 200, None, id="nothing"),
        pytest.param("Some", 400, None, id="what there is not"),
    ],
)
def test_a_table_holds_of_the_object_what_is_asked_for(include: str, code: int, shown: str | None) -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await _prepared(plane)
            answer = await plane.call("GET", f"{PATH}?includeObject={include}", headers={"Accept": TABLE})
            assert answer.status == code
            if code == 200:
                assert answer.body["kind"] == "Table"
                assert [column["name"] for column in answer.body["columnDefinitions"]] == ["Name", "Data", "Age"]
                (row,) = answer.body["rows"]
                assert row["cells"][0] == "a"
                assert (row["object"] or {}).get("kind") == shown

    run(scenario())


def test_a_table_tells_ages_at_the_time_it_is_made() -> None:
    async def scenario() -> None:
        clock = FakeClock()
        async with running_plane(clock=clock) as plane:
            await _prepared(plane)
            await clock.advance(5 * 60 + 7)
            answer = await plane.call("GET", PATH, headers={"Accept": TABLE})
            assert answer.body["rows"][0]["cells"] == ["a", 1, "5m7s"]

    run(scenario())


def test_writes_may_be_answered_as_tables_and_errors_stay_a_status() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await plane.namespace()
            collection = PATH.removesuffix("/a")
            body = {"metadata": {"name": "a"}}
            created = await plane.call("POST", collection, body, headers={"Accept": TABLE})
            assert (created.status, created.body["kind"]) == (201, "Table")
            again = await plane.call("POST", collection, body, headers={"Accept": TABLE})
            assert (again.status, again.body["kind"]) == (409, "Status")

    run(scenario())
