"""Columns of custom resources."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from controlplane.apiextensions.custom.columns import columns_of
from controlplane.apiextensions.custom.paths import NestedTypeError, nested_int, set_nested

NOW = datetime(2026, 1, 1, 0, 0, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("type_name", "value", "shown"),
    [
        ("string", "a", "a"),
        ("string", 1.0, "1"),
        ("string", True, "true"),
        ("string", {"a": [1]}, '{"a":[1]}'),
        ("string", {"b": "<&>", "a": None}, '{"a":null,"b":"\\u003c\\u0026\\u003e"}'),
        ("string", None, "<no value>"),
        ("integer", 2, 2),
        ("integer", 2.7, 2),
        ("integer", "2", None),
        ("integer", 1e21, -(2**63)),
        ("number", 2.5, 2.5),
        ("number", 2**53 + 1, 2**53),
        ("boolean", True, True),
        ("boolean", "true", None),
        ("date", "2026-01-01T00:00:00Z", "10s"),
        ("date", "bogus", "<invalid>"),
        ("date", "1600-01-01T00:00:00Z", "292y"),
        ("date", 5, None),
    ],
)
def test_values_by_type(type_name: str, value: Any, shown: Any) -> None:
    _, column = columns_of([{"name": "C", "type": type_name, "jsonPath": ".v"}])
    assert column.value({"v": value}, NOW) == shown
    assert column.value({}, NOW) is None


def test_a_path_that_cannot_be_read_ends_the_columns() -> None:
    given = [
        {"name": name, "type": "string", "jsonPath": path} for name, path in (("A", ".a"), ("B", ".b["), ("C", ".c"))
    ]
    assert [column.name for column in columns_of(given)] == ["Name", "A"]


def test_age_is_shown_where_nothing_is_defined() -> None:
    name, age = columns_of([])
    obj = {"metadata": {"name": "a", "creationTimestamp": "2026-01-01T00:00:00Z"}}
    assert (name.value(obj, NOW), age.value(obj, NOW)) == ("a", "10s")


def test_fields_named_by_paths() -> None:
    obj = {"spec": {"n": 1, "s": "x"}}
    assert nested_int(obj, ".spec.n") == 1
    assert nested_int(obj, ".spec.m") is None
    with pytest.raises(NestedTypeError, match="is of the type string, expected int64"):
        nested_int(obj, ".spec.s")
    assert set_nested(obj, ".spec.a.b", 2) == {"spec": {"n": 1, "s": "x", "a": {"b": 2}}}
    assert obj == {"spec": {"n": 1, "s": "x"}}
