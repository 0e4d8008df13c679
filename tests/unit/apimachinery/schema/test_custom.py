"""Custom objects through their schema: what goes, what comes, what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.apimachinery.codec.json import dumps
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.custom import CustomSchema, settle_numbers
from controlplane.apimachinery.schema.decode import DecodeError

EMBEDDED: Obj = {
    "type": "object",
    "x-kubernetes-embedded-resource": True,
    "x-kubernetes-preserve-unknown-fields": True,
}


def schema(spec: Obj) -> CustomSchema:
    return CustomSchema({"type": "object", "properties": {"spec": spec}})


def decoded(spec: Obj, value: Any) -> tuple[Any, list[str]]:
    obj: Obj = {"apiVersion": "g/v1", "kind": "K", "metadata": {"name": "a"}, "spec": value}
    unknown = schema(spec).decode(obj)
    return obj.get("spec"), [text.removeprefix("unknown field ").strip('"') for text in unknown]


@pytest.mark.parametrize(
    ("spec", "value", "kept", "unknown"),
    [
        pytest.param({"type": "object"}, {"x": 1}, {}, ["spec.x"], id="no fields at all"),
        pytest.param(
            {"type": "object", "properties": {"l": {"type": "array", "items": {"type": "object"}}}},
            {"l": [{}, {"y": {"z": 1}}], "b": 1},
            {"l": [{}, {}]},
            ["spec.b", "spec.l[1].y"],
            id="in lists, sorted",
        ),
        pytest.param(
            {"type": "object", "additionalProperties": {"type": "object", "properties": {"a": {"type": "string"}}}},
            {"k": {"a": "x", "b": 1}},
            {"k": {"a": "x"}},
            ["spec.k.b"],
            id="other fields have a schema",
        ),
        pytest.param(
            {
                "type": "object",
                "x-kubernetes-preserve-unknown-fields": True,
                "properties": {"p": {"type": "object", "properties": {"a": {"type": "string"}}}},
            },
            {"any": {"thing": 1}, "p": {"a": "x", "b": 1}},
            {"any": {"thing": 1}, "p": {"a": "x"}},
            ["spec.p.b"],
            id="kept but below named ones",
        ),
        pytest.param({"type": "object", "properties": {"s": {"type": "string"}}}, {"s": None}, {}, [], id="null goes"),
        pytest.param(
            {"type": "object", "properties": {"s": {"type": "string", "nullable": True}}},
            {"s": None},
            {"s": None},
            [],
            id="null that may be stays",
        ),
        pytest.param(
            {"type": "object", "properties": {"e": EMBEDDED}},
            {"e": {"apiVersion": "v1", "kind": "X", "metadata": {"name": "n", "bogus": 1}, "data": {"a": 1}}},
            {"e": {"apiVersion": "v1", "kind": "X", "metadata": {"name": "n"}, "data": {"a": 1}}},
            ["spec.e.metadata.bogus"],
            id="metadata of embedded objects",
        ),
    ],
)
def test_decoding(spec: Obj, value: Any, kept: Any, unknown: list[str]) -> None:
    assert decoded(spec, value) == (kept, unknown)


def test_metadata_is_read_as_any_other() -> None:
    obj: Obj = {"metadata": {"name": "a", "labels": {}, "bogus": 1}}
    assert CustomSchema({"type": "object"}).decode(obj) == ['unknown field "metadata.bogus"']
    assert obj == {"metadata": {"name": "a"}}
    text = "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string"
    with pytest.raises(DecodeError, match=text):
        CustomSchema({"type": "object"}).decode({"metadata": {"labels": {"a": 1}}})


def test_numbers_that_are_too_long_are_rounded() -> None:
    spec: Obj = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    numbers = [2**63, 2**63 - 1, -(2**63), -(2.0**63), 2**64 - 1, 1.5e20, 1e21]
    shown = b"[9223372036854776000,9223372036854775807,-9223372036854775808,-9223372036854776000,18446744073709552000,"
    assert dumps(decoded(spec, {"n": numbers})[0]["n"]) == shown + b"150000000000000000000,1e+21]"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param({}, {"a": 1, "o": {"x": "y"}}, id="all of it"),
        pytest.param({"a": None}, {"a": 1, "o": {"x": "y"}}, id="null is missing"),
        pytest.param({"a": 2, "o": {}}, {"a": 2, "o": {"x": "z"}}, id="inside what is given"),
        pytest.param({"a": 2, "o": {}, "l": [{}]}, {"a": 2, "o": {"x": "z"}, "l": [{"i": True}]}, id="in items"),
    ],
)
def test_defaults(value: Obj, expected: Obj) -> None:
    spec: Obj = {
        "type": "object",
        "properties": {
            "a": {"type": "integer", "default": 1},
            "o": {
                "type": "object",
                "default": {"x": "y"},
                "properties": {"x": {"type": "string", "default": "z"}},
            },
            "l": {
                "type": "array",
                "items": {"type": "object", "properties": {"i": {"type": "boolean", "default": True}}},
            },
        },
    }
    custom = schema(spec)
    obj = {"spec": value}
    assert custom.default(obj) is True
    assert obj == {"spec": expected}
    assert custom.default(obj) is False
    obj["spec"].setdefault("o", {})["x"] = "mine"
    again: Obj = {"spec": {}}
    custom.default(again)
    assert again["spec"]["o"] == {"x": "y"}  # defaults are copied


def test_reading_says_whether_it_changed_anything() -> None:
    custom = schema({"type": "object", "properties": {"a": {"type": "integer", "default": 1}}})
    assert custom.read({"metadata": {"generation": 1}, "spec": {"a": 2}}) is False
    assert custom.read({"metadata": {}, "spec": {}}) is True
    assert custom.read({"metadata": {}, "spec": {"a": 2, "b": 1}}) is True


LISTS: Obj = {
    "type": "object",
    "properties": {
        "s": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        "m": {
            "type": "array",
            "items": {"type": "object", "properties": {"k": {"type": "string"}, "p": {"type": "integer"}}},
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k", "p"],
        },
    },
}


@pytest.mark.parametrize(
    ("spec", "texts"),
    [
        pytest.param({"s": ["a", "b"]}, [], id="a set"),
        pytest.param({"s": ["a", "b", "a", "a"]}, ['spec.s[2]: Duplicate value: "a"'], id="told once"),
        pytest.param({"m": [{"k": "a", "p": 1}, {"k": "a", "p": 2}]}, [], id="keys together"),
        pytest.param(
            {"m": [{"p": 1, "k": "a"}, {"k": "a", "p": 1}]},
            ['spec.m[1]: Duplicate value: {"k":"a","p":1}'],
            id="equal keys",
        ),
        pytest.param({"m": [{}, {}]}, ["spec.m[1]: Duplicate value: {}"], id="missing keys are equal"),
    ],
)
def test_lists_that_repeat(spec: Obj, texts: list[str]) -> None:
    custom = schema(LISTS)
    assert [str(error) for error in custom.list_errors({"spec": spec}, None)] == texts
    assert custom.fits({"spec": spec}) is (not texts)
    assert custom.list_errors({"spec": spec}, {"spec": spec}) == []


@pytest.mark.parametrize(
    ("value", "fields"),
    [
        pytest.param({"apiVersion": "v1", "kind": "X"}, [], id="enough"),
        pytest.param({}, ["spec.e.apiVersion", "spec.e.kind"], id="nothing"),
        pytest.param({"apiVersion": "a/b/c", "kind": ""}, ["spec.e.apiVersion", "spec.e.kind"], id="malformed"),
        pytest.param(
            {"apiVersion": "v1", "kind": "X", "metadata": {"labels": {"a b": "c"}}},
            ["spec.e.metadata.labels"],
            id="its metadata",
        ),
    ],
)
def test_embedded_objects(value: Obj, fields: list[str]) -> None:
    custom = schema({"type": "object", "properties": {"e": EMBEDDED}})
    assert [error.field for error in custom.embedded_errors({"spec": {"e": value}})] == fields


def test_whole_floats_are_stored_as_integers() -> None:
    spec = {"one": 1.0, "list": [1e3, 1e17, {"zero": -0.0}], "half": 0.5, "long": 1e21, "text": "1.0", "is": True}
    obj: Obj = {"spec": spec}
    settle_numbers(obj)
    assert dumps(obj) == (
        b'{"spec":{"one":1,"list":[1000,100000000000000000,{"zero":0}],"half":0.5,"long":1e+21,"text":"1.0","is":true}}'
    )
