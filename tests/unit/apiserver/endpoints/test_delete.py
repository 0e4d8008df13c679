from typing import Any

import pytest

from controlplane.apis.builtin import BUILTIN
from tests.aio import run
from tests.unit.apiserver.plane import Plane, running_plane

ALL = "/api/v1/namespaces/ns/configmaps"
PATH = f"{ALL}/a"


async def _prepared(plane: Plane, **meta: Any) -> Any:
    await plane.namespace()
    return await plane.config_map("a", metadata=meta)


def test_a_deleted_object_is_answered_by_a_status_with_its_uid() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            made = await _prepared(plane)
            answer = await plane.call("DELETE", PATH)
            assert answer.status == 200
            assert answer.body == {
                "kind": "Status",
                "apiVersion": "v1",
                "metadata": {},
                "status": "Success",
                "details": {"name": "a", "kind": "configmaps", "uid": made["metadata"]["uid"]},
            }
            assert (await plane.call("DELETE", PATH)).status == 404

    run(scenario())


def test_an_object_with_finalizers_is_marked_and_answered() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await _prepared(plane, finalizers=["x.io/f"])
            answer = await plane.call("DELETE", PATH)
            assert answer.status == 200
            meta = answer.body["metadata"]
            assert (meta["deletionGracePeriodSeconds"], meta["finalizers"]) == (0, ["x.io/f"])
            again = await plane.call("DELETE", PATH)
            assert again.body == answer.body

    run(scenario())


@pytest.mark.parametrize(
    ("query", "body", "finalizers"),
    [
        pytest.param("propagationPolicy=Foreground", None, ["foregroundDeletion"], id="foreground, by the query"),
        pytest.param("", {"propagationPolicy": "Orphan"}, ["orphan"], id="orphan, by the body"),
        pytest.param("", {"orphanDependents": True}, ["orphan"], id="orphan, the old way"),
    ],
)
def test_a_policy_leaves_a_finalizer_for_the_garbage_collector(query: str, body: Any, finalizers: list[str]) -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await _prepared(plane)
            answer = await plane.call("DELETE", f"{PATH}?{query}", body)
            assert answer.body["metadata"]["finalizers"] == finalizers
            assert (await plane.call("GET", PATH)).body == answer.body

    run(scenario())


@pytest.mark.parametrize("query", ["propagationPolicy=Foreground", "orphanDependents=true"])
def test_an_event_has_no_dependents_to_wait_for(query: str) -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await plane.namespace()
            path = "/api/v1/namespaces/ns/events"
            event = {"metadata": {"name": "e"}, "involvedObject": {"kind": "Pod", "namespace": "ns", "name": "p"}}
            assert (await plane.call("POST", path, event)).status == 201
            assert (await plane.call("DELETE", f"{path}/e?{query}")).body["status"] == "Success"
            assert (await plane.call("GET", f"{path}/e")).status == 404

    run(scenario())


def test_without_a_garbage_collector_a_policy_holds_nothing() -> None:
    async def scenario() -> None:
        async with running_plane(garbage_collection=False) as plane:
            await _prepared(plane)
            assert (await plane.call("DELETE", f"{PATH}?propagationPolicy=Orphan")).body["status"] == "Success"

    run(scenario())


def test_not_orphaning_what_cannot_go_yet_is_202() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await _prepared(plane, finalizers=["x.io/f"])
            assert (await plane.call("DELETE", PATH, {"orphanDependents": False})).status == 202

    run(scenario())


@pytest.mark.parametrize(
    ("preconditions", "why"),
    [
        pytest.param(
            {"uid": "other"},
            "the UID in the precondition (other) does not match the UID in record ({uid}). "
            "The object might have been deleted and then recreated",
            id="another uid",
        ),
        pytest.param(
            {"resourceVersion": "1"},
            "the ResourceVersion in the precondition (1) does not match the ResourceVersion in record ({rv}). "
            "The object might have been modified",
            id="another resource version",
        ),
    ],
)
def test_a_precondition_that_does_not_hold_is_a_conflict_on_the_kind(preconditions: Any, why: str) -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            meta = (await _prepared(plane))["metadata"]
            answer = await plane.call("DELETE", PATH, {"preconditions": preconditions})
            assert answer.status == 409
            expected = why.format(uid=meta["uid"], rv=meta["resourceVersion"])
            assert answer.message == f'Operation cannot be fulfilled on ConfigMap "a": {expected}'
            assert answer.body["details"] == {"name": "a", "kind": "ConfigMap"}
            held = {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}
            assert (await plane.call("DELETE", PATH, {"preconditions": held})).status == 200

    run(scenario())


