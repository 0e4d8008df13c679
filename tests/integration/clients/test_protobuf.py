"""A client that speaks protobuf only, against a plane over TLS."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from tests.aio import run
from tests.integration.clients.protobuf_client import PROTOBUF, Answer, ProtobufClient, wrap
from tests.integration.plane import Plane, running_plane

MAPS = "/api/v1/namespaces/default/configmaps"
AS_METADATA = f"{PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
AS_METADATA_LIST = f"{PROTOBUF};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


def scenario(directory: Path, play: Callable[[ProtobufClient, Plane], Awaitable[None]]) -> None:
    async def main() -> None:
        async with running_plane(directory) as plane:
            await play(ProtobufClient(plane), plane)

    run(main())


def config_map(name: str, **fields: Any) -> Any:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, **fields}


async def json_of(plane: Plane, path: str) -> Any:
    status, body = await plane.call("GET", path)
    assert status == 200, body
    return body


def bare(obj: Any) -> Any:
    """An object without kind and apiVersion, which its message does not have."""
    return {name: value for name, value in obj.items() if name not in ("kind", "apiVersion")}


def status_of(answer: Answer) -> tuple[int, str, str]:
    status = answer.json("meta_Status")
    assert (answer.api_version, answer.kind, answer.content_type) == ("v1", "Status", PROTOBUF)
    assert status["code"] == answer.status
    return answer.status, status["reason"], status["message"]


def test_an_object_lives_in_protobuf(tmp_path: Path) -> None:
    async def play(client: ProtobufClient, plane: Plane) -> None:
        made = await client.send("POST", MAPS, config_map("a", data={"k": "v"}, immutable=False), "core_ConfigMap")
        assert (made.status, made.content_type) == (201, PROTOBUF)
        assert (made.api_version, made.kind) == ("v1", "ConfigMap")
        shown = made.json("core_ConfigMap")
        assert (shown["data"], shown["immutable"], shown["metadata"]["namespace"]) == ({"k": "v"}, False, "default")
        read = await client.call("GET", f"{MAPS}/a")
        assert read.json("core_ConfigMap") == shown == bare(await json_of(plane, f"{MAPS}/a"))

        shown |= {"data": {"k": "w"}, "apiVersion": "v1", "kind": "ConfigMap"}
        replaced = await client.send("PUT", f"{MAPS}/a", shown, "core_ConfigMap")
        assert (replaced.status, replaced.json("core_ConfigMap")["data"]) == (200, {"k": "w"})
        patched = await client.call(
            "PATCH", f"{MAPS}/a", b'{"data":{"k":"x"}}', content_type="application/merge-patch+json"
        )
        assert patched.json("core_ConfigMap")["data"] == {"k": "x"}
        assert (await client.call("GET", f"{MAPS}/a")).message == patched.message

        options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": "another"}}
        refused = await client.send("DELETE", f"{MAPS}/a", options, "meta_DeleteOptions")
        assert status_of(refused)[:2] == (409, "Conflict")
        options["preconditions"] = {"uid": shown["metadata"]["uid"]}
        gone = await client.send("DELETE", f"{MAPS}/a", options, "meta_DeleteOptions")
        assert gone.json("meta_Status")["status"] == "Success"
        assert status_of(await client.call("GET", f"{MAPS}/a")) == (404, "NotFound", 'configmaps "a" not found')

    scenario(tmp_path, play)


def test_lists_are_those_of_json(tmp_path: Path) -> None:
    async def play(client: ProtobufClient, plane: Plane) -> None:
        for name in ("a", "b", "c"):
            await client.send("POST", MAPS, config_map(name, data={"of": name}), "core_ConfigMap")
        listed = await client.call("GET", f"{MAPS}?limit=2")
        assert (listed.api_version, listed.kind) == ("v1", "ConfigMapList")
        metadata, items = listed.items("core_ConfigMap")
        expected = await json_of(plane, f"{MAPS}?limit=2")
        assert (metadata, items) == (expected["metadata"], expected["items"])
        rest = await client.call("GET", f"{MAPS}?limit=2&continue={metadata['continue']}")
        assert [item["metadata"]["name"] for item in rest.items("core_ConfigMap")[1]] == ["c"]
        none = await client.call("GET", "/api/v1/namespaces/default/secrets")
        assert (none.kind, none.items("core_Secret")[1]) == ("SecretList", [])
        removed = await client.call("DELETE", MAPS)
        assert [item["metadata"]["name"] for item in removed.items("core_ConfigMap")[1]] == ["a", "b", "c"]

    scenario(tmp_path, play)


def test_metadata_alone(tmp_path: Path) -> None:
    async def play(client: ProtobufClient, plane: Plane) -> None:
        await client.send("POST", MAPS, config_map("a", data={"k": "v"}), "core_ConfigMap")
        whole = await json_of(plane, f"{MAPS}/a")
        one = await client.call("GET", f"{MAPS}/a", accept=AS_METADATA)
        assert (one.api_version, one.kind) == ("meta.k8s.io/v1", "PartialObjectMetadata")
        assert one.json("meta_PartialObjectMetadata") == {"metadata": whole["metadata"]}
        several = await client.call("GET", MAPS, accept=AS_METADATA_LIST)
        assert several.kind == "PartialObjectMetadataList"
        assert several.json("meta_PartialObjectMetadataList")["items"] == [{"metadata": whole["metadata"]}]
        path = f"{MAPS}?watch=1&timeoutSeconds=5"
        async with aclosing(client.watch(path, accept=f"{AS_METADATA};stream=watch")) as events:
            kind, event = await anext(events)
            assert (kind, event.kind) == ("ADDED", "PartialObjectMetadata")
            assert event.json("meta_PartialObjectMetadata") == {"metadata": whole["metadata"]}

    scenario(tmp_path, play)


def test_a_watch_is_frames(tmp_path: Path) -> None:
    async def play(client: ProtobufClient, plane: Plane) -> None:
        await client.send("POST", MAPS, config_map("a"), "core_ConfigMap")
        path = f"{MAPS}?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"
        async with aclosing(client.watch(f"{path}&timeoutSeconds=20")) as events:
            kind, added = await anext(events)
            assert (kind, added.content_type) == ("ADDED", f"{PROTOBUF};stream=watch")
            assert added.json("core_ConfigMap") == bare(await json_of(plane, f"{MAPS}/a"))
            kind, bookmark = await anext(events)
            assert (kind, bookmark.kind) == ("BOOKMARK", "ConfigMap")
            assert bookmark.json("core_ConfigMap")["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
            await client.send("PUT", f"{MAPS}/a", config_map("a", data={"k": "v"}), "core_ConfigMap")
            kind, modified = await anext(events)
            assert (kind, modified.json("core_ConfigMap")["data"]) == ("MODIFIED", {"k": "v"})
            assert modified.message == (await client.call("GET", f"{MAPS}/a")).message
            await client.call("DELETE", f"{MAPS}/a")
            kind, deleted = await anext(events)
            assert (kind, deleted.json("core_ConfigMap")["data"]) == ("DELETED", {"k": "v"})
        async with aclosing(client.watch(f"{MAPS}?watch=1&resourceVersion=9999999&timeoutSeconds=5")) as events:
            kind, error = await anext(events)
            assert (kind, error.api_version, error.kind) == ("ERROR", "v1", "Status")
            assert error.json("meta_Status")["code"] == 504

    scenario(tmp_path, play)


def test_a_watch_over_a_websocket_is_messages(tmp_path: Path) -> None:
    async def play(client: ProtobufClient, plane: Plane) -> None:
        await client.send("POST", MAPS, config_map("a", data={"k": "v"}), "core_ConfigMap")
        async with aclosing(client.watch_messages(f"{MAPS}?watch=1&timeoutSeconds=20")) as events:
            kind, added = await anext(events)
            assert kind == "ADDED"
            assert added.json("core_ConfigMap") == bare(await json_of(plane, f"{MAPS}/a"))
            await client.call("DELETE", f"{MAPS}/a")
            assert (await anext(events))[0] == "DELETED"

    scenario(tmp_path, play)


def test_a_review_is_asked_and_answered(tmp_path: Path) -> None:
    async def play(client: ProtobufClient, _plane: Plane) -> None:
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
        answer = await client.send("POST", path, review, "authentication_SelfSubjectReview")
        assert (answer.status, answer.api_version, answer.kind) == (201, review["apiVersion"], review["kind"])
        user = answer.json("authentication_SelfSubjectReview")["status"]["userInfo"]
        assert "system:masters" in user["groups"]
        assert all(isinstance(values, list) for values in user["extra"].values())

    scenario(tmp_path, play)


def test_discovery(tmp_path: Path) -> None:
    async def play(client: ProtobufClient, plane: Plane) -> None:
        for path, api_version, kind in (
            ("/api", "", "APIVersions"),
            ("/apis", "v1", "APIGroupList"),
            ("/apis/coordination.k8s.io", "v1", "APIGroup"),
            ("/api/v1", "", "APIResourceList"),
            ("/apis/coordination.k8s.io/v1", "v1", "APIResourceList"),
        ):
            answer = await client.call("GET", path)
            assert (answer.api_version, answer.kind, answer.content_type) == (api_version, kind, PROTOBUF)
            assert answer.json(f"meta_{kind}") == dropped_empty(bare(await json_of(plane, path)))
        parameters = ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
        answer = await client.call("GET", "/apis", accept=PROTOBUF + parameters)
        assert answer.content_type == PROTOBUF + parameters
        groups = answer.json("apidiscovery_APIGroupDiscoveryList")["items"]
        assert "coordination.k8s.io" in [group["metadata"]["name"] for group in groups]

    scenario(tmp_path, play)


def dropped_empty(value: Any) -> Any:
    """Without empty text and False, which JSON has in a few places where Go's JSON does not leave it out."""
    if isinstance(value, list):
        return [dropped_empty(item) for item in value]
    if isinstance(value, dict):
        return {name: dropped_empty(part) for name, part in value.items() if part not in ("", False)}
    return value


WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
DEFINITION: Any = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {"spec": {"type": "object", "additionalProperties": {"type": "string"}}},
                    }
                },
            }
        ],
    },
}


def test_custom_resources_have_no_protobuf_but_their_definitions_do(tmp_path: Path) -> None:
    async def play(client: ProtobufClient, plane: Plane) -> None:
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        made = await client.send("POST", path, DEFINITION, "apiextensions_CustomResourceDefinition")
        schema = made.json("apiextensions_CustomResourceDefinition")["spec"]["versions"][0]["schema"]
        assert schema == DEFINITION["spec"]["versions"][0]["schema"]
        widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"a": "b"}}
        assert (await plane.call("POST", WIDGETS, widget))[0] == 201

        supported = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
        refused = await client.call("GET", f"{WIDGETS}/w")
        message = f"only the following media types are accepted: {supported}"
        assert status_of(refused) == (406, "NotAcceptable", message)
        headers = {"Accept": f"{PROTOBUF},application/json"}
        assert (await plane.call("GET", f"{WIDGETS}/w", headers=headers))[1]["spec"] == {"a": "b"}
        one = await client.call("GET", f"{WIDGETS}/w", accept=AS_METADATA)
        assert one.json("meta_PartialObjectMetadata")["metadata"]["name"] == "w"
        body = wrap("example.com/v1", "Widget", b"")
        message = (
            'Widget in version "v1" cannot be handled as a Widget: object *unstructured.Unstructured does not '
            "implement the protobuf marshalling interface and cannot be encoded to a protobuf message"
        )
        sent = await client.call("POST", WIDGETS, body, accept=f"{AS_METADATA},{PROTOBUF}")
        assert status_of(sent) == (400, "BadRequest", message)

    scenario(tmp_path, play)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param(
            b"{}",
            "the object provided is unrecognized (must be of type ConfigMap): provided data does not appear to be a "
            "protobuf message, expected prefix [107 56 115 0] ({})",
            id="JSON",
        ),
        pytest.param(
            b"k8s\x00\xff",
            "the object provided is unrecognized (must be of type ConfigMap): unexpected EOF (6b387300ff)",
            id="cut off",
        ),
        pytest.param(
            b"k8s\x00\x12\x02\x08\x01",
            'ConfigMap in version "v1" cannot be handled as a ConfigMap: proto: wrong wireType = 0 for field '
            "ObjectMeta",
            id="another type",
        ),
        pytest.param(
            wrap("v1", "Secret", b""),
            'Secret in version "v1" cannot be handled as a ConfigMap: converting (v1.Secret) to (core.ConfigMap): '
            "unknown conversion",
            id="another kind",
        ),
    ],
)
def test_a_body_that_is_none_is_400(tmp_path: Path, body: bytes, message: str) -> None:
    async def play(client: ProtobufClient, _plane: Plane) -> None:
        status, _, given = status_of(await client.call("POST", MAPS, body))
        assert (status, given) == (400, message)

    scenario(tmp_path, play)
