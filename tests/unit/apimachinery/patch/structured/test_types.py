"""Which types schemas stand for."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.apimachinery.patch.structured.types import Type, object_type

TEXT: dict[str, Any] = {"type": "string"}


@pytest.mark.parametrize(
    ("schema", "scalar"),
    [
        pytest.param(TEXT, "string", id="string"),
        pytest.param({**TEXT, "format": "byte"}, "string", id="bytes"),
        pytest.param({**TEXT, "format": "date-time"}, "untyped", id="time"),
        pytest.param({**TEXT, "format": "int-or-string"}, "untyped", id="text or number"),
        pytest.param({"type": "integer"}, "numeric", id="integer"),
        pytest.param({"type": "number"}, "numeric", id="number"),
        pytest.param({"type": "boolean"}, "boolean", id="boolean"),
    ],
)
def test_scalars(schema: Any, scalar: str) -> None:
    type_ = Type(schema)
    assert (type_.only, type_.scalar) == ("scalar", scalar)


@pytest.mark.parametrize("schema", [{}, {"x-kubernetes-int-or-string": True}])
def test_what_has_no_type_may_be_anything(schema: Any) -> None:
    type_ = Type(schema)
    assert type_.only == ""
    assert type_.scalar == "untyped"
    assert type_.list is not None
    assert not type_.list.associative
    assert type_.map is not None
    assert not type_.map.atomic


@pytest.mark.parametrize(
    ("schema", "associative", "keys"),
    [
        pytest.param({}, False, (), id="plain"),
        pytest.param({"x-kubernetes-list-type": "atomic"}, False, (), id="atomic"),
        pytest.param({"x-kubernetes-list-type": "set"}, True, (), id="set"),
        pytest.param(
            {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "b"]}, True, ("a", "b"), id="map"
        ),
        pytest.param(
            {"x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "a"}, True, ("a",), id="merge key"
        ),
        pytest.param({"x-kubernetes-patch-strategy": "merge"}, True, (), id="merge without a key"),
        pytest.param({"x-kubernetes-patch-strategy": "retainKeys"}, False, (), id="retained keys"),
        pytest.param(
            {"x-kubernetes-list-type": "atomic", "x-kubernetes-patch-strategy": "merge"}, False, (), id="type first"
        ),
    ],
)
def test_lists(schema: Any, associative: bool, keys: tuple[str, ...]) -> None:
    made = Type({"type": "array", "items": {"type": "object"}, **schema}).list
    assert made is not None
    assert (made.associative, made.keys) == (associative, keys)


@pytest.mark.parametrize(
    ("schema", "allowed"),
    [
        pytest.param({"properties": {"a": TEXT}}, False, id="declared only"),
        pytest.param({}, True, id="nothing declared"),
        pytest.param({"properties": {"a": TEXT}, "x-kubernetes-preserve-unknown-fields": True}, True, id="open"),
        pytest.param({"additionalProperties": TEXT}, True, id="all of one type"),
        pytest.param({"properties": {"a": TEXT}, "additionalProperties": True}, True, id="others too"),
        pytest.param({"additionalProperties": False}, False, id="none"),
    ],
)
def test_maps_allow_other_fields_than_the_declared_ones(schema: Any, allowed: bool) -> None:
    made = Type({"type": "object", **schema}).map
    assert made is not None
    assert (made.field("other") is not None) == allowed


def test_what_is_below_an_open_object_is_open() -> None:
    below = {"type": "object", "properties": {"a": TEXT}}
    outer = Type({"type": "object", "properties": {"b": below}, "x-kubernetes-preserve-unknown-fields": True}).map
    assert outer is not None
    inner = outer.field("b")
    assert inner is not None
    assert inner.map is not None
    assert inner.map.field("other") is not None


def test_objects_and_embedded_ones_have_the_metadata_of_all_objects() -> None:
    embedded = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
    whole = object_type({"properties": {"template": embedded}}).map
    assert whole is not None
    template = whole.field("template")
    assert template is not None
    assert template.map is not None
    metadata = whole.field("metadata")
    assert metadata is template.map.field("metadata")
    assert metadata is not None
    assert metadata.map is not None
    assert metadata.map.field("nope") is None


def test_what_says_nothing_is_free() -> None:
    assert Type({}).free
    assert Type({"x-kubernetes-preserve-unknown-fields": True}).free
    assert not Type({"type": "object"}).free
    assert not Type({"properties": {"a": TEXT}}).free


def test_equality_is_exact_where_all_scalars_are_declared() -> None:
    declared = {"type": "object", "properties": {"a": TEXT, "b": {"type": "array", "items": {"type": "integer"}}}}
    assert Type(declared).exact
    assert not Type({"type": "object", "properties": {"a": declared, "b": {}}}).exact
    assert not Type({"type": "array"}).exact
    assert not Type({"type": "object", "properties": {f"p{n}": TEXT for n in range(1000)}}).exact, "too large to look"
