import asyncio
from typing import Any

import pytest

from controlplane.apimachinery.user import UserInfo
from tests.aio import run
from tests.unit.apiserver.plane import Plane, running_plane

PATH = "/api/v1/namespaces/ns/configmaps/a"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/ns/leases/l"
MERGE = {"Content-Type": "application/merge-patch+json"}
JSON_PATCH = {"Content-Type": "application/json-patch+json"}


def replace(body: dict[str, Any], **created: Any) -> Any:
    """Create a configmap ``a``, replace it by ``body`` and give both answers."""

    async def scenario() -> Any:
        async with running_plane() as plane:
            await plane.namespace()
            old = await plane.config_map("a", **created)
            return old, await plane.call("PUT", PATH, body)

    return run(scenario())


def test_an_update_replaces_the_object_and_keeps_what_the_server_owns() -> None:
    body = {"metadata": {"name": "a", "creationTimestamp": "2001-01-01T00:00:00Z", "generation": 9}, "data": {"z": "2"}}
    old, new = replace(body, data={"k": "1"}, metadata={"labels": {"a": "b"}})
    assert new.status == 200
    assert new.body["data"] == {"z": "2"}
    assert new.body["metadata"] == {
        **{k: v for k, v in old["metadata"].items() if k not in {"labels", "managedFields"}},
        "resourceVersion": new.body["metadata"]["resourceVersion"],
        "managedFields": new.body["metadata"]["managedFields"],
    }
    assert int(new.body["metadata"]["resourceVersion"]) > int(old["metadata"]["resourceVersion"])


def test_an_update_that_changes_nothing_keeps_the_resource_version() -> None:
    old, new = replace({"metadata": {"name": "a"}, "data": {"k": "1"}}, data={"k": "1"})
    assert new.body == old


@pytest.mark.parametrize(
    ("meta", "code", "message"),
    [
        pytest.param(
            {"name": "b"},
            400,
            "the name of the object (b) does not match the name on the URL (a)",
            id="another name",
        ),
        pytest.param(
            {},
            400,
            "the name of the object (a based on URL) was undeterminable: name must be provided",
            id="no name",
        ),
        pytest.param(
            {"name": "a", "namespace": "elsewhere"},
            400,
            "the namespace of the provided object does not match the namespace sent on the request",
            id="another namespace",
        ),
        pytest.param(
            {"name": "a", "resourceVersion": "1"},
            409,
            'Operation cannot be fulfilled on configmaps "a": the object has been modified; '
            "please apply your changes to the latest version and try again",
            id="an old resource version",
        ),
        pytest.param(
            {"name": "a", "resourceVersion": "abc"},
            500,
            'strconv.ParseUint: parsing "abc": invalid syntax',
            id="a resource version that is no number",
        ),
        pytest.param(
            {"name": "a", "deletionTimestamp": "2001-01-01T00:00:00Z"},
            422,
            'ConfigMap "a" is invalid: metadata.deletionTimestamp: Invalid value: "2001-01-01T00:00:00Z": '
            "field is immutable",
            id="a deletion",
        ),
    ],
)
def test_an_update_that_does_not_fit_is_refused(meta: dict[str, Any], code: int, message: str) -> None:
    _, answer = replace({"metadata": meta})
    assert (answer.status, answer.message) == (code, message)


def test_another_uid_is_a_conflict_that_names_both() -> None:
    old, answer = replace({"metadata": {"name": "a", "uid": "other"}})
    assert answer.status == 409
    assert answer.message == (
        'Operation cannot be fulfilled on configmaps "a": StorageError: invalid object, Code: 4, '
        "Key: /registry/configmaps/ns/a, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: "
        f"UID in precondition: other, UID in object meta: {old['metadata']['uid']}"
    )


def test_a_missing_object_is_404_or_created_where_its_kind_allows() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await plane.namespace()
            assert (await plane.call("PUT", PATH, {"metadata": {"name": "a"}})).status == 404
            created = await plane.call("PUT", LEASE, {"metadata": {"name": "l"}, "spec": {"holderIdentity": "me"}})
            assert created.status == 201
            assert created.body["metadata"]["uid"]

    run(scenario())


