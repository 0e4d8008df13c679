"""The part of a Swagger 2.0 document that is one version's."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from controlplane.aggregator.legacy_discovery import from_resource_list
from controlplane.apimachinery.identity import GroupVersion
from controlplane.apiserver.openapi.dialect import Dialect
from controlplane.apiserver.openapi.fragments import Fragment
from controlplane.apiserver.openapi.json_documents import JSONEncoder
from controlplane.apiserver.openapi.proto import openapi_v2_pb2 as v2
from controlplane.apiserver.openapi.proto import openapi_v3_pb2 as v3
from controlplane.apiserver.openapi.protobuf_documents import ProtobufEncoder
from controlplane.apiserver.openapi.remote_fragments import remote_fragments
from controlplane.apiserver.openapi.remote_parts import part_of
from controlplane.apiserver.openapi.steps import Steps
from controlplane.apiserver.registry.remote import RemoteSwagger


def finished(steps: Steps[Any]) -> Any:
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


DOCUMENT: dict[str, Any] = {
    "paths": {
        "/apis/g/v1/things": {"get": {"schema": {"$ref": "#/definitions/Thing"}}},
        "/apis/other/v1/things": {"get": {"schema": {"$ref": "#/definitions/Other"}}},
    },
    "definitions": {
        "Thing": {"properties": {"meta": {"$ref": "#/definitions/Meta"}, "self": {"$ref": "#/definitions/Thing"}}},
        "Meta": {"type": "object"},
        "Other": {"type": "string"},
    },
}


def test_paths_of_others_and_what_only_they_need_are_left_out() -> None:
    swagger = part_of(DOCUMENT, "/apis/g/v1/", "digest")
    assert list(swagger.paths) == ["/apis/g/v1/things"]
    assert sorted(swagger.definitions) == ["Meta", "Thing"]


def test_a_definition_that_means_something_else_here_gets_another_name() -> None:
    swagger = part_of(DOCUMENT, "/apis/g/v1/", "digest")
    ours = Fragment({}, {"Meta": b'{"type":"integer"}', "Meta_v2": b"{}", "Thing": b""})
    (made,) = finished(remote_fragments([swagger], [ours], JSONEncoder(Dialect.V2)))
    assert sorted(made.definitions) == ["Meta_v3", "Thing_v2"]
    assert made.definitions["Meta_v3"] == b'{"type":"object"}'
    assert b'"#/definitions/Meta_v3"' in made.definitions["Thing_v2"]
    assert b'"#/definitions/Thing_v2"' in made.paths["/apis/g/v1/things"]


def test_one_that_means_the_same_keeps_its_name() -> None:
    swagger = part_of(DOCUMENT, "/apis/g/v1/", "digest")
    (made,) = finished(
        remote_fragments([swagger], [Fragment({}, {"Meta": b'{"type":"object"}'})], JSONEncoder(Dialect.V2))
    )
    assert sorted(made.definitions) == ["Meta", "Thing"]


def test_a_list_of_resources_in_the_aggregated_form() -> None:
    listed = [
        {"name": "things", "singularName": "thing", "namespaced": True, "kind": "Thing", "verbs": ["get"]},
        {"name": "things/scale", "namespaced": True, "kind": "Scale", "group": "autoscaling", "version": "v1"},
    ]
    assert from_resource_list(GroupVersion("g", "v1"), listed) == {
        "version": "v1",
        "resources": [
            {
                "resource": "things",
                "responseKind": {"group": "g", "version": "v1", "kind": "Thing"},
                "scope": "Namespaced",
                "singularResource": "thing",
                "verbs": ["get"],
                "subresources": [
                    {
                        "subresource": "scale",
                        "responseKind": {"group": "autoscaling", "version": "v1", "kind": "Scale"},
                        "verbs": [],
                    }
                ],
            }
        ],
    }


@pytest.mark.parametrize("dialect", [Dialect.V2, Dialect.V3])
def test_in_protobuf_what_others_need_not_say_is_empty(dialect: Dialect) -> None:
    in_body = {"schema": {"type": "string"}}
    paths: dict[str, dict[str, Any]] = {
        "/a": {"summary": "s", "x-a": 1, "get": {}},
        "/b": {"get": {"responses": {"200": {**in_body, "content": {"text/plain": in_body}}}}},
        "/c": {"get": {"parameters": [{"name": "p", "in": "query"}, {"name": "p", "in": "path", "required": True}]}},
        "/d": {"post": {"requestBody": {"content": {"text/plain": {}}}, "parameters": [{"name": "b", "in": "body"}]}},
    }
    (made,) = finished(remote_fragments([RemoteSwagger("", paths, {})], [], ProtobufEncoder(dialect)))
    assert list(made.paths) == list(paths)
    paths_message = (v2 if dialect is Dialect.V2 else v3).Paths
    assert [paths_message.FromString(made.paths[path]).path[0].name for path in paths] == list(paths)
    assert b"string" in made.paths["/b"]


ILL_FORMED: dict[str, tuple[Any, Any]] = {
    "numbers": (5, 5),
    "lists of numbers": ({"parameters": [5]}, {"properties": {"a": 5}}),
    "texts": ({"responses": "all"}, {"minLength": "none"}),
}


@pytest.mark.parametrize("encoder", [ProtobufEncoder(Dialect.V2), ProtobufEncoder(Dialect.V3)], ids=["2", "3"])
@pytest.mark.parametrize("what", ILL_FORMED)
def test_what_is_ill_formed_is_left_out_and_nothing_else(
    what: str, encoder: ProtobufEncoder, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    item, schema = ILL_FORMED[what]
    theirs = RemoteSwagger("", {"/a": {"get": item}, "/b": {"get": {}}}, {"A": schema, "B": {"type": "object"}})
    (made,) = finished(remote_fragments([theirs], [Fragment({}, {"A": b"ours"})], encoder))
    assert list(made.paths) == ["/b"]
    assert list(made.definitions) == ["B"]
    assert len(caplog.records) == 2
