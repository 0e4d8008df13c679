import asyncio
from time import perf_counter
from typing import Any

import pytest

from controlplane.storage.api import Freshness, ListResult, Match, Predicate
from controlplane.storage.errors import Compacted, Stale, StorageError, Unavailable, Unreadable
from tests.aio import run
from tests.unit.apiserver.plane import Plane, running_plane

ALL = "/api/v1/namespaces/ns/configmaps"
EVERYWHERE = "/api/v1/configmaps"


async def _prepared(plane: Plane, names: str = "abcde") -> None:
    await plane.namespace()
    for name in names:
        await plane.config_map(name, metadata={"labels": {"of": name}})


def _names(body: Any) -> list[str]:
    return [item["metadata"]["name"] for item in body["items"]]


def test_the_items_of_a_native_kind_carry_no_kind_and_the_list_its_own() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await _prepared(plane, "ab")
            body = (await plane.call("GET", ALL)).body
            assert (body["kind"], body["apiVersion"]) == ("ConfigMapList", "v1")
            assert _names(body) == ["a", "b"]
            assert all(item.keys() == {"metadata"} for item in body["items"])

    run(scenario())


def test_an_item_that_another_writer_stored_in_another_order_loses_its_kind_too() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await plane.namespace()
            value = b'{"metadata":{"name":"a","namespace":"ns"},"apiVersion":"v1","data":{"k":"v"},"kind":"ConfigMap"}'
            await plane.mirror.kv.put(b"/registry/configmaps/ns/a", value, expect=0)
            await plane.config_map("b")
            items = (await plane.call("GET", ALL)).body["items"]
            assert [item.keys() & {"kind", "apiVersion"} for item in items] == [set(), set()]
            assert items[0]["data"] == {"k": "v"}

    run(scenario())


def test_a_list_of_nothing_has_empty_items() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            body = (await plane.call("GET", "/api/v1/namespaces/none/configmaps")).body
            assert body["items"] == []
            assert body["metadata"].keys() == {"resourceVersion"}

    run(scenario())


def test_pages_show_one_state_and_say_what_remains() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await _prepared(plane)
            first = (await plane.call("GET", f"{ALL}?limit=2")).body
            assert first["metadata"]["remainingItemCount"] == 3
            await plane.call("DELETE", f"{ALL}/c")
            await plane.config_map("cc")
            second = (await plane.call("GET", f"{ALL}?limit=2&continue={first['metadata']['continue']}")).body
            assert _names(second) == ["c", "d"]
            assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
            third = (await plane.call("GET", f"{ALL}?limit=2&continue={second['metadata']['continue']}")).body
            assert _names(third) == ["e"]
            assert third["metadata"].keys() == {"resourceVersion"}

    run(scenario())


def test_pages_across_namespaces_go_on_where_they_ended() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            for namespace in ("n1", "n2"):
                await plane.namespace(namespace)
                for name in "ab":
                    await plane.config_map(name, namespace=namespace)
            found, token = [], ""
            while True:
                page = (await plane.call("GET", f"{EVERYWHERE}?limit=1&continue={token}")).body
                found += [(item["metadata"]["namespace"], item["metadata"]["name"]) for item in page["items"]]
                token = page["metadata"].get("continue", "")
                if not token:
                    break
            assert found == [("n1", "a"), ("n1", "b"), ("n2", "a"), ("n2", "b")]

    run(scenario())


def test_what_remains_is_not_told_where_a_selector_filters() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await _prepared(plane)
            meta = (await plane.call("GET", f"{ALL}?limit=2&labelSelector=of")).body["metadata"]
            assert "remainingItemCount" not in meta
            assert meta["continue"]

    run(scenario())