def test_an_update_that_would_create_needs_the_right_to_create() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await plane.namespace()
            reader = UserInfo(name="reader")
            answer = await plane.call("PUT", LEASE, {"metadata": {"name": "l"}}, user=reader)
            assert answer.status == 403
            assert 'User "reader" cannot create resource "leases"' in answer.message
            assert (await plane.call("GET", LEASE)).status == 404

    run(scenario())


def test_a_dry_run_shows_the_change_at_the_old_resource_version_and_stores_nothing() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await plane.namespace()
            old = await plane.config_map("a", data={"k": "1"})
            body = {"metadata": {"name": "a"}, "data": {"k": "2"}}
            answer = await plane.call("PUT", f"{PATH}?dryRun=All", body)
            assert answer.body == {**old, "data": {"k": "2"}}
            assert (await plane.call("GET", PATH)).body == old

    run(scenario())


def test_the_update_that_takes_the_last_finalizer_of_a_deleted_object_removes_it() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await plane.namespace()
            await plane.config_map("a", metadata={"finalizers": ["x.io/1", "x.io/2"]})
            await plane.call("DELETE", PATH)
            one = {"metadata": {"finalizers": ["x.io/2"]}, "data": {"k": "2"}}
            assert (await plane.call("PATCH", PATH, one, headers=MERGE)).status == 200
            rehearsed = await plane.call("PUT", f"{PATH}?dryRun=All", {"metadata": {"name": "a"}})
            assert rehearsed.status == 200
            assert (await plane.call("GET", PATH)).status == 200
            last = await plane.call("PUT", PATH, {"metadata": {"name": "a"}, "data": {"k": "3"}})
            assert last.status == 200
            assert last.body["data"] == {"k": "3"}
            assert last.body["metadata"]["deletionTimestamp"]
            assert (await plane.call("GET", PATH)).status == 404

    run(scenario())


def test_of_many_patches_at_once_none_is_lost() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await plane.namespace()
            await plane.config_map("a")
            answers = await asyncio.gather(
                *(plane.call("PATCH", PATH, {"data": {f"k{n}": "v"}}, headers=MERGE) for n in range(20))
            )
            assert [answer.status for answer in answers] == [200] * 20
            assert len((await plane.call("GET", PATH)).body["data"]) == 20

    run(scenario())


def test_of_many_updates_from_one_state_one_wins() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await plane.namespace()
            old = await plane.config_map("a")
            bodies = [{**old, "data": {"by": str(n)}} for n in range(10)]
            answers = await asyncio.gather(*(plane.call("PUT", PATH, body) for body in bodies))
            assert sorted(answer.status for answer in answers) == [200] + [409] * 9

    run(scenario())


async def _patched(plane: Plane, patch: object, headers: dict[str, str], query: str = "") -> Any:
    await plane.namespace()
    await plane.config_map("a", data={"k": "1", "z": "9"}, metadata={"labels": {"a": "b"}})
    return await plane.call("PATCH", f"{PATH}?{query}", patch, headers=headers)


def patch(patch: object, headers: dict[str, str], query: str = "") -> Any:
    async def scenario() -> Any:
        async with running_plane() as plane:
            return await _patched(plane, patch, headers, query)

    return run(scenario())


def test_a_json_patch_applies_its_operations_in_order() -> None:
    operations = [
        {"op": "test", "path": "/data/k", "value": "1"},
        {"op": "replace", "path": "/data/k", "value": "2"},
        {"op": "add", "path": "/data/n", "value": "3"},
        {"op": "remove", "path": "/data/z"},
        {"op": "remove", "path": "/metadata/labels"},
    ]
    answer = patch(operations, JSON_PATCH)
    assert answer.body["data"] == {"k": "2", "n": "3"}
    assert "labels" not in answer.body["metadata"]


def test_a_merge_patch_merges_and_deletes_what_is_null() -> None:
    answer = patch({"data": {"k": None, "new": "2"}}, {"Content-Type": "application/merge-patch+json; charset=utf-8"})
    assert answer.body["data"] == {"new": "2", "z": "9"}


