"""Server-side apply by PATCH, as a client sees it."""

import asyncio
from typing import Any

import pytest

from controlplane.apimachinery.user import UserInfo
from tests.aio import run
from tests.unit.apiserver.plane import Plane, running_plane

PATH = "/api/v1/namespaces/ns/configmaps/a"
APPLY = {"Content-Type": "application/apply-patch+yaml"}


def config(name: str = "a", *, metadata: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **(metadata or {})}, **fields}


async def apply(plane: Plane, body: Any, query: str = "fieldManager=one", path: str = PATH, **options: Any) -> Any:
    return await plane.call("PATCH", f"{path}?{query}", body, headers=APPLY, **options)


def applied(*steps: tuple[str, Any]) -> list[Any]:
    """Apply bodies one after another, each with its query, and give the answers."""

    async def scenario() -> list[Any]:
        async with running_plane() as plane:
            await plane.namespace()
            return [await apply(plane, body, query) for query, body in steps]

    return run(scenario())


def owners(obj: Any) -> dict[str, Any]:
    return {f"{e['manager']} {e['operation']}": e["fieldsV1"] for e in obj["metadata"].get("managedFields", [])}


def test_an_apply_creates_then_merges_and_owns_what_it_names() -> None:
    first, second = applied(
        ("fieldManager=one", config(data={"k": "1"})),
        ("fieldManager=two", config(data={"j": "2"})),
    )
    assert (first.status, second.status) == (201, 200)
    assert second.body["data"] == {"k": "1", "j": "2"}
    assert owners(second.body) == {"one Apply": {"f:data": {"f:k": {}}}, "two Apply": {"f:data": {"f:j": {}}}}


def test_an_apply_that_changes_nothing_keeps_the_resource_version() -> None:
    first, second = applied(
        ("fieldManager=one", config(data={"k": "1"})), ("fieldManager=one", config(data={"k": "1"}))
    )
    assert second.body == first.body


def test_a_conflict_names_manager_and_field_and_force_takes_it() -> None:
    _, refused, forced = applied(
        ("fieldManager=one", config(data={"k": "1"})),
        ("fieldManager=two", config(data={"k": "2"})),
        ("fieldManager=two&force=true", config(data={"k": "2"})),
    )
    assert refused.status == 409
    assert refused.message == 'Apply failed with 1 conflict: conflict with "one": .data.k'
    assert refused.body["details"] == {
        "causes": [{"reason": "FieldManagerConflict", "message": 'conflict with "one"', "field": ".data.k"}]
    }
    assert owners(forced.body) == {"two Apply": {"f:data": {"f:k": {}}}}


@pytest.mark.parametrize(
    ("query", "body", "code", "message"),
    [
        pytest.param(
            "",
            config(),
            422,
            'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
            id="no manager",
        ),
        pytest.param("fieldManager=one", "- a", 400, "error decoding YAML", id="a list"),
        pytest.param("fieldManager=one", "", 400, "invalid object type: /, Kind=", id="nothing"),
        pytest.param(
            "fieldManager=one",
            "kind: [",
            400,
            "error decoding YAML: error converting YAML to JSON: yaml: ",
            id="no yaml",
        ),
        pytest.param(
            "fieldManager=one",
            {**config(), "apiVersion": "a/b/c"},
            400,
            "invalid object type: /, Kind=",
            id="a version that is none",
        ),
        pytest.param(
            "fieldManager=one",
            {**config(), "kind": "Secret"},
            400,
            "invalid object type: /v1, Kind=Secret",
            id="another kind",
        ),
        pytest.param(
            "fieldManager=one",
            config(metadata={"managedFields": []}),
            400,
            "metadata.managedFields must be nil",
            id="managed fields",
        ),
        pytest.param(
            "fieldManager=one",
            config(nope=1),
            500,
            "failed to create typed patch object (/a; /v1, Kind=ConfigMap): .nope: field not declared in schema",
            id="unknown field",
        ),
        pytest.param(
            "fieldManager=one",
            config(metadata={"deletionTimestamp": "soon"}),
            500,
            "failed to convert new object (/a; /v1, Kind=ConfigMap) to proper version: parsing time",
            id="a time that is none",
        ),
        pytest.param(
            "fieldManager=one",
            config("b"),
            400,
            "the name of the object (b) does not match the name on the URL (a)",
            id="another name",
        ),
        pytest.param(
            "fieldManager=one",
            config(metadata={"uid": "u"}),
            409,
            'Operation cannot be fulfilled on configmaps "a": uid mismatch: the provided object specified uid u, and '
            "no existing object was found",
            id="the uid of an object that is not there",
        ),
    ],
)
def test_an_apply_that_does_not_fit_is_refused(query: str, body: Any, code: int, message: str) -> None:
    (answer,) = applied((query, body))
    assert answer.status == code
    assert answer.message.startswith(message)


