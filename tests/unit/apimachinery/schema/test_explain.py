# ruff: noqa: E501  # one row a line: wrapped, the tables cannot be read
"""What is wrong with a value, as Kubernetes says it; and that the fast check agrees."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.check import checker
from controlplane.apimachinery.schema.explain import explain
from controlplane.apimachinery.schema.nodes import Node


def wrong(schema: Obj, value: Any) -> list[tuple[str, str, str]]:
    """Reason, field and text of each problem of a value at ``v``; the fast check must agree."""
    root = {"type": "object", "properties": {"v": schema}}
    errors = explain(Node(root), {"v": value})
    assert checker(Node(root))({"v": value}) is (not errors)
    return [(error.reason.removeprefix("FieldValue"), error.field, error.body) for error in errors]


def typed(wanted: str, given: str) -> list[tuple[str, str, str]]:
    return [("TypeInvalid", "v", f'Invalid value: "{given}": v in body must be of type {wanted}: "{given}"')]


def bad(value: str, text: str) -> list[tuple[str, str, str]]:
    return [("Invalid", "v", f"Invalid value: {value}: v in body should {text}")]


INT_OR_STRING: Obj = {"x-kubernetes-int-or-string": True}


@pytest.mark.parametrize(
    ("schema", "value", "errors"),
    [
        pytest.param({"type": "string"}, 1, typed("string", "integer"), id="a number for a string"),
        pytest.param({"type": "integer"}, "1", typed("integer", "string"), id="a string for an integer"),
        pytest.param({"type": "number"}, True, typed("number", "boolean"), id="a boolean is no number"),
        pytest.param({"type": "object"}, [], typed("object", "array"), id="a list for an object"),
        pytest.param({"type": "array"}, {}, typed("array", "object"), id="an object for a list"),
        pytest.param({"type": "string"}, None, typed("string", "null"), id="null"),
        pytest.param({"type": "string", "nullable": True}, None, [], id="null that may be"),
        pytest.param({"type": "integer"}, 2.0, [], id="a whole float is an integer"),
        pytest.param({"type": "number"}, 2, [], id="an integer is a number"),
        pytest.param(INT_OR_STRING, 1, [], id="int or string: int"),
        pytest.param(INT_OR_STRING, "1", [], id="int or string: string"),
        pytest.param(INT_OR_STRING, True, typed("integer,string", "boolean"), id="int or string: neither"),
        pytest.param({"type": "string", "maxLength": 3}, "éééé", [("TooLong", "v", "Too long: may not be more than 3 bytes")], id="too long"),
        pytest.param({"type": "string", "maxLength": 3}, "ééé", [], id="characters count, not bytes"),
        pytest.param({"type": "string", "minLength": 2}, "é", bad('"é"', "be at least 2 chars long"), id="too short"),
        pytest.param({"type": "string", "pattern": "^[a-z]+$"}, "aB", bad('"aB"', "match '^[a-z]+$'"), id="pattern"),
        pytest.param({"type": "string", "pattern": "b"}, "abc", [], id="a pattern is looked for anywhere"),
        pytest.param({"type": "string", "pattern": "^a$"}, "a\n", bad('"a\\n"', "match '^a$'"), id="a dollar is the very end"),
        pytest.param({"type": "string", "enum": ["x", "y"]}, "z", [("NotSupported", "v", 'Unsupported value: "z": supported values: "x", "y"')], id="enum"),
        pytest.param({"type": "integer", "enum": [1, 2]}, 2, [], id="enum of numbers"),
        pytest.param({"enum": [{"b": ["x"], "a": 1}, 2.0, True]}, "z", [("NotSupported", "v", r'Unsupported value: "z": supported values: "{\"a\":1,\"b\":[\"x\"]}", "2", "true"')], id="enum of all kinds"),
        pytest.param({"type": "integer", "minimum": 2}, 1, bad("1", "be greater than or equal to 2"), id="minimum"),
        pytest.param({"type": "integer", "maximum": 5}, 6, bad("6", "be less than or equal to 5"), id="maximum"),
        pytest.param({"type": "number", "minimum": 1, "exclusiveMinimum": True}, 1, bad("1", "be greater than 1"), id="exclusive minimum"),
        pytest.param({"type": "number", "maximum": 9.5, "exclusiveMaximum": True}, 9.5, bad("9.5", "be less than 9.5"), id="exclusive maximum"),
        pytest.param({"type": "number", "maximum": 9.5, "exclusiveMaximum": True}, 9, bad("9", "be less than 9"), id="bounds of integers are cut"),
        pytest.param({"type": "integer", "multipleOf": 3}, 4, bad("4", "be a multiple of 3"), id="multiple"),
        pytest.param({"type": "number", "multipleOf": 0.1}, 0.25, bad("0.25", "be a multiple of 0.1"), id="multiple of a fraction"),
        pytest.param({"type": "number", "multipleOf": 0.1}, 0.3, [], id="a multiple as floats count"),
        pytest.param({"type": "integer", "format": "int32"}, 2**31, [("Invalid", "<nil>", 'Invalid value: "": Checked value must be of type integer with format int32 in v')], id="int32"),
        pytest.param({"type": "array", "minItems": 1}, [], bad("0", "have at least 1 items"), id="too few items"),
        pytest.param({"type": "array", "maxItems": 1}, [1, 2], [("TooMany", "v", "Too many: 2: must have at most 1 item")], id="too many items"),
        pytest.param({"type": "object", "minProperties": 1}, {}, bad("0", "have at least 1 properties"), id="too few fields"),
        pytest.param({"type": "object", "maxProperties": 1}, {"a": 1, "b": 2}, [("TooMany", "v", "Too many: 2: must have at most 1 item")], id="too many fields"),
        pytest.param({"type": "object", "required": ["x", "y"]}, {"y": 1}, [("Required", "v.x", "Required value")], id="required"),
        pytest.param({"type": "string", "format": "ipv4"}, "1.2.3", [("TypeInvalid", "v", 'Invalid value: "1.2.3": v in body must be of type ipv4: "1.2.3"')], id="format"),
        pytest.param({"type": "string", "format": "bogus"}, "x", [], id="an unknown format is no constraint"),
    ],
)  # fmt: skip
def test_keywords(schema: Obj, value: Any, errors: list[tuple[str, str, str]]) -> None:
    assert wrong(schema, value) == errors


def test_items_and_other_fields_are_named_by_their_place() -> None:
    schema = {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}}
    assert [field for _, field, _ in wrong(schema, {"k.x/y": ["a", 1]})] == ["v.k.x/y[1]"]


@pytest.mark.parametrize(
    ("schema", "value", "fields"),
    [
        pytest.param({"anyOf": [{"minimum": 10}, {"maximum": 3}]}, 5, ["<nil>", "v"], id="none of any"),
        pytest.param({"oneOf": [{"minimum": 10}, {"multipleOf": 2}]}, 12, ["<nil>"], id="two of one"),
        pytest.param({"oneOf": [{"minimum": 10}, {"multipleOf": 2}]}, 5, ["<nil>", "v"], id="none of one"),
        pytest.param({"allOf": [{"minimum": 3}, {"maximum": 5}]}, 6, ["v", "<nil>"], id="not all"),
        pytest.param({"not": {"enum": [7]}}, 7, ["<nil>"], id="not"),
        pytest.param({"anyOf": [{"minimum": 10}, {"maximum": 3}]}, 3, [], id="one of any"),
        pytest.param({"not": {"enum": [7]}}, 8, [], id="not that"),
    ],
)
def test_junctors(schema: Obj, value: int, fields: list[str]) -> None:
    assert [field for _, field, _ in wrong({"type": "integer", **schema}, value)] == fields


def test_an_update_keeps_the_faults_that_it_does_not_touch() -> None:
    schema = Node(
        {
            "type": "object",
            "properties": {
                "a": {"type": "string", "maxLength": 3},
                "m": {"type": "object", "additionalProperties": {"type": "string", "pattern": "^[a-z]+$"}},
                "l": {"type": "array", "maxItems": 1, "items": {"type": "string"}},
            },
        }
    )
    old = {"a": "toolong", "m": {"k": "UPPER"}, "l": ["x", "y"]}
    assert explain(schema, {**old, "m": {"k": "UPPER", "k2": "ok"}}, old=old) == []
    changed = {"a": "toolong too", "m": {"k": "OTHER"}, "l": ["x", "z"]}
    assert [error.field for error in explain(schema, changed, old=old)] == ["a", "l", "m.k"]


def test_items_of_map_lists_are_compared_by_their_keys() -> None:
    schema = Node(
        {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"],
            "items": {
                "type": "object",
                "properties": {"k": {"type": "string"}, "v": {"type": "integer", "minimum": 5}},
            },
        }
    )
    old = [{"k": "a", "v": 1}, {"k": "b", "v": 2}]
    assert explain(schema, [{"k": "b", "v": 2}, {"k": "a", "v": 1}], old=old) == []
    assert [error.field for error in explain(schema, [{"k": "b", "v": 3}], old=old)] == ["[0].v"]


_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 12)
    | st.sampled_from([0.5, 2.0, 1e30])
    | st.sampled_from(["", "a", "1", "abcd"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3),
    max_leaves=6,
)
_schemas = st.recursive(
    st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["string", "integer", "number", "boolean", "object", "array"]),
            "nullable": st.booleans(),
            "x-kubernetes-int-or-string": st.booleans(),
            "minimum": st.sampled_from([0, 2, 2.5]),
            "maximum": st.sampled_from([5, 7.5]),
            "exclusiveMaximum": st.booleans(),
            "multipleOf": st.sampled_from([2, 0.5]),
            "maxLength": st.integers(0, 3),
            "minLength": st.integers(0, 3),
            "pattern": st.sampled_from(["^[a-c]+$", "1|a"]),
            "format": st.sampled_from(["int32", "ipv4", "byte", "float", "bogus"]),
            "enum": st.lists(st.sampled_from(["a", 1, 2.0, True]), min_size=1, max_size=2),
            "minItems": st.integers(0, 2),
            "maxItems": st.integers(0, 2),
            "uniqueItems": st.booleans(),
            "minProperties": st.integers(0, 2),
            "maxProperties": st.integers(0, 2),
            "required": st.lists(st.sampled_from("xyz"), max_size=2),
        },
    ),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["string", "integer", "object", "array"]),
            "properties": st.dictionaries(st.sampled_from("xy"), inner, max_size=2),
            "additionalProperties": inner | st.booleans(),
            "items": inner,
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "oneOf": st.lists(inner, min_size=1, max_size=2),
            "allOf": st.lists(inner, min_size=1, max_size=2),
            "not": inner,
        },
    ),
    max_leaves=5,
)


@given(_schemas, _values)
def test_the_fast_check_agrees_with_the_explanation(schema: Obj, value: Any) -> None:
    assert checker(Node(schema))(value) is (not explain(Node(schema), value))
