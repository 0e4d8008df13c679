from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from controlplane.apimachinery.codec.json import MAX_DEPTH, dumps
from controlplane.apiserver.openapi.custom_schemas import custom_kind
from controlplane.apiserver.openapi.dialect import Dialect
from controlplane.apiserver.openapi.json_documents import JSONEncoder
from controlplane.apiserver.openapi.steps import at_once
from tests.unit.apiserver.openapi.published import WIDGET_SCHEMA, get_json, widgets

KIND = "com.example.shop.v1.Widget"
OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
EITHER = [{"type": "integer"}, {"type": "string"}]


def written(schema: dict[str, Any], dialect: Dialect) -> bytes:
    return at_once(JSONEncoder(dialect).custom_definition("", custom_kind(schema, {}, dialect)))


def published(schema: dict[str, Any], dialect: Dialect) -> Any:
    before = copy.deepcopy(schema)
    kind = json.loads(written(schema, dialect))
    assert schema == before, "the schema of the resource was changed"
    return kind


def field(schema: dict[str, Any], dialect: Dialect) -> Any:
    """How the schema of one field is published."""
    return published({"type": "object", "properties": {"f": schema}}, dialect)["properties"]["f"]


def test_openapi_3_has_the_schema_as_it_was_given() -> None:
    kind = get_json("/openapi/v3/apis/shop.example.com/v1", widgets())["components"]["schemas"][KIND]
    spec, given = kind["properties"]["spec"]["properties"], WIDGET_SCHEMA["properties"]["spec"]["properties"]
    same = sorted(set(given) - {"port", "template"})
    assert {name: spec[name] for name in same} == {name: given[name] for name in same}
    assert kind["required"] == ["spec"]
    assert kind["description"] == "A widget."
    assert kind["properties"]["metadata"]["allOf"] == [{"$ref": f"#/components/schemas/{OBJECT_META}"}]
    assert kind["properties"]["apiVersion"]["type"] == kind["properties"]["kind"]["type"] == "string"
    gvk = {"group": "shop.example.com", "kind": "Widget", "version": "v1"}
    assert kind["x-kubernetes-group-version-kind"] == [gvk]
    assert kind["x-kubernetes-selectable-fields"] == [{"fieldPath": "spec.n"}]


def test_the_list_of_a_custom_kind_is_published_too() -> None:
    schemas = get_json("/openapi/v3/apis/shop.example.com/v1", widgets())["components"]["schemas"]
    listed = schemas[f"{KIND}List"]
    assert listed["required"] == ["items"]
    assert listed["properties"]["items"]["items"] == {"$ref": f"#/components/schemas/{KIND}"}
    gvk = {"group": "shop.example.com", "kind": "WidgetList", "version": "v1"}
    assert listed["x-kubernetes-group-version-kind"] == [gvk]


