import asyncio
import random
import re
from typing import Any

import pytest

from controlplane.apimachinery.identity import Key, Obj
from controlplane.apiserver.registry import names
from controlplane.storage.api import Entry
from tests.aio import run
from tests.unit.apiserver.plane import Answer, running_plane

PATH = "/api/v1/namespaces/ns/configmaps"


def create(body: object, query: str = "", **headers: str) -> Answer:
    """One create in an empty namespace; ``Content_Type`` stands for Content-Type."""

    async def scenario() -> Answer:
        async with running_plane() as plane:
            await plane.namespace()
            given = {name.replace("_", "-"): value for name, value in headers.items()}
            return await plane.call("POST", f"{PATH}?{query}", body, headers=given)

    return run(scenario())


def test_a_created_object_is_answered_whole_and_reads_back_the_same() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await plane.namespace()
            body = {"metadata": {"name": "a", "labels": {"x": "y"}}, "data": {"k": "v", "empty": ""}}
            created = await plane.call("POST", PATH, body)
            assert created.status == 201
            meta = created.body["metadata"]
            assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", meta["uid"])
            assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", meta["creationTimestamp"])
            assert created.body == {
                "kind": "ConfigMap",
                "apiVersion": "v1",
                "metadata": {
                    "name": "a",
                    "namespace": "ns",
                    "labels": {"x": "y"},
                    "uid": meta["uid"],
                    "creationTimestamp": meta["creationTimestamp"],
                    "resourceVersion": meta["resourceVersion"],
                    "managedFields": [
                        {
                            "manager": "unknown",
                            "operation": "Update",
                            "apiVersion": "v1",
                            "time": meta["creationTimestamp"],
                            "fieldsType": "FieldsV1",
                            "fieldsV1": {
                                "f:data": {".": {}, "f:k": {}, "f:empty": {}},
                                "f:metadata": {"f:labels": {".": {}, "f:x": {}}},
                            },
                        }
                    ],
                },
                "data": {"k": "v", "empty": ""},
            }
            assert (await plane.call("GET", f"{PATH}/a")).raw == created.raw

    run(scenario())


def test_a_dry_run_does_not_mind_a_revision_and_shows_it() -> None:
    """As upstream's DryRunnableStorage, which asks only whether the object is there."""
    tried = create({"metadata": {"name": "a", "resourceVersion": "5"}}, query="dryRun=All")
    assert (tried.status, tried.body["metadata"]["resourceVersion"]) == (201, "5")

    async def put() -> None:
        async with running_plane() as plane:
            await plane.namespace()
            lease = "/apis/coordination.k8s.io/v1/namespaces/ns/leases/a?dryRun=All"
            answer = await plane.call("PUT", lease, {"metadata": {"name": "a", "resourceVersion": "5"}, "spec": {}})
            assert (answer.status, answer.body["metadata"]["resourceVersion"]) == (201, "5")

    run(put())


def test_what_a_client_says_of_the_servers_fields_is_overwritten() -> None:
    meta = {
        "name": "a",
        "uid": "mine",
        "creationTimestamp": "2001-01-01T00:00:00Z",
        "deletionTimestamp": "2001-01-01T00:00:00Z",
        "deletionGracePeriodSeconds": 3,
        "selfLink": "/x",
    }
    made = create({"metadata": meta}).body["metadata"]
    assert made["uid"] != "mine"
    assert not made["creationTimestamp"].startswith("2001")
    assert not {"deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"} & made.keys()


