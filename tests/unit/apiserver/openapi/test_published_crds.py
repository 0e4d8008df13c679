"""Definitions as they are published in the world."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from controlplane.apimachinery.resource import Resource
from controlplane.apiserver.openapi.custom_schemas import custom_kind
from controlplane.apiserver.openapi.dialect import Dialect
from controlplane.apiserver.openapi.json_documents import JSONEncoder
from controlplane.apiserver.openapi.messages_v2 import definition_message as v2_message
from controlplane.apiserver.openapi.proto import openapi_v2_pb2 as v2
from controlplane.apiserver.openapi.proto import openapi_v3_pb2 as v3
from controlplane.apiserver.openapi.protobuf_documents import ProtobufEncoder
from controlplane.apiserver.openapi.steps import at_once
from tests.crds import published_crds, resource_of
from tests.unit.apiserver.openapi.test_protobuf import read, without_empty

OBJECT_FIELDS = {"apiVersion", "kind", "metadata"}
NOT_IN_V2 = {"allOf", "anyOf", "oneOf", "not", "nullable", "default"}


@pytest.fixture(scope="module")
def schemas() -> list[tuple[str, dict[str, Any]]]:
    """Every schema of two areas, by the name of its kind and version."""
    resources = [resource_of(crd) for area in ("cert-manager", "gateway-api") for crd in published_crds(area)]
    if not resources:
        pytest.skip("no shared/data/crds on this machine")
    return [(f"{resource.kind}.{version.name}", version.schema) for resource, version in versions(resources)]


def versions(resources: list[Resource]) -> Iterator[tuple[Resource, Any]]:
    for resource in resources:
        for version in resource.versions:
            yield resource, version


def published(schema: dict[str, Any], dialect: Dialect) -> Any:
    kind = custom_kind(schema, {}, dialect)
    return json.loads(at_once(JSONEncoder(dialect).custom_definition("", kind)))


def levels(schema: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """A schema and all schemas of fields, items and values in it, by path."""
    yield path, schema
    for name, child in schema.get("properties", {}).items():
        yield from levels(child, f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from levels(schema[key], f"{path}.{key}")


def test_openapi_3_has_every_level_as_it_was_given(schemas: list[tuple[str, dict[str, Any]]]) -> None:
    for name, schema in schemas:
        found = dict(levels(published(schema, Dialect.V3)))
        for path, level in levels(schema):
            if path.split(".")[1:2] and path.split(".")[1] in OBJECT_FIELDS:
                continue
            plain = {key: value for key, value in level.items() if key not in {"properties", "items"}}
            assert plain.items() <= {**found[path], **plain}.items(), (name, path)
            added = found[path].keys() - level.keys()
            allowed = {"properties"} if not path else {"anyOf", "allOf"}
            assert added <= allowed, (name, path)


def test_swagger_2_has_nothing_that_kubectl_stumbles_over(schemas: list[tuple[str, dict[str, Any]]]) -> None:
    for name, schema in schemas:
        for path, level in levels(published(schema, Dialect.V2)):
            assert not level.keys() & NOT_IN_V2, (name, path)
            if level.get("type") == "array":
                assert "items" in level, (name, path)
            if level.get("x-kubernetes-preserve-unknown-fields"):
                assert not level.keys() & {"properties", "items"}, (name, path)


def test_protobuf_says_the_same(schemas: list[tuple[str, dict[str, Any]]]) -> None:
    for name, schema in schemas:
        for dialect in Dialect:
            kind = custom_kind(schema, {}, dialect)
            encoded = at_once(ProtobufEncoder(dialect).custom_definition("x", kind))
            message = (v3.SchemasOrReferences if dialect is Dialect.V3 else v2.Definitions).FromString(encoded)
            assert without_empty(read(message)) == {"x": without_empty(published(schema, dialect))}, (name, dialect)


def test_depth_costs_no_stack() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(5000):
        schema = {"type": "object", "properties": {"f": schema}}
    message = at_once(v2_message("x", schema))
    (only,) = message.additional_properties
    depth = 0
    level = only.value
    while level.HasField("properties"):
        (child,) = level.properties.additional_properties
        level, depth = child.value, depth + 1
    assert depth == 5000
    while "properties" in schema:  # taken apart from the top: a deep tree is freed by recursion
        schema = schema["properties"]["f"]