def test_scale_is_published_with_its_own_kind() -> None:
    document = get_json("/openapi/v3/apis/shop.example.com/v1", widgets())
    scale = document["paths"]["/apis/shop.example.com/v1/namespaces/{namespace}/widgets/{name}/scale"]
    answer = scale["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    assert answer == {"$ref": "#/components/schemas/io.k8s.api.autoscaling.v1.Scale"}
    assert "io.k8s.api.autoscaling.v1.ScaleSpec" in document["components"]["schemas"]


@pytest.mark.parametrize(
    ("schema", "expect"),
    [
        pytest.param(
            {"x-kubernetes-int-or-string": True},
            {"x-kubernetes-int-or-string": True, "anyOf": EITHER},
            id="a number or a text is spelled out",
        ),
        pytest.param(
            {"x-kubernetes-int-or-string": True, "anyOf": EITHER, "pattern": "a"},
            {"x-kubernetes-int-or-string": True, "anyOf": EITHER, "pattern": "a"},
            id="once is enough",
        ),
        pytest.param(
            {"x-kubernetes-int-or-string": True, "anyOf": [{"pattern": "a"}], "allOf": [{"maxLength": 3}]},
            {
                "x-kubernetes-int-or-string": True,
                "anyOf": [{"pattern": "a"}],
                "allOf": [{"anyOf": EITHER}, {"maxLength": 3}],
            },
            id="beside other alternatives",
        ),
        pytest.param(
            {"x-kubernetes-int-or-string": True, "allOf": [{"anyOf": EITHER}]},
            {"x-kubernetes-int-or-string": True, "allOf": [{"anyOf": EITHER}]},
            id="said among others",
        ),
    ],
)
def test_int_or_string_in_openapi_3(schema: dict[str, Any], expect: dict[str, Any]) -> None:
    assert field(schema, Dialect.V3) == expect


@pytest.mark.parametrize("dialect", Dialect)
def test_an_embedded_object_has_the_fields_of_objects(dialect: Dialect) -> None:
    embedded = field({"type": "object", "x-kubernetes-embedded-resource": True, "required": ["kind"]}, dialect)
    assert embedded["required"] == ["kind", "apiVersion"]
    assert list(embedded["properties"]) == ["apiVersion", "kind", "metadata"]


PRESERVE = {"x-kubernetes-preserve-unknown-fields": True}


@pytest.mark.parametrize(
    ("schema", "expect"),
    [
        pytest.param(
            {"type": "string", "default": "a", "maxLength": 3}, {"type": "string", "maxLength": 3}, id="default"
        ),
        pytest.param(
            {"type": "object", "oneOf": [{}], "anyOf": [{}], "allOf": [{}], "not": {}},
            {"type": "object"},
            id="alternatives",
        ),
        pytest.param({"type": "string", "nullable": True, "enum": ["a"]}, {"enum": ["a"]}, id="nullable"),
        pytest.param(
            {"type": "object", "nullable": True, "properties": {"x": {"type": "string"}}}, {}, id="nullable object"
        ),
        pytest.param({"type": "array", "nullable": True, "items": {"type": "string"}}, {}, id="nullable array"),
        pytest.param(
            {"type": "object", **PRESERVE, "properties": {"x": {"type": "string"}}}, PRESERVE, id="unknown fields kept"
        ),
        pytest.param({"type": "array", **PRESERVE, "items": {"type": "string"}}, PRESERVE, id="array of anything"),
        pytest.param({"type": "array"}, {}, id="array without items"),
        pytest.param(
            {"x-kubernetes-int-or-string": True, "anyOf": EITHER},
            {"x-kubernetes-int-or-string": True},
            id="int or string",
        ),
        pytest.param(
            {
                "type": "object",
                "required": ["a", "b"],
                "properties": {"a": {"type": "string", "nullable": True}, "b": {"type": "string"}},
            },
            {"type": "object", "required": ["b"], "properties": {"a": {}, "b": {"type": "string"}}},
            id="a nullable field is not required",
        ),
        pytest.param(
            {"type": "object", "required": ["a"], "properties": {"a": {"type": "string", "nullable": True}}},
            {"type": "object", "properties": {"a": {}}},
            id="none is required",
        ),
        pytest.param(
            {"type": "object", "required": ["a"], "additionalProperties": {"type": "string", "nullable": True}},
            {"type": "object", "additionalProperties": {}},
            id="nullable values",
        ),
        pytest.param(
            {"type": "object", "additionalProperties": {"type": "integer", "default": 1}},
            {"type": "object", "additionalProperties": {"type": "integer"}},
            id="values",
        ),
        pytest.param(
            {"type": "object", "additionalProperties": True}, {"type": "object", "additionalProperties": True}, id="any"
        ),
        pytest.param(
            {"type": "array", "items": {"type": "object", "properties": {'a"b': {"type": "string", "default": ""}}}},
            {"type": "array", "items": {"type": "object", "properties": {'a"b': {"type": "string"}}}},
            id="fields of items",
        ),
        pytest.param(
            {"type": "object", **PRESERVE, "x-kubernetes-embedded-resource": True},
            {**PRESERVE, "x-kubernetes-embedded-resource": True},
            id="an embedded object of any kind",
        ),
    ],
)
def test_swagger_2_leaves_out_what_it_cannot_say(schema: dict[str, Any], expect: dict[str, Any]) -> None:
    assert field(schema, Dialect.V2) == expect


@pytest.mark.parametrize(
    ("schema", "dialect"),
    [
        pytest.param({}, Dialect.V3, id="no schema, OpenAPI 3"),
        pytest.param({}, Dialect.V2, id="no schema, Swagger 2"),
        pytest.param({"type": "object", **PRESERVE, "properties": {"spec": {}}}, Dialect.V2, id="keeps all, Swagger 2"),
    ],
)
def test_a_kind_of_any_fields_is_an_object(schema: dict[str, Any], dialect: Dialect) -> None:
    assert published(schema, dialect) == {"type": "object"}


@pytest.mark.parametrize("dialect", Dialect)
def test_a_schema_as_deep_as_a_definition_can_be_is_published(dialect: Dialect) -> None:
    definition_levels = 6
    schema: dict[str, Any] = {"x-kubernetes-int-or-string": True}
    levels = 1
    while levels + 2 + definition_levels <= MAX_DEPTH:
        schema = {"type": "object", "properties": {"f": schema}}
        levels += 2
    dumps(schema)
    text = written(schema, dialect)
    assert text.count(b'"f":') == levels // 2