@pytest.mark.parametrize(
    ("query", "names"),
    [
        pytest.param("labelSelector=of%3Da", "a", id="a label"),
        pytest.param("labelSelector=of+notin+(a,b)", "cde", id="labels by set"),
        pytest.param("fieldSelector=metadata.name%3Db", "b", id="the name"),
        pytest.param("fieldSelector=metadata.name!%3Db,metadata.namespace%3Dns", "acde", id="not the name"),
        pytest.param("fieldSelector=metadata.namespace%3Delsewhere", "", id="another namespace"),
        pytest.param("limit=-1", "abcde", id="a negative limit is none"),
        pytest.param("limit=2&resourceVersion=0", "abcde", id="a limit counts for nothing at any version"),
        pytest.param("resourceVersion=2&resourceVersionMatch=NotOlderThan", "abcde", id="not older than"),
        pytest.param("resourceVersion=4&resourceVersionMatch=Exact", "ab", id="exactly"),
        pytest.param("resourceVersion=4&limit=9", "ab", id="exactly, because of a limit"),
    ],
)
def test_a_list_shows_what_is_selected(query: str, names: str) -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await _prepared(plane)
            assert _names((await plane.call("GET", f"{ALL}?{query}")).body) == list(names)

    run(scenario())


@pytest.mark.parametrize(
    ("path", "query", "message"),
    [
        pytest.param(ALL, "labelSelector=a%3Db%3Dc", "found '=', expected: ',' or 'end of string'", id="a label"),
        pytest.param(
            ALL,
            "fieldSelector=data.k%3Dv",
            '"data.k" is not a known field selector: only "metadata.name", "metadata.namespace"',
            id="a field",
        ),
        pytest.param(
            "/api/v1/namespaces",
            "fieldSelector=spec.x%3Dy",
            "field label not supported: spec.x",
            id="another kind's field",
        ),
        pytest.param(
            ALL,
            "resourceVersion=abc",
            'invalid resource version: resourceVersion: Invalid value: "abc": '
            'strconv.ParseUint: parsing "abc": invalid syntax',
            id="a resource version",
        ),
        pytest.param(
            ALL, "continue=garbage", "invalid continue token: continue key is not valid: ", id="a continue token"
        ),
    ],
)
def test_what_cannot_be_read_is_400_and_says_why(path: str, query: str, message: str) -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            answer = await plane.call("GET", f"{path}?{query}")
            assert answer.status == 400
            assert answer.message.startswith(message)

    run(scenario())


def test_a_continue_and_a_resource_version_exclude_each_other() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await _prepared(plane)
            token = (await plane.call("GET", f"{ALL}?limit=1")).body["metadata"]["continue"]
            answer = await plane.call("GET", f"{ALL}?continue={token}&resourceVersion=1")
            assert answer.message == "specifying resource version is not allowed when using continue"

    run(scenario())