def test_a_dry_run_answers_like_a_deletion_and_leaves_the_object_alone() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            made = await _prepared(plane)
            assert (await plane.call("DELETE", f"{PATH}?dryRun=All")).body["status"] == "Success"
            held = await plane.call("DELETE", f"{PATH}?dryRun=All&propagationPolicy=Orphan")
            assert held.body["metadata"]["finalizers"] == ["orphan"]
            assert held.body["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
            ignored = await plane.call("DELETE", f"{PATH}?propagationPolicy=Orphan", {"dryRun": ["All"]})
            assert ignored.body["status"] == "Success"  # with a body, the query counts for nothing
            assert (await plane.call("GET", PATH)).body == made
            assert (await plane.call("DELETE", f"{ALL}/gone?dryRun=All")).status == 404

    run(scenario())


def test_options_may_be_yaml() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await _prepared(plane)
            headers = {"Content-Type": "application/yaml"}
            answer = await plane.call("DELETE", PATH, "propagationPolicy: Orphan\n", headers=headers)
            assert answer.body["metadata"]["finalizers"] == ["orphan"]
            assert (await plane.call("DELETE", PATH, "- 1\n", headers=headers)).status == 400

    run(scenario())


async def _names(plane: Plane) -> list[str]:
    return [item["metadata"]["name"] for item in (await plane.call("GET", ALL)).body["items"]]


def test_a_collection_is_deleted_within_its_selector_and_answered_as_it_was() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await plane.namespace()
            for name, label in [("a", "1"), ("b", "1"), ("c", "2")]:
                await plane.config_map(name, metadata={"labels": {"x": label}})
            answer = await plane.call("DELETE", f"{ALL}?labelSelector=x%3D1")
            assert answer.body["kind"] == "ConfigMapList"
            assert [item["metadata"]["name"] for item in answer.body["items"]] == ["a", "b"]
            assert await _names(plane) == ["c"]

    run(scenario())


def test_a_large_collection_is_deleted_whole() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await plane.namespace()
            for number in range(300):
                await plane.config_map(f"c{number}")
            assert len((await plane.call("DELETE", ALL)).body["items"]) == 300
            assert await _names(plane) == []

    run(scenario())


def test_a_limit_bounds_what_is_deleted_and_a_dry_run_deletes_nothing() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await plane.namespace()
            for name in "abc":
                await plane.config_map(name)
            assert len((await plane.call("DELETE", f"{ALL}?dryRun=All")).body["items"]) == 3
            limited = await plane.call("DELETE", f"{ALL}?limit=2")
            assert len(limited.body["items"]) == 2
            assert limited.body["metadata"]["remainingItemCount"] == 1
            assert await _names(plane) == ["c"]

    run(scenario())


def test_what_a_plugin_refuses_stays_and_is_told() -> None:
    async def scenario() -> None:
        async with running_plane(BUILTIN) as plane:
            await plane.namespace("default")
            answer = await plane.call("DELETE", "/api/v1/namespaces/default?propagationPolicy=Orphan")
            assert answer.status == 403
            assert "finalizers" not in (await plane.call("GET", "/api/v1/namespaces/default")).body["metadata"]

    run(scenario())


def test_the_first_deletion_of_a_namespace_makes_it_terminating_whatever_its_finalizers() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await plane.namespace("gone")
            path = "/api/v1/namespaces/gone"
            finalized = await plane.call("PUT", f"{path}/finalize", {"metadata": {"name": "gone"}, "spec": {}})
            assert (finalized.status, finalized.body["spec"]) == (200, {})
            begun = await plane.call("DELETE", path)
            assert (begun.body["kind"], begun.body["status"]["phase"]) == ("Namespace", "Terminating")
            assert (await plane.call("GET", path)).status == 200
            assert (await plane.call("DELETE", path)).status == 200
            assert (await plane.call("GET", path)).status == 404

    run(scenario())
