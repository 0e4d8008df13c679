"""JSON patch: the operations, what makes them fail, and that nothing given is changed."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.patch.errors import MalformedPatch, PatchError, PatchNotApplicable, TooManyOperations
from controlplane.apimachinery.patch.json_patch import MAX_COPIED_BYTES, apply_json_patch

DATA: Obj = {"data": {"k": "1", "z": "9"}, "metadata": {"labels": {"a": "b"}}, "list": [1, {"x": 2}, 3]}


def op(kind: str, path: str, **fields: Any) -> Obj:
    return {"op": kind, "path": path, **fields}


@pytest.mark.parametrize(
    ("operations", "expected"),
    [
        ([], DATA),
        (
            [
                op("test", "/data/k", value="1"),
                op("replace", "/data/k", value="2"),
                op("add", "/data/n", value="3"),
                op("remove", "/data/z"),
            ],
            {**DATA, "data": {"k": "2", "n": "3"}},
        ),
        (
            [op("copy", "/data/copied", **{"from": "/data/k"}), op("move", "/data/moved", **{"from": "/data/z"})],
            {**DATA, "data": {"k": "1", "copied": "1", "moved": "9"}},
        ),
        (
            [op("add", "/metadata/annotations", value={"x": "y"}), op("remove", "/metadata/labels")],
            {**DATA, "metadata": {"annotations": {"x": "y"}}},
        ),
        ([op("replace", "/data/none", value="2")], {**DATA, "data": {"k": "1", "z": "9", "none": "2"}}),
        ([op("add", "/list/1", value=9)], {**DATA, "list": [1, 9, {"x": 2}, 3]}),
        ([op("add", "/list/3", value=9)], {**DATA, "list": [1, {"x": 2}, 3, 9]}),
        ([op("add", "/list/-", value=9)], {**DATA, "list": [1, {"x": 2}, 3, 9]}),
        ([op("add", "/list/-1", value=9)], {**DATA, "list": [1, {"x": 2}, 3, 9]}),
        ([op("replace", "/list/-1", value=9)], {**DATA, "list": [1, {"x": 2}, 9]}),
        ([op("replace", "/list/1/x", value=9)], {**DATA, "list": [1, {"x": 9}, 3]}),
        ([op("remove", "/list/0")], {**DATA, "list": [{"x": 2}, 3]}),
        ([op("add", "/data/x~1y~0z", value="1")], {**DATA, "data": {"k": "1", "z": "9", "x/y~z": "1"}}),
        ([op("add", "/data/null")], {**DATA, "data": {"k": "1", "z": "9", "null": None}}),
        ([op("test", "/data/none", value=None)], DATA),
        ([op("test", "", value=DATA)], DATA),
        ([op("replace", "", value={"new": 1})], {"new": 1}),
        ([op("add", "/data/", value="empty key")], {**DATA, "data": {"k": "1", "z": "9", "": "empty key"}}),
    ],
)  # fmt: skip
def test_operations(operations: list[Obj], expected: Obj) -> None:
    before, given_operations = copy.deepcopy(DATA), copy.deepcopy(operations)
    assert apply_json_patch(DATA, operations) == expected
    assert before == DATA
    assert operations == given_operations


@pytest.mark.parametrize(
    "operation",
    [
        op("test", "/data/k", value="2"),
        op("test", "/data/k", value=None),
        op("test", "/list/0", value=True),
        op("test", "/list/0", value=1.0),
        op("test", "/list", value=[1, {"x": 2}]),
        op("test", "/data", value={"k": "1"}),
        op("test", "/nope/none", value=1),
        op("remove", "/nope/none"),
        op("remove", "/data/none"),
        op("remove", "/list/3"),
        op("remove", "/list/-"),
        op("remove", ""),
        op("replace", "/list/3", value=1),
        op("replace", "/data/k/deep", value=1),
        op("replace", "", value="text"),
        op("replace", "", value=[]),
        op("add", "/list/4", value=1),
        op("add", "/list/-5", value=1),
        op("add", "/list/x", value=1),
        op("add", "/nope/none", value=1),
        op("add", "no slash", value=1),
        op("move", "/data/x", **{"from": "/data/none"}),
        op("copy", "/data/x", **{"from": "/nope/none"}),
        op("copy", "/data/x"),
        op("frob", "/data/k"),
        {"op": "add", "value": 1},
        {"path": "/data/k"},
        {"op": 1, "path": "/data/k"},
    ],
)
def test_what_does_not_apply(operation: Obj) -> None:
    before = copy.deepcopy(DATA)
    with pytest.raises(PatchNotApplicable):
        apply_json_patch(DATA, [op("add", "/data/earlier", value=1), operation])
    assert before == DATA


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        (op("add", "/nope/x", value=1), 'add operation does not apply: doc is missing path: "/nope/x": missing value'),
        (
            op("add", "/list/x/y", value=1),
            'add operation does not apply: doc is missing path: "/list/x/y": missing value',
        ),
        (
            op("add", "/list/x", value=1),
            "error in add for path: '/list/x': value was not a proper array index: 'x': strconv.Atoi: parsing \"x\": invalid syntax",  # noqa: E501
        ),
        (
            op("add", "/list/9", value=1),
            "error in add for path: '/list/9': Unable to access invalid index: 9: invalid index referenced",
        ),
        ({"op": "add"}, "add operation failed to decode path: missing value"),
        (op("remove", "/list/-"), "error in remove for path: '/list/-': strconv.Atoi: parsing \"-\": invalid syntax"),
        (
            op("remove", "/data/none"),
            "error in remove for path: '/data/none': Unable to remove nonexistent key: none: missing value",
        ),
        (
            op("replace", "/list/-", value=1),
            "replace operation does not apply: doc is missing key: /list/-: missing value",
        ),
        ({"op": "replace"}, "replace operation failed to decode path: operation missing path field: missing value"),
        (
            op("move", "/data/x", **{"from": "/data/none"}),
            "error in move for path: 'none': Unable to remove nonexistent key: none: missing value",
        ),
        (
            op("move", "/nope/x", **{"from": "/data/k"}),
            "move operation does not apply: doc is missing destination path: /nope/x: missing value",
        ),
        (op("move", "/x"), "move operation failed to decode from: operation, missing from field: missing value"),
        (
            op("copy", "/x", **{"from": "/nope/x"}),
            "copy operation does not apply: doc is missing from path: /nope/x: missing value",
        ),
        (
            op("copy", "/list/5", **{"from": "/data"}),
            "error while adding value during copy: Unable to access invalid index: 5: invalid index referenced",
        ),
        (op("test", "/nope/x", value=1), "test operation does not apply: is missing path: /nope/x: missing value"),
        (op("test", "/data/k", value=1), "testing value /data/k failed: test failed"),
    ],
)
def test_why_it_does_not_apply(operation: Obj, message: str) -> None:
    with pytest.raises(PatchNotApplicable) as refused:
        apply_json_patch(DATA, [operation])
    assert str(refused.value) == message


@pytest.mark.parametrize("patch", [{"data": {}}, "text", None, [1], [[]]])
def test_what_is_no_patch(patch: Any) -> None:
    with pytest.raises(MalformedPatch):
        apply_json_patch(DATA, patch)


def test_the_number_of_operations_is_bounded() -> None:
    operations = [op("test", "/data/k", value="1")] * 10_000
    assert apply_json_patch(DATA, operations) == DATA
    with pytest.raises(TooManyOperations, match="The allowed maximum operations in a JSON patch is 10000, got 10001"):
        apply_json_patch(DATA, [*operations, operations[0]])


def test_growth_by_copying_is_bounded() -> None:
    obj: Obj = {"a": "x" * 1024}
    doubling = [op("copy", f"/a{i}", **{"from": "/a"}) for i in range(MAX_COPIED_BYTES // 1024)]
    with pytest.raises(PatchNotApplicable, match="exceeding the limit"):
        apply_json_patch(obj, doubling)
    assert len(apply_json_patch(obj, doubling[:1000])) == 1001


def test_depth_is_bounded() -> None:
    deep: Obj = {}
    for _ in range(250):
        deep = {"a": deep}
    operations = [op("add", "/a" * 200, value=deep), op("copy", "/b", **{"from": "/a"})]
    with pytest.raises(PatchNotApplicable, match="exceeded max depth"):
        apply_json_patch(deep, operations)
    with pytest.raises(PatchNotApplicable, match="missing path"):
        apply_json_patch(deep, [operations[0], op("test", "/a" * 300, value=1)])


def test_a_copy_is_a_value_of_its_own() -> None:
    patched = apply_json_patch(
        DATA, [op("add", "/data/n", value={}), op("copy", "/c", **{"from": "/data"}), op("add", "/c/n/m", value=1)]
    )
    assert patched["data"] == {"k": "1", "z": "9", "n": {}}
    assert patched["c"] == {"k": "1", "z": "9", "n": {"m": 1}}


def test_what_did_not_change_is_shared() -> None:
    patched = apply_json_patch(DATA, [op("add", "/data/n", value="3")])
    assert patched["metadata"] is DATA["metadata"]
    assert patched["list"] is DATA["list"]


values = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["a", "b"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(st.sampled_from("abc"), values, max_size=3)
paths = st.lists(st.sampled_from(["a", "b", "c", "0", "1", "-", "-1"]), max_size=3).map(
    lambda parts: "".join("/" + part for part in parts)
)
operations_lists = st.lists(
    st.fixed_dictionaries(
        {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test"]), "path": paths},
        optional={"from": paths, "value": values},
    ),
    max_size=6,
)


@given(obj=objects, operations=operations_lists)
def test_nothing_given_is_changed_and_halves_compose(obj: Obj, operations: list[Obj]) -> None:
    obj_before, operations_before = copy.deepcopy(obj), copy.deepcopy(operations)
    try:
        whole = apply_json_patch(obj, operations)
    except PatchError:
        whole = None
    assert obj == obj_before
    assert operations == operations_before
    try:
        halves = apply_json_patch(apply_json_patch(obj, operations[:3]), operations[3:])
    except PatchError:
        halves = None
    if whole is not None and halves is not None:
        assert halves == whole
    else:
        # a root that is a list between the halves is refused there, and nowhere else
        assert halves is None