@pytest.mark.parametrize(
    ("body", "query", "code", "message"),
    [
        pytest.param(
            {"metadata": {"name": "a", "resourceVersion": "1"}},
            "",
            500,
            "resourceVersion should not be set on objects to be created",
            id="a resource version",
        ),
        pytest.param(
            {"metadata": {"name": "a", "namespace": "elsewhere"}},
            "",
            400,
            "the namespace of the provided object does not match the namespace sent on the request",
            id="another namespace",
        ),
        pytest.param(
            {"metadata": {}},
            "",
            422,
            'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required',
            id="no name",
        ),
        pytest.param(
            {"metadata": {"name": "a"}, "nope": 1},
            "fieldValidation=Strict",
            400,
            'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "nope"',
            id="an unknown field, strictly",
        ),
        pytest.param(
            '{"metadata":{"name":"a"},"data":{"k":"1","k":"2"}}',
            "fieldValidation=Strict",
            400,
            'ConfigMap in version "v1" cannot be handled as a ConfigMap: '
            'strict decoding error: duplicate field "data.k"',
            id="a repeated field, strictly",
        ),
        pytest.param(
            {"kind": "Secret", "metadata": {"name": "a"}},
            "",
            400,
            'Secret in version "v1" cannot be handled as a ConfigMap: '
            "converting (v1.Secret) to (core.ConfigMap): unknown conversion",
            id="another kind",
        ),
        pytest.param(
            {"kind": "configmap", "metadata": {"name": "a"}},
            "",
            400,
            'configmap in version "v1" cannot be handled as a ConfigMap: '
            'no kind "configmap" is registered for version "v1" in scheme "pkg/api/legacyscheme/scheme.go:30"',
            id="no kind at all",
        ),
        pytest.param(
            {"apiVersion": "x.io/v2", "metadata": {"name": "a"}},
            "",
            400,
            'ConfigMap in version "v2" cannot be handled as a ConfigMap: '
            'no kind "ConfigMap" is registered for version "x.io/v2" in scheme "pkg/api/legacyscheme/scheme.go:30"',
            id="another version",
        ),
    ],
)
def test_a_bad_object_is_refused_in_upstreams_words(body: object, query: str, code: int, message: str) -> None:
    answer = create(body, query)
    assert (answer.status, answer.message) == (code, message)


@pytest.mark.parametrize("body", ['{"kind":', "[]", '"text"', "", '{"metadata":{"name":"a"}}{}'])
def test_a_body_that_is_no_object_is_400_and_shown_in_part(body: str) -> None:
    answer = create(body)
    assert (answer.status, answer.body["reason"]) == (400, "BadRequest")
    assert answer.message.startswith("the object provided is unrecognized (must be of type ConfigMap): couldn't get ")


def test_an_unknown_field_is_dropped_with_a_warning() -> None:
    answer = create({"metadata": {"name": "a", "foo": "x"}, "nope": 1})
    assert answer.status == 201
    assert answer.warnings == ['unknown field "metadata.foo"', 'unknown field "nope"']
    assert "nope" not in answer.body


def test_equal_owner_references_are_kept_once_with_a_warning() -> None:
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u-1"}
    answer = create({"metadata": {"name": "a", "ownerReferences": [owner, owner, {**owner, "uid": "u-2"}]}})
    assert [o["uid"] for o in answer.body["metadata"]["ownerReferences"]] == ["u-1", "u-2"]
    assert len(answer.warnings) == 1
    assert answer.warnings[0].endswith("duplicate UID(s) observed: u-1")


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("metadata:\n  name: a\ndata:\n  k: |\n    two\n    lines\n", id="YAML"),
        pytest.param('{"metadata":{"name":"a"},"data":{"k":"two\\nlines\\n"}}', id="JSON under the name of YAML"),
        pytest.param(f"metadata:\n  name: a\ndata:\n  k: |\n    two\n    lines\n#{'x' * 4096}\n", id="long YAML"),
    ],
)
def test_yaml_is_read(body: str) -> None:
    answer = create(body, Content_Type="application/yaml")
    assert answer.body["data"] == {"k": "two\nlines\n"}


def _delimited(number: int, payload: bytes) -> bytes:
    """A length-delimited protobuf field, short."""
    return bytes((number << 3 | 2, len(payload))) + payload


def test_protobuf_is_read_as_go_clients_send_it() -> None:
    types = _delimited(1, _delimited(1, b"v1") + _delimited(2, b"ConfigMap"))
    meta = _delimited(1, _delimited(1, b"a"))
    data = _delimited(2, _delimited(1, b"k") + _delimited(2, b"v"))
    raw = b"k8s\x00" + types + _delimited(2, meta + data)

    async def scenario() -> None:
        async with running_plane() as plane:
            await plane.namespace()
            headers = {"Content-Type": "application/vnd.kubernetes.protobuf"}
            created = await plane.call("POST", PATH, raw, headers=headers)
            assert (created.status, created.body["data"]) == (201, {"k": "v"})
            assert created.response.content_type == "application/json"
            replaced = await plane.call("PUT", f"{PATH}/a", raw, headers=headers)
            assert replaced.body == created.body
            assert (await plane.call("POST", PATH, b"k8s\x00\xff", headers=headers)).status == 400

    run(scenario())


