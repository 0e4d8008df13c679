"""Strategic merge patch by PATCH, as a client sees it."""

from typing import Any

import pytest

from tests.aio import run
from tests.unit.apiserver.plane import running_plane

PATH = "/api/v1/namespaces/ns/configmaps/a"
HEADERS = {"Content-Type": "application/strategic-merge-patch+json"}
OWNER = {"apiVersion": "v1", "kind": "X", "name": "o", "uid": "u-1"}
OTHER = {**OWNER, "name": "p", "uid": "u-2"}
METADATA = {"finalizers": ["x.io/1"], "ownerReferences": [OWNER], "labels": {"a": "b"}}


def patched(patch: Any, query: str = "") -> tuple[Any, Any]:
    """Patch a configmap; gives the answer, and what is stored then."""

    async def scenario() -> tuple[Any, Any]:
        async with running_plane() as plane:
            await plane.namespace()
            await plane.config_map("a", data={"k": "1", "z": "9"}, metadata=METADATA)
            answer = await plane.call("PATCH", PATH + query, patch, headers=HEADERS)
            return answer, (await plane.call("GET", PATH)).body

    return run(scenario())


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        pytest.param({"finalizers": ["x.io/2"]}, {"finalizers": ["x.io/2", "x.io/1"]}, id="a set takes more"),
        pytest.param({"$deleteFromPrimitiveList/finalizers": ["x.io/1"]}, {"finalizers": None}, id="or less"),
        pytest.param({"ownerReferences": [OTHER]}, {"ownerReferences": [OTHER, OWNER]}, id="a list merges by its key"),
        pytest.param(
            {"ownerReferences": [{"uid": "u-1", "name": "q"}]},
            {"ownerReferences": [{**OWNER, "name": "q"}]},
            id="its items too",
        ),
        pytest.param(
            {"ownerReferences": [{"$patch": "delete", "uid": "u-1"}]},
            {"ownerReferences": None},
            id="an item is deleted",
        ),
        pytest.param(
            {"ownerReferences": [OTHER, {"$patch": "replace"}]}, {"ownerReferences": [OTHER]}, id="a list is replaced"
        ),
        pytest.param({"labels": {"a": None, "c": "d"}}, {"labels": {"c": "d"}}, id="a map merges"),
        pytest.param({"labels": {"$patch": "replace", "c": "d"}}, {"labels": {"c": "d"}}, id="a map is replaced"),
    ],
)
def test_lists_and_maps_of_metadata_merge_as_their_schema_says(metadata: Any, expected: dict[str, Any]) -> None:
    answer, stored = patched({"metadata": metadata})
    assert answer.status == 200
    assert {name: stored["metadata"].get(name) for name in expected} == expected


@pytest.mark.parametrize(
    ("patch", "code", "message"),
    [
        pytest.param(
            "[]", 400, "json: cannot unmarshal array into Go value of type map[string]interface {}", id="a list"
        ),
        pytest.param("{", 400, "unexpected end of JSON input", id="no JSON"),
        pytest.param({"data": {"$retainKeys": ["k"], "j": "1"}}, 400, "invalid patch format of retainKeys", id="keys"),
        pytest.param(
            {"metadata": {"finalizers": [["x"]]}},
            422,
            "the server rejected our request due to an error in our request",
            id="a list of lists",
        ),
        pytest.param(
            {"data": {"$patch": "odd"}}, 500, "unknown patch type: odd in map: map[$patch:odd]", id="directive"
        ),
        pytest.param(
            {"data": [1]},
            422,
            ' "" is invalid: patch: Invalid value: "map[data:[1]]": cannot restore map from slice',
            id="a list for a map",
        ),
        pytest.param(
            {"data": {"a": 1}},
            422,
            ' "" is invalid: patch: Invalid value: "map[data:map[a:1]]": cannot convert int64 to string',
            id="a number for a text",
        ),
        pytest.param(
            {"immutable": "yes"},
            422,
            ' "" is invalid: patch: Invalid value: "map[immutable:yes]": unrecognized type: bool',
            id="a text for a boolean",
        ),
        pytest.param(
            {"binaryData": {"a": "?"}},
            422,
            ' "" is invalid: patch: Invalid value: "map[binaryData:map[a:?]]": error decoding from json: '
            "illegal base64 data at input byte 0",
            id="no base64",
        ),
        pytest.param(
            {"metadata": {"ownerReferences": [{"uid": "u", "name": {}}]}},
            422,
            ' "" is invalid: patch: Invalid value: "map[metadata:map[ownerReferences:[map[name:map[] uid:u]]]]": '
            "unrecognized type: string",
            id="a map for a text, in a list",
        ),
    ],
)
def test_a_patch_that_does_not_fit_is_refused_and_changes_nothing(patch: Any, code: int, message: str) -> None:
    answer, stored = patched(patch)
    assert answer.status == code
    assert answer.message.startswith(message)
    assert stored["data"] == {"k": "1", "z": "9"}


def test_unknown_fields_warn_or_under_strict_refuse() -> None:
    answer, stored = patched({"nope": 1, "data": {"k": "2"}})
    assert answer.warnings == ['unknown field "nope"']
    assert stored["data"] == {"k": "2", "z": "9"}
    answer, stored = patched({"nope": 1, "data": {"k": "2"}}, "?fieldValidation=Strict")
    assert answer.status == 422
    assert answer.message.endswith('strict decoding error: unknown field "nope"')
    assert stored["data"] == {"k": "1", "z": "9"}


def test_a_patch_of_a_missing_object_is_404() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await plane.namespace()
            answer = await plane.call("PATCH", PATH, {"data": {}}, headers=HEADERS)
            assert (answer.status, answer.message) == (404, 'configmaps "a" not found')

    run(scenario())


@pytest.mark.parametrize(
    ("value", "result"),
    [
        pytest.param(15, 15, id="an integer"),
        pytest.param(15.0, 15, id="a whole number with a fraction"),
        pytest.param(1.5, "cannot convert float64 to int32", id="a fraction"),
        pytest.param("15", "unrecognized type: int32", id="a text"),
        pytest.param(True, "unrecognized type: int32", id="a boolean"),
    ],
)
def test_numbers_fit_integers_if_they_are_whole(value: Any, result: Any) -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await plane.namespace()
            leases = "/apis/coordination.k8s.io/v1/namespaces/ns/leases"
            await plane.call("POST", leases, {"metadata": {"name": "l"}, "spec": {"holderIdentity": "me"}})
            patch = {"spec": {"leaseDurationSeconds": value}}
            answer = await plane.call("PATCH", f"{leases}/l", patch, headers=HEADERS)
            if isinstance(result, int):
                assert answer.body["spec"]["leaseDurationSeconds"] == result
                assert b".0" not in answer.raw.partition(b"leaseDurationSeconds")[2][:8]
            else:
                assert (answer.status, answer.message.rpartition('": ')[2].partition('": ')[0]) == (422, result)

    run(scenario())
