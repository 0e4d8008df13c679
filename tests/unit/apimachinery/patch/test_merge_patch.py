"""JSON merge patch: RFC 7386's own cases, Kubernetes' departures, and that nothing given is changed."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.patch.errors import MalformedPatch
from controlplane.apimachinery.patch.merge_patch import apply_merge_patch


@pytest.mark.parametrize(
    ("obj", "patch", "expected"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
        ({}, {}, {}),
        # beyond the RFC: nulls leave the objects inside new lists, but not the lists themselves
        ({}, {"a": [{"b": None, "c": 1}, None]}, {"a": [{"c": 1}, None]}),
        ({"a": "text"}, {"a": {"b": None, "c": 1}}, {"a": {"c": 1}}),
        # the recorded conversation
        (
            {"data": {"k": "1", "z": "9"}, "metadata": {"finalizers": ["x.io/1", "x.io/2"]}},
            {"data": {"k": None, "new": "2", "never": None}, "metadata": {"finalizers": ["x.io/3"]}},
            {"data": {"new": "2", "z": "9"}, "metadata": {"finalizers": ["x.io/3"]}},
        ),
    ],
)
def test_merging(obj: Obj, patch: Obj, expected: Obj) -> None:
    obj_before, patch_before = copy.deepcopy(obj), copy.deepcopy(patch)
    assert apply_merge_patch(obj, patch) == expected
    assert obj == obj_before
    assert patch == patch_before


@pytest.mark.parametrize("patch", [[1], "text", None, 1])
def test_what_is_no_patch(patch: Any) -> None:
    with pytest.raises(MalformedPatch, match="Invalid JSON Patch"):
        apply_merge_patch({}, patch)


def test_what_did_not_change_is_shared() -> None:
    obj: Obj = {"a": {"x": 1}, "b": {"y": {"z": 1}}}
    patched = apply_merge_patch(obj, {"b": {"w": 1}})
    assert patched["a"] is obj["a"]
    assert patched["b"]["y"] is obj["b"]["y"]


values = st.recursive(
    st.none() | st.integers(0, 3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(st.sampled_from("abc"), values, max_size=3)


@given(obj=objects, patch=objects)
def test_applying_twice_is_applying_once(obj: Obj, patch: Obj) -> None:
    obj_before, patch_before = copy.deepcopy(obj), copy.deepcopy(patch)
    once = apply_merge_patch(obj, patch)
    assert apply_merge_patch(once, patch) == once
    assert obj == obj_before
    assert patch == patch_before
    for key, value in patch.items():
        assert (key in once) is (value is not None)
