"""Stored objects from before metadata was checked."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.custom import CustomSchema
from controlplane.apimachinery.schema.repair import repair_metadata

GOOD: Obj = {
    "name": "a",
    "uid": "u",
    "creationTimestamp": "2026-01-01T00:00:00Z",
    "labels": {"a": "b"},
    "generation": 2,
}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("labels", {"a": 1}),
        ("annotations", "x"),
        ("creationTimestamp", "never"),
        ("finalizers", "x"),
        ("ownerReferences", [{"uid": 1}]),
        ("namespace", 5),
        ("unheard", "x"),
    ],
)
def test_what_is_malformed_is_dropped_and_the_rest_kept(field: str, value: Any) -> None:
    kept = {key: item for key, item in GOOD.items() if key != field}
    obj = {"metadata": {**kept, field: value}}
    assert repair_metadata(obj)
    assert obj["metadata"] == kept


def test_good_metadata_is_left_as_it_is_and_a_missing_generation_is_one() -> None:
    good = {"metadata": {**GOOD, "finalizers": ["x/y"]}}
    assert not repair_metadata(good)
    old: Obj = {"metadata": {"name": "a"}}
    assert repair_metadata(old)
    assert old == {"metadata": {"name": "a", "generation": 1}}
    broken: Obj = {"metadata": "x"}
    assert not repair_metadata(broken)


def test_reading_repairs_embedded_objects_too() -> None:
    embedded = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
    fields = {"one": embedded, "many": {"type": "array", "items": embedded}}
    obj: Obj = {
        "metadata": {"name": "a", "generation": 1},
        "one": {"kind": 1, "apiVersion": "v1", "metadata": {"labels": 1, "name": "x"}},
        "many": [{"kind": "K", "metadata": {"unheard": 1}}],
    }
    assert CustomSchema({"type": "object", "properties": fields}).read(obj)
    assert obj["one"] == {"apiVersion": "v1", "metadata": {"name": "x"}}
    assert obj["many"] == [{"kind": "K", "metadata": {}}]