def test_a_future_revision_is_504_and_to_be_tried_again() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            answer = await plane.call("GET", f"{ALL}?resourceVersion=999999999999")
            assert answer.status == 504
            assert answer.body["details"]["causes"] == [
                {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
            ]

    run(scenario())


class Failing:
    """A storage whose lists fail, all of them or those of an exact revision alone."""

    def __init__(self, storage: Any, error: StorageError, *, exact_only: bool = False) -> None:
        self._storage, self._error, self._exact_only = storage, error, exact_only

    def __getattr__(self, name: str) -> Any:
        return getattr(self._storage, name)

    async def list(self, namespace: str | None, predicate: Predicate, fresh: Freshness, **options: Any) -> ListResult:
        if self._exact_only and fresh.match is not Match.EXACT:
            result: ListResult = await self._storage.list(namespace, predicate, fresh, **options)
            return result
        raise self._error


def test_a_continue_of_a_forgotten_revision_is_410_with_a_token_that_goes_on_at_the_latest() -> None:
    def wrap(storage: Any) -> Failing:
        return Failing(storage, Compacted(1, 5), exact_only=True)

    async def scenario() -> None:
        async with running_plane(wrap=wrap) as plane:
            await _prepared(plane)
            old = (await plane.call("GET", f"{ALL}?limit=2")).body["metadata"]["continue"]
            refused = await plane.call("GET", f"{ALL}?limit=1&continue={old}")
            assert (refused.status, refused.body["reason"]) == (410, "Expired")
            assert refused.message.startswith("The provided continue parameter is too old to display a consistent list")
            token = refused.body["metadata"]["continue"]
            assert _names((await plane.call("GET", f"{ALL}?limit=1&continue={token}")).body) == ["c"]

    run(scenario())


@pytest.mark.parametrize(
    ("error", "code", "reason", "message"),
    [
        pytest.param(
            Compacted(3, 5), 410, "Expired", "The resourceVersion for the provided list is too old.", id="forgotten"
        ),
        pytest.param(Stale("behind"), 504, "Timeout", "Timeout: the list of ", id="not provably consistent"),
        pytest.param(Unavailable("gone"), 500, "ServerTimeout", "The list operation against ", id="out of reach"),
        pytest.param(
            Unreadable(b"k", "no key"), 500, "StorageReadError", "failed to read one or more ", id="unreadable"
        ),
    ],
)
def test_a_failure_of_storage_is_told_as_upstream_tells_it(
    error: StorageError, code: int, reason: str, message: str
) -> None:
    async def scenario() -> None:
        async with running_plane(wrap=lambda storage: Failing(storage, error)) as plane:
            answer = await plane.call("GET", ALL)
            assert (answer.status, answer.body["reason"]) == (code, reason)
            assert answer.message.startswith(message)

    run(scenario())


def test_lists_come_as_tables_metadata_and_yaml_too() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await _prepared(plane, "ab")
            accept = "application/json;as={};v=v1;g=meta.k8s.io"
            table = (await plane.call("GET", f"{ALL}?limit=1", headers={"Accept": accept.format("Table")})).body
            assert [row["cells"][0] for row in table["rows"]] == ["a"]
            assert table["metadata"]["remainingItemCount"] == 1
            headers = {"Accept": accept.format("PartialObjectMetadataList")}
            metadata = (await plane.call("GET", ALL, headers=headers)).body
            assert [item["kind"] for item in metadata["items"]] == ["PartialObjectMetadata"] * 2
            single = accept.format("PartialObjectMetadata")
            assert (await plane.call("GET", ALL, headers={"Accept": single})).status == 406
            yaml = await plane.call("GET", ALL, headers={"Accept": "application/yaml"})
            assert yaml.raw.count(b"kind:") == 1

    run(scenario())


def test_a_large_list_is_joined_without_holding_up_others_for_long() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await plane.namespace()
            value = (
                b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"%s","namespace":"ns"},"data":{"k":"%s"}}'
            )
            for number in range(6000):
                name = b"c%05d" % number
                await plane.mirror.kv.put(b"/registry/configmaps/ns/" + name, value % (name, b"x" * 900), expect=0)
            turns: list[float] = []

            async def tick() -> None:
                while True:
                    turns.append(perf_counter())
                    await asyncio.sleep(0)

            ticking = asyncio.ensure_future(tick())
            answer = await plane.call("GET", ALL)
            ticking.cancel()
            assert len(answer.body["items"]) == 6000
            assert len(turns) >= 5, "others have had too few turns"

    run(scenario())


@pytest.mark.parametrize("count", [0, 1, 256, 257, 513])
def test_lists_in_other_forms_are_whole_however_many_pieces_they_are_made_of(count: int) -> None:
    forms = {"Table": "rows", "PartialObjectMetadataList": "items"}

    async def scenario() -> None:
        async with running_plane() as plane:
            await plane.namespace()
            for number in range(count):
                await plane.config_map(f"c{number:03}", data={"k": "v"})
            for form, items in forms.items():
                accept = f"application/json;as={form};v=v1;g=meta.k8s.io"
                for query in ("", "?pretty=true"):
                    body = (await plane.call("GET", ALL + query, headers={"Accept": accept})).body
                    assert body["kind"] == form
                    found = body[items]
                    if form == "Table":
                        assert all(row["cells"][1] == 1 for row in found)
                        found = [row["object"] for row in found]
                    assert all(item["kind"] == "PartialObjectMetadata" for item in found)
                    assert [item["metadata"]["name"] for item in found] == [f"c{n:03}" for n in range(count)]

    run(scenario())
