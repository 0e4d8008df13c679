"""Strategic merge patches: directives, merged and replaced lists, order, refusals."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.apimachinery.patch.errors import MalformedPatch, PatchError, PatchNotApplicable
from controlplane.apimachinery.patch.strategic_merge import StrategicMergeError, apply_strategic_merge_patch

MERGED_BY_NAME = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"name": {"type": "string"}, "tags": {"type": "array", "x-kubernetes-patch-strategy": "merge"}},
    },
    "x-kubernetes-patch-strategy": "merge",
    "x-kubernetes-patch-merge-key": "name",
}
SCHEMA: Any = {
    "type": "object",
    "properties": {
        "items": MERGED_BY_NAME,
        "finalizers": {"type": "array", "items": {"type": "string"}, "x-kubernetes-patch-strategy": "merge"},
        "plain": {"type": "array"},
        "strategy": {"type": "object", "x-kubernetes-patch-strategy": "retainKeys"},
        "whole": {"type": "object", "x-kubernetes-patch-strategy": "replace"},
        "map": {"type": "object", "additionalProperties": {"type": "string"}},
    },
}


@pytest.mark.parametrize(
    ("live", "patch", "expected"),
    [
        pytest.param({"a": 1}, {"b": 2}, {"a": 1, "b": 2}, id="field-added"),
        pytest.param({"a": 1, "b": 2}, {"a": None, "c": None}, {"b": 2}, id="null-removes"),
        pytest.param({}, {"map": {"a": "1", "b": None}}, {"map": {"a": "1"}}, id="nulls-of-new-maps-dropped"),
        pytest.param({"plain": [1, 2]}, {"plain": [3]}, {"plain": [3]}, id="plain-list-replaced"),
        pytest.param({"whole": {"a": 1}}, {"whole": {"b": 2}}, {"whole": {"b": 2}}, id="replace-strategy"),
        pytest.param(
            {"items": [{"name": "one"}, {"name": "two"}]},
            {"items": [{"name": "three"}]},
            {"items": [{"name": "three"}, {"name": "one"}, {"name": "two"}]},
            id="new-items-first",
        ),
        pytest.param(
            {"items": [{"name": "one", "x": 1}]},
            {"items": [{"name": "one", "y": 2}]},
            {"items": [{"name": "one", "x": 1, "y": 2}]},
            id="items-merged-by-key",
        ),
        pytest.param(
            {"items": [{"name": "one"}, {"name": "two"}]},
            {"items": [{"$patch": "delete", "name": "two"}]},
            {"items": [{"name": "one"}]},
            id="item-deleted",
        ),
        pytest.param(
            {"items": [{"name": "one"}]},
            {"items": [{"name": "only"}, {"$patch": "replace"}]},
            {"items": [{"name": "only"}]},
            id="list-replaced",
        ),
        pytest.param({"map": {"a": "1"}}, {"map": {"$patch": "replace", "b": "2"}}, {"map": {"b": "2"}}, id="$replace"),
        pytest.param({"map": {"a": "1"}}, {"map": {"$patch": "delete"}}, {"map": {}}, id="$delete"),
        pytest.param(
            {"finalizers": ["a"]}, {"finalizers": ["b", "a"]}, {"finalizers": ["b", "a"]}, id="set-in-patch-order"
        ),
        pytest.param(
            {"finalizers": ["a", "b"]},
            {"$deleteFromPrimitiveList/finalizers": ["a"]},
            {"finalizers": ["b"]},
            id="scalars-deleted",
        ),
        pytest.param(
            {"strategy": {"type": "A", "a": {}}},
            {"strategy": {"$retainKeys": ["type", "b"], "type": "B", "b": {}}},
            {"strategy": {"type": "B", "b": {}}},
            id="retain-keys",
        ),
        pytest.param(
            {"items": [{"name": "a"}, {"name": "b"}, {"name": "server"}]},
            {
                "$setElementOrder/items": [{"name": "b"}, {"name": "c"}, {"name": "a"}],
                "items": [{"name": "c"}],
            },
            {"items": [{"name": "b"}, {"name": "c"}, {"name": "a"}, {"name": "server"}]},
            id="set-element-order",
        ),
        pytest.param(
            {"items": [{"name": "a"}, {"name": "b"}, {"name": "d"}]},
            {
                "$setElementOrder/items": [{"name": "b"}, {"name": "c"}],
                "items": [{"name": "c"}, {"name": "a", "$patch": "delete"}],
            },
            {"items": [{"name": "b"}, {"name": "d"}, {"name": "c"}]},
            id="new-items-take-the-places-of-deleted-ones",
        ),
    ],
)
def test_merges(live: Any, patch: Any, expected: Any) -> None:
    before = copy.deepcopy((live, patch))
    assert apply_strategic_merge_patch(live, patch, SCHEMA) == expected
    assert (live, patch) == before, "the arguments are not changed"


@pytest.mark.parametrize(
    ("live", "patch", "kind", "text"),
    [
        pytest.param(
            {},
            {"$patch": "odd"},
            StrategicMergeError,
            "unknown patch type: odd in map: map[$patch:odd]",
            id="directive",
        ),
        pytest.param(
            {},
            {"$patch": ["x", 5, None, True, 1.5, {"a": 1}]},
            StrategicMergeError,
            "unknown patch type: [x %!s(int64=5) %!s(<nil>) %!s(bool=true) %!s(float64=1.5) map[a:%!s(int64=1)]]"
            " in map: map[$patch:[x 5 <nil> true 1.5 map[a:1]]]",
            id="directive-that-is-no-text",
        ),
        pytest.param(
            {"items": [{"name": "a"}]},
            {"items": [{"x": 1}]},
            StrategicMergeError,
            "map: map[x:1] does not contain declared merge key: name",
            id="no-merge-key",
        ),
        pytest.param(
            {"finalizers": ["a"]},
            {"finalizers": [["b"]]},
            PatchNotApplicable,
            "lists of lists are not supported",
            id="nested",
        ),
        pytest.param(
            {"finalizers": ["a"]},
            {"finalizers": [1]},
            StrategicMergeError,
            "list element types are not identical",
            id="mixed",
        ),
        pytest.param(
            {"strategy": {}},
            {"strategy": {"$retainKeys": ["a"], "b": 1}},
            MalformedPatch,
            "invalid patch format of retainKeys",
            id="rk",
        ),
        pytest.param(
            {"items": [{"name": "a"}]},
            {"$setElementOrder/items": [{"name": "a"}, {"name": "b"}], "items": [{"name": "b"}, {"name": "a"}]},
            StrategicMergeError,
            "The order in patch list",
            id="order-mismatch",
        ),
    ],
)
def test_refuses(live: Any, patch: Any, kind: type[PatchError], text: str) -> None:
    with pytest.raises(kind) as caught:
        apply_strategic_merge_patch(live, patch, SCHEMA)
    assert text in str(caught.value)


NAMES = st.lists(st.sampled_from("abcd"), unique=True, max_size=4)


@given(NAMES, NAMES)
def test_merging_twice_changes_nothing(live: list[str], patch: list[str]) -> None:
    obj = {"items": [{"name": n} for n in live], "finalizers": live}
    change = {"items": [{"name": n, "x": 1} for n in patch], "finalizers": patch}
    once = apply_strategic_merge_patch(obj, change, SCHEMA)
    assert apply_strategic_merge_patch(once, change, SCHEMA) == once
    assert {i["name"] for i in once["items"]} == {*live, *patch}
