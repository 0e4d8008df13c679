from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from controlplane.base.tasks import TaskGroup
from controlplane.client.request import StreamResponse
from controlplane.storage.errors import Unavailable
from tests.aio import run
from tests.mirrors import MemorySink
from tests.unit.apiserver.plane import Answer, Plane, running_plane

ALL = "/api/v1/namespaces/ns/configmaps"
MERGE = {"Content-Type": "application/merge-patch+json"}
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@asynccontextmanager
async def watching(plane: Plane, query: str, *, path: str = ALL, accept: str = "") -> AsyncIterator[MemorySink]:
    """A watch under way."""
    sink = MemorySink()
    answer = await plane.call("GET", f"{path}?{query}", headers={"Accept": accept} if accept else None)
    assert isinstance(answer.response, StreamResponse), answer.raw
    async with TaskGroup() as group:
        task = group.start(_write(answer.response, sink), name="watch")
        yield sink
        sink.close()
        await task


async def _write(response: StreamResponse, sink: MemorySink) -> None:
    await response.run(sink)


async def _brief(sink: MemorySink, count: int) -> list[tuple[str, str]]:
    """The first ``count`` events, as type and name."""
    await sink.until_count(count)
    return [(kind, name) for kind, name, _ in sink.brief()][:count]


async def _revision(plane: Plane) -> str:
    revision: str = (await plane.call("GET", ALL)).body["metadata"]["resourceVersion"]
    return revision


async def _prepared(plane: Plane, names: str = "ab") -> str:
    """Create configmaps; the revision after."""
    await plane.namespace()
    for name in names:
        await plane.config_map(name, metadata={"labels": {"x": name}})
    return await _revision(plane)


def test_a_watch_from_a_revision_tells_each_write_after_it_in_order() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            revision = await _prepared(plane)
            async with watching(plane, f"watch=1&resourceVersion={revision}") as sink:
                await plane.config_map("c")
                await plane.call("PATCH", f"{ALL}/c", {"data": {"k": "v"}}, headers=MERGE)
                await plane.call("DELETE", f"{ALL}/c")
                assert await _brief(sink, 3) == [("ADDED", "c"), ("MODIFIED", "c"), ("DELETED", "c")]

    run(scenario())


@pytest.mark.parametrize("query", ["watch=1", "watch=1&resourceVersion=0", "watch="])
def test_a_watch_without_a_revision_begins_with_what_there_is(query: str) -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await _prepared(plane)
            async with watching(plane, query) as sink:
                await plane.config_map("c")
                assert await _brief(sink, 3) == [("ADDED", "a"), ("ADDED", "b"), ("ADDED", "c")]

    run(scenario())


def test_initial_events_end_with_a_bookmark_that_says_so() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await _prepared(plane)
            query = "watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"
            async with watching(plane, query) as sink:
                await sink.until_count(3)
                bookmark = sink.events()[2]
                assert bookmark["type"] == "BOOKMARK"
                assert bookmark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}

    run(scenario())


def test_a_watch_that_wants_no_initial_events_begins_with_what_comes() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await _prepared(plane)
            query = "watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan"
            async with watching(plane, query) as sink:
                await plane.config_map("c")
                assert await _brief(sink, 1) == [("ADDED", "c")]

    run(scenario())


def test_what_comes_into_a_selection_is_added_and_what_leaves_it_deleted() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            revision = await _prepared(plane, "a")
            async with watching(plane, f"watch=1&labelSelector=x%3D1&resourceVersion={revision}") as sink:
                for label in ("1", "2"):
                    patch = {"metadata": {"labels": {"x": label}}}
                    await plane.call("PATCH", f"{ALL}/a", patch, headers=MERGE)
                assert await _brief(sink, 2) == [("ADDED", "a"), ("DELETED", "a")]

    run(scenario())


def test_a_watch_of_one_name_ends_after_its_timeout() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await _prepared(plane)
            query = "watch=1&fieldSelector=metadata.name%3Db&resourceVersion=0&timeoutSeconds=1"
            answer = await plane.call("GET", f"{ALL}?{query}")
            assert isinstance(answer.response, StreamResponse)
            sink = MemorySink()
            await answer.response.run(sink)
            assert await _brief(sink, 1) == [("ADDED", "b")]

    run(scenario())


def test_the_old_prefix_watches_a_collection_or_one_object() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            revision = await _prepared(plane)
            path = "/api/v1/watch/namespaces/ns/configmaps"
            async with watching(plane, f"resourceVersion={revision}", path=path) as all_of_them:
                async with watching(plane, f"resourceVersion={revision}", path=f"{path}/b") as one:
                    for name in "ab":
                        await plane.call("PATCH", f"{ALL}/{name}", {"data": {"k": "v"}}, headers=MERGE)
                    assert await _brief(all_of_them, 2) == [("MODIFIED", "a"), ("MODIFIED", "b")]
                    assert await _brief(one, 1) == [("MODIFIED", "b")]
            refused = await plane.call("GET", f"{path}/b?fieldSelector=metadata.name%3Da")
            assert refused.message == "fieldSelector metadata.name doesn't match requested name"

    run(scenario())


def test_a_watch_on_the_path_of_an_object_is_a_plain_get() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await _prepared(plane)
            assert (await plane.call("GET", f"{ALL}/a?watch=true")).body["metadata"]["name"] == "a"

    run(scenario())


def test_a_watch_sends_tables_with_columns_in_the_first_only() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await _prepared(plane)
            async with watching(plane, "watch=1", accept=TABLE) as sink:
                await sink.until_count(2)
                first, second = (event["object"] for event in sink.events())
                assert [column["name"] for column in first["columnDefinitions"]] == ["Name", "Data", "Age"]
                assert second["columnDefinitions"] is None
                assert second["rows"][0]["cells"][0] == "b"

    run(scenario())


@pytest.mark.parametrize(
    ("query", "accept", "code", "message"),
    [
        pytest.param(
            "resourceVersion=abc",
            "",
            500,
            'resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax',
            id="a revision that is no number",
        ),
        pytest.param(
            "labelSelector=a%3Db%3Dc", "", 400, "found '=', expected: ',' or 'end of string'", id="a selector"
        ),
        pytest.param("", "text/html", 406, "406: Not Acceptable", id="a type"),
        pytest.param("", "application/yaml", 406, "only the following media types are accepted", id="YAML"),
        pytest.param("resourceVersionMatch=NotOlderThan", "", 422, "ListOptions.meta.k8s.io", id="a match"),
    ],
)
def test_a_watch_that_cannot_be_opened_is_refused_at_once(query: str, accept: str, code: int, message: str) -> None:
    async def scenario() -> Answer:
        async with running_plane() as plane:
            return await plane.call("GET", f"{ALL}?watch=1&{query}", headers={"Accept": accept} if accept else None)

    answer = run(scenario())
    assert answer.status == code
    assert answer.message.startswith(message)


class Loading:
    """A storage whose mirror has not loaded."""

    def __init__(self, storage: Any) -> None:
        self._storage = storage

    def __getattr__(self, name: str) -> Any:
        return getattr(self._storage, name)

    async def watch(self, *_: object) -> None:
        raise Unavailable("loading")


def test_while_the_mirror_loads_a_watch_is_429_and_to_be_tried_again() -> None:
    async def scenario() -> Answer:
        async with running_plane(wrap=Loading) as plane:
            return await plane.call("GET", f"{ALL}?watch=1")

    answer = run(scenario())
    assert (answer.status, answer.body["details"]["retryAfterSeconds"]) == (429, 1)