def test_an_apply_may_name_the_resource_version_that_it_changes() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await plane.namespace()
            first = (await apply(plane, config(data={"k": "1"}))).body
            at = {"resourceVersion": first["metadata"]["resourceVersion"]}
            assert (await apply(plane, config(metadata=at, data={"k": "2"}))).status == 200
            late = await apply(plane, config(metadata=at, data={"k": "3"}))
            assert late.status == 409
            assert "the object has been modified" in late.message

    run(scenario())


def test_an_apply_that_would_create_needs_the_right_to_create() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await plane.namespace()
            refused = await apply(plane, config(), user=UserInfo(name="reader"))
            assert refused.status == 403

    run(scenario())


def test_an_apply_in_a_namespace_that_is_not_there_is_404() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            answer = await apply(plane, config(), path="/api/v1/namespaces/none/configmaps/a")
            assert (answer.status, answer.message) == (404, 'namespaces "none" not found')

    run(scenario())


def test_a_dry_run_shows_what_an_apply_would_make_and_stores_nothing() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await plane.namespace()
            shown = await apply(plane, config(data={"k": "1"}), "fieldManager=one&dryRun=All")
            assert shown.status == 201
            assert owners(shown.body) == {"one Apply": {"f:data": {"f:k": {}}}}
            assert (await plane.call("GET", PATH)).status == 404

    run(scenario())


@pytest.mark.parametrize(
    "body", ["{text}", '{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"a"}},{data}}}']
)
def test_repeated_keys_warn_or_under_strict_refuse(body: str) -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: one, k: two}\n"
    body = body.format(text=text, data='"data":{"k":"one","k":"two"}')
    warned, ignored, strict = applied(
        ("fieldManager=one", body),
        ("fieldManager=one&fieldValidation=Ignore", body),
        ("fieldManager=one&fieldValidation=Strict", body),
    )
    assert warned.body["data"] == {"k": "two"}
    assert [w.partition(": ")[2] for w in warned.warnings] == ['key "k" already set in map']
    assert ignored.warnings == []
    assert strict.status == 400
    assert 'key "k" already set in map' in strict.message


def test_a_subresource_owns_only_what_it_may_change() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await plane.namespace()
            body = {
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {"name": "ns"},
                "spec": {"finalizers": ["x/y"]},
            }
            condition = {"type": "X", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
            status = await apply(
                plane, {**body, "status": {"conditions": [condition]}}, path="/api/v1/namespaces/ns/status"
            )
            assert status.status == 200
            mine = next(e for e in status.body["metadata"]["managedFields"] if e["manager"] == "one")
            assert mine["subresource"] == "status"
            assert mine["fieldsV1"].keys() == {"f:status"}
            assert status.body["spec"] == {"finalizers": ["kubernetes"]}
            main = await apply(plane, {**body, "status": {"phase": "Terminating"}}, path="/api/v1/namespaces/ns")
            assert main.body["status"] == {"phase": "Active", "conditions": [condition]}

    run(scenario())


def test_of_many_applies_at_once_none_is_lost() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await plane.namespace()
            answers = await asyncio.gather(
                *(apply(plane, config(data={f"k{n}": "v"}), f"fieldManager=m{n}") for n in range(20))
            )
            assert sorted(a.status for a in answers) == [200] * 19 + [201]
            stored = (await plane.call("GET", PATH)).body
            assert stored["data"] == {f"k{n}": "v" for n in range(20)}
            assert len(stored["metadata"]["managedFields"]) == 20

    run(scenario())
