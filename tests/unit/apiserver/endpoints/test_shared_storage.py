"""One stored object that two groups serve in forms of their own: events."""

from __future__ import annotations

from typing import Any

from controlplane.base.tasks import TaskGroup
from controlplane.client.request import StreamResponse
from tests.aio import run
from tests.mirrors import MemorySink
from tests.unit.apiserver.plane import Plane, running_plane

CORE = "/api/v1/namespaces/ns/events"
NEW = "/apis/events.k8s.io/v1/namespaces/ns/events"
MERGE = {"Content-Type": "application/merge-patch+json"}
INVOLVED = {"kind": "ConfigMap", "namespace": "ns", "name": "x", "resourceVersion": "5"}
COMPLETE = {
    "eventTime": "2020-01-01T00:00:00.000000Z",
    "reportingController": "x.io/c",
    "reportingInstance": "i",
    "action": "Act",
    "reason": "Why",
    "regarding": INVOLVED,
    "type": "Normal",
}


async def _event(plane: Plane, name: str = "e", **fields: Any) -> Any:
    body = {"metadata": {"name": name}, "involvedObject": INVOLVED, "message": "what", **fields}
    answer = await plane.call("POST", CORE, body)
    assert answer.status == 201, answer.raw
    return answer.body


async def _write(response: StreamResponse, sink: MemorySink) -> None:
    await response.run(sink)


def test_each_group_reads_what_the_other_writes() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await plane.namespace()
            core = await _event(plane)
            new = (await plane.call("GET", f"{NEW}/e")).body
            assert (new["apiVersion"], new["note"], new["regarding"]) == ("events.k8s.io/v1", "what", INVOLVED)
            assert new["metadata"] == core["metadata"]
            created = await plane.call("POST", NEW, {"metadata": {"name": "n"}, **COMPLETE, "note": "noted"})
            assert (created.status, created.body["apiVersion"]) == (201, "events.k8s.io/v1")
            assert (await plane.call("GET", f"{CORE}/n")).body["message"] == "noted"
            listed = (await plane.call("GET", NEW)).body
            assert (listed["apiVersion"], listed["kind"]) == ("events.k8s.io/v1", "EventList")
            assert [item.get("note") for item in listed["items"]] == ["what", "noted"]
            assert plane.mirror.image.index.get(b"/registry/events/ns/n").data.startswith(  # type: ignore[union-attr]
                b'{"kind":"Event","apiVersion":"v1","metadata":{'
            )

    run(scenario())


def test_updates_by_either_group_are_of_the_same_object() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await plane.namespace()
            created = (await plane.call("POST", NEW, {"metadata": {"name": "n"}, **COMPLETE})).body
            series = {"count": 2, "lastObservedTime": "2020-01-01T00:00:01.000000Z"}
            patched = await plane.call("PATCH", f"{NEW}/n", {"series": series}, headers=MERGE)
            assert (patched.status, patched.body["series"]) == (200, series)
            again = await plane.call("PATCH", f"{NEW}/n", {"series": series}, headers=MERGE)
            assert again.body == patched.body, "nothing has changed, so nothing is written"
            core = await plane.call("PATCH", f"{CORE}/n", {"message": "by the other"}, headers=MERGE)
            assert (core.body["message"], core.body["series"]) == ("by the other", series)
            assert (await plane.call("GET", f"{NEW}/n")).body["note"] == "by the other"
            stale = {"metadata": created["metadata"], **COMPLETE}
            assert (await plane.call("PUT", f"{NEW}/n", stale)).status == 409
            assert (await plane.call("DELETE", f"{NEW}/n")).body["details"]["group"] == "events.k8s.io"
            gone = await plane.call("GET", f"{NEW}/n")
            assert gone.message == 'events "n" not found', "both are named by the group they are stored as"

    run(scenario())


def test_selectors_are_in_each_groups_own_words() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await plane.namespace()
            await _event(plane)
            for url, found in (
                (f"{CORE}?fieldSelector=involvedObject.name%3Dx", 1),
                (f"{CORE}?fieldSelector=involvedObject.name%3Dy", 0),
                (f"{NEW}?fieldSelector=regarding.name%3Dx", 1),
            ):
                assert len((await plane.call("GET", url)).body["items"]) == found
            refused = await plane.call("GET", f"{NEW}?fieldSelector=involvedObject.name%3Dx")
            assert (refused.status, refused.message) == (400, "field label not supported: involvedObject.name")

    run(scenario())


def test_a_watch_tells_in_its_groups_form() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await plane.namespace()
            answer = await plane.call("GET", f"{NEW}?watch=1&fieldSelector=regarding.name%3Dx")
            assert isinstance(answer.response, StreamResponse)
            response, sink = answer.response, MemorySink()
            async with TaskGroup() as group:
                task = group.start(_write(response, sink), name="watch")
                await _event(plane)
                await plane.call("DELETE", f"{CORE}/e")
                await sink.until_count(2)
                sink.close()
                await task
            events = sink.events()
            assert [event["type"] for event in events] == ["ADDED", "DELETED"]
            for event in events:
                assert (event["object"]["apiVersion"], event["object"]["note"]) == ("events.k8s.io/v1", "what")
            first, last = (int(event["object"]["metadata"]["resourceVersion"]) for event in events)
            assert first < last

    run(scenario())