@pytest.mark.parametrize(
    ("body", "headers", "query", "code"),
    [
        pytest.param([{"op": "test", "path": "/data/k", "value": "2"}], JSON_PATCH, "", 422, id="a failed test"),
        pytest.param([{"op": "frob", "path": "/data/k"}], JSON_PATCH, "", 422, id="no operation"),
        pytest.param({"data": {}}, JSON_PATCH, "", 400, id="a JSON patch that is no list"),
        pytest.param("[{]", JSON_PATCH, "", 400, id="malformed"),
        pytest.param([{"op": "test", "path": "/a"}] * 10_001, JSON_PATCH, "", 413, id="too many operations"),
        pytest.param([1], MERGE, "", 400, id="a merge patch that is no object"),
        pytest.param({"data": {"k": {"deep": "x"}}}, MERGE, "", 422, id="a value of the wrong type"),
        pytest.param({"metadata": {"name": "b"}}, MERGE, "", 400, id="another name"),
        pytest.param({"metadata": {"uid": "other"}}, MERGE, "", 422, id="another uid"),
        pytest.param({"metadata": {"resourceVersion": "1"}}, MERGE, "", 409, id="an old resource version"),
        pytest.param({"nope": 1}, MERGE, "fieldValidation=Strict", 422, id="an unknown field, strictly"),
        pytest.param(
            [{"op": "add", "path": "/data/q", "value": "v", "x": 1}],
            JSON_PATCH,
            "fieldValidation=Strict",
            422,
            id="an unknown member, strictly",
        ),
        pytest.param({}, {"Content-Type": "application/json"}, "", 415, id="no patch type"),
        pytest.param({}, MERGE, "force=true", 422, id="force without apply"),
    ],
)
def test_a_patch_that_does_not_fit_is_refused_and_changes_nothing(
    body: object, headers: dict[str, str], query: str, code: int
) -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            assert (await _patched(plane, body, headers, query)).status == code
            assert (await plane.call("GET", PATH)).body["data"] == {"k": "1", "z": "9"}

    run(scenario())


def test_strict_problems_of_a_patch_are_told_at_patch() -> None:
    answer = patch([{"op": "add", "path": "/data/q", "value": "v", "x": 1}], JSON_PATCH, "fieldValidation=Strict")
    assert answer.body["details"].keys() == {"causes"}
    assert answer.body["details"]["causes"][0]["field"] == "patch"
    assert answer.message.endswith('strict decoding error: json patch unknown field "[0].x"')


def test_a_patch_of_a_missing_object_is_404() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await plane.namespace()
            assert (await plane.call("PATCH", PATH, {}, headers=MERGE)).status == 404

    run(scenario())


def test_a_namespace_loses_its_finalizer_by_the_finalize_subresource_alone_and_is_then_removed() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await plane.namespace("n")
            deleted = await plane.call("DELETE", "/api/v1/namespaces/n")
            assert deleted.body["status"] == {"phase": "Terminating"}
            assert "deletionGracePeriodSeconds" not in deleted.body["metadata"]
            body = {"metadata": {"name": "n"}, "spec": {"finalizers": []}}
            kept = await plane.call("PUT", "/api/v1/namespaces/n", body)
            assert kept.body["spec"] == {"finalizers": ["kubernetes"]}
            finalized = await plane.call("PUT", "/api/v1/namespaces/n/finalize", body)
            assert (finalized.status, finalized.body["spec"]) == (200, {})
            assert (await plane.call("GET", "/api/v1/namespaces/n")).status == 404

    run(scenario())


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ({"kind": "Secret"}, "converting (v1.Secret) to (core.ConfigMap): unknown conversion"),
        ({"apiVersion": "v2"}, 'no kind "ConfigMap" is registered for version "v2" in scheme '),
    ],
)
def test_a_patch_does_not_make_another_kind(body: dict[str, str], why: str) -> None:
    answer = patch(body, MERGE)
    assert answer.status == 422
    assert why in answer.body["message"]
