"""Values in errors: by Go's names where types have none for JSON, in declared order where they have."""

from __future__ import annotations

import json
from typing import Any

import pytest

from controlplane.apimachinery.schema.native import array, integer, mapping, pointer, record, string
from controlplane.apis.printed import as_printed, in_declared_order

SCHEMA = record(
    {
        "apiGroup": string(),
        "uid": string(),
        "apiGroups": array(string()),
        "inner": record({"count": integer(), "maybe": pointer(integer())}),
        "other": pointer(record({"name": string()})),
        "labels": mapping(string()),
        "api": string(),
    }
)
NOTHING = {
    "APIGroup": "",
    "UID": "",
    "APIGroups": None,
    "Inner": {"Count": 0, "Maybe": None},
    "Other": None,
    "Labels": None,
    "API": "",
}


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({}, NOTHING),
        (None, NOTHING),
        (
            {"other": {}, "inner": {"maybe": 0}, "apiGroups": [], "labels": {"apiX": "1"}},
            {
                **NOTHING,
                "APIGroups": [],
                "Inner": {"Count": 0, "Maybe": 0},
                "Other": {"Name": ""},
                "Labels": {"apiX": "1"},
            },
        ),
    ],
)
def test_go_fields(value: Any, shown: Any) -> None:
    printed = as_printed(value, SCHEMA)
    assert printed == shown
    assert list(printed) == list(NOTHING)


def test_declared_order() -> None:
    value = {"labels": {"b": "1", "a": "2"}, "inner": {"maybe": 1, "count": 2}, "apiGroup": "x"}
    ordered = in_declared_order(value, SCHEMA)
    assert ordered == value
    assert list(ordered) == ["apiGroup", "inner", "labels"]
    assert list(ordered["inner"]) == ["count", "maybe"]
    assert list(ordered["labels"]) == ["a", "b"]


def test_what_is_in_a_map_is_sorted_too() -> None:
    fields: dict[str, object] = {
        "f:spec": {"f:user": {}, ".": {}, "f:resourceAttributes": {"f:verb": {}, "f:group": {}}},
        "f:a": {},
    }
    ordered = in_declared_order({"fieldsV1": fields}, {"properties": {"fieldsV1": {"type": "object"}}})
    assert json.dumps(ordered) == json.dumps({"fieldsV1": fields}, sort_keys=True)