def test_malformed_yaml_is_400() -> None:
    assert create("a: [", Content_Type="application/yaml").status == 400


def test_a_body_in_another_format_is_415_and_an_answer_in_another_406_before_anything_is_stored() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await plane.namespace()
            body = {"metadata": {"name": "a"}}
            assert (await plane.call("POST", PATH, body, headers={"Content-Type": "text/plain"})).status == 415
            assert (await plane.call("POST", PATH, body, headers={"Accept": "text/html"})).status == 406
            assert (await plane.call("GET", f"{PATH}/a")).status == 404

    run(scenario())


def test_a_dry_run_answers_without_a_resource_version_and_stores_nothing() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await plane.namespace()
            answer = await plane.call("POST", f"{PATH}?dryRun=All", {"metadata": {"name": "a"}})
            assert answer.status == 201
            assert "resourceVersion" not in answer.body["metadata"]
            assert (await plane.call("GET", f"{PATH}/a")).status == 404
            await plane.config_map("a")
            assert (await plane.call("POST", f"{PATH}?dryRun=All", {"metadata": {"name": "a"}})).status == 409

    run(scenario())


def test_a_taken_name_is_409_and_says_if_the_one_that_has_it_is_going() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await plane.namespace()
            await plane.config_map("a", metadata={"finalizers": ["x.io/f"]})
            taken = await plane.call("POST", PATH, {"metadata": {"name": "a"}})
            assert (taken.status, taken.message) == (409, 'configmaps "a" already exists')
            await plane.call("DELETE", f"{PATH}/a")
            going = await plane.call("POST", PATH, {"metadata": {"name": "a"}})
            assert going.message == 'object is being deleted: configmaps "a" already exists'

    run(scenario())


def test_a_name_is_generated_where_none_is_given_and_the_base_is_kept() -> None:
    meta = create({"metadata": {"generateName": "base-"}}).body["metadata"]
    assert re.fullmatch(r"base-[a-z0-9]{5}", meta["name"])
    assert meta["generateName"] == "base-"


class Hanging:
    """A storage that never answers a create of a configmap."""

    def __init__(self, storage: Any) -> None:
        self._storage = storage

    def __getattr__(self, name: str) -> Any:
        return getattr(self._storage, name)

    async def create(self, key: Key, obj: Obj, **options: Any) -> Entry:
        if obj["kind"] == "ConfigMap":
            await asyncio.Event().wait()
        entry: Entry = await self._storage.create(key, obj, **options)
        return entry


def test_a_write_that_the_store_does_not_answer_is_504_before_the_requests_own_deadline() -> None:
    async def scenario() -> None:
        async with running_plane(wrap=Hanging, write_seconds=0.2) as plane:
            await plane.namespace()
            answer = await plane.call("POST", PATH, {"metadata": {"name": "a"}})
            assert (answer.status, answer.message) == (
                504,
                "Timeout: request did not complete within requested timeout - context deadline exceeded",
            )

    run(scenario())


class Counting(random.Random):
    """Gives each pair of generated names the same ending, but for the last ones, which are all the same."""

    def __init__(self) -> None:
        super().__init__()
        self.given = 0

    def choices(self, *_: object, **__: object) -> Any:
        self.given += 1
        return str(min((self.given - 1) // 2, 1))


def test_a_generated_name_that_is_taken_is_tried_again_and_then_given_up() -> None:
    async def scenario() -> None:
        source = Counting()
        async with running_plane(source=source) as plane:
            await plane.namespace()
            for name in ("x-0", "x-1"):
                answer = await plane.call("POST", PATH, {"metadata": {"generateName": "x-"}})
                assert (answer.status, answer.body["metadata"]["name"]) == (201, name)
            answer = await plane.call("POST", PATH, {"metadata": {"generateName": "x-"}})
            assert answer.message == (
                'configmaps "x-1" already exists, the server was not able to generate a unique name for the object'
            )
            assert answer.body["details"]["retryAfterSeconds"] == 1
            assert source.given == 1 + 2 + names.ATTEMPTS

    run(scenario())
