"""Which fields an object has, what differs, what merging and removing leave."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.apimachinery.patch.structured.check import check_type
from controlplane.apimachinery.patch.structured.compare import compare
from controlplane.apimachinery.patch.structured.elements import path_text
from controlplane.apimachinery.patch.structured.errors import TypeMismatch
from controlplane.apimachinery.patch.structured.fieldset import paths
from controlplane.apimachinery.patch.structured.merge import merge
from controlplane.apimachinery.patch.structured.walks import fields_of, remove
from tests.unit.apimachinery.patch.structured.schemas import THING, thing


def texts(fields: Any) -> set[str]:
    return {path_text(p) for p in paths(fields)}


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        pytest.param({"scalar": "x"}, {".scalar"}, id="scalar"),
        pytest.param({"map": {"a": "1"}}, {".map.a"}, id="granular-map"),
        pytest.param({"map": {}}, {".map"}, id="empty-map"),
        pytest.param({"map": None}, {".map"}, id="null-map"),
        pytest.param({"atomicMap": {"a": "1"}}, {".atomicMap"}, id="atomic-map"),
        pytest.param({"atomic": ["a", "b"]}, {".atomic"}, id="atomic-list"),
        pytest.param({"set": ["a"]}, {'.set[="a"]'}, id="set"),
        pytest.param(
            {"ports": [{"port": 1, "name": "x"}]},
            {
                '.ports[port=1,protocol="TCP"]',
                '.ports[port=1,protocol="TCP"].port',
                '.ports[port=1,protocol="TCP"].name',
            },
            id="list-of-maps-with-defaulted-key",
        ),
        pytest.param({"set": ["a", "a"]}, {'.set[="a"]'}, id="duplicates"),
        pytest.param({"anything": {"x": {"y": [1]}}}, {".anything.x", ".anything.x.y"}, id="undeclared"),
    ],
)
def test_fields_of(obj: Any, expected: set[str]) -> None:
    assert texts(fields_of(obj, THING)) == expected


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        ({}, {".nested"}),
        (None, {".nested"}),
        ({"a": "1"}, set()),
        ({"a": "1", "b": "2"}, {".nested.b"}),
    ],
)
def test_a_field_that_is_stated_empty_is_owned_though_some_in_it_are_ignored(stated: Any, expected: set[str]) -> None:
    """As in upstream, whose filters take paths away: an applied ``metadata: {}`` is owned itself."""
    assert texts(fields_of({"nested": stated}, THING, {"f:nested": {"f:a": {}}})) == expected


@pytest.mark.parametrize(
    ("old", "new", "removed", "modified", "added"),
    [
        pytest.param({"scalar": "x"}, {"scalar": "y"}, set(), {".scalar"}, set(), id="modified"),
        pytest.param({"number": 1}, {"number": 1.0}, set(), set(), set(), id="numbers-by-value"),
        pytest.param({}, {"map": {"a": "1"}}, set(), set(), {".map", ".map.a"}, id="added-with-its-map"),
        pytest.param({"map": {"a": "1", "b": "2"}}, {"map": {"b": "2"}}, {".map.a"}, set(), set(), id="removed"),
        pytest.param({"atomic": ["a"]}, {"atomic": ["b"]}, set(), {".atomic"}, set(), id="atomic-whole"),
        pytest.param({"set": ["a", "b"]}, {"set": ["b", "c"]}, {'.set[="a"]'}, set(), {'.set[="c"]'}, id="set"),
        pytest.param({"set": ["a", "b"]}, {"set": ["b", "a"]}, set(), set(), set(), id="order-is-no-change"),
        pytest.param({"anything": {"x": 1}}, {"anything": {"x": "s"}}, set(), {".anything.x"}, set(), id="kind"),
    ],
)
def test_compare(old: Any, new: Any, removed: set[str], modified: set[str], added: set[str]) -> None:
    found = compare(old, new, THING)
    assert (texts(found.removed), texts(found.modified), texts(found.added)) == (removed, modified, added)


@pytest.mark.parametrize(
    ("live", "applied", "expected"),
    [
        pytest.param({"scalar": "x", "number": 1}, {"scalar": "y"}, {"scalar": "y", "number": 1}, id="leaf"),
        pytest.param({"map": {"a": "1"}}, {"map": {"b": "2"}}, {"map": {"a": "1", "b": "2"}}, id="map"),
        pytest.param({"atomicMap": {"a": "1"}}, {"atomicMap": {"b": "2"}}, {"atomicMap": {"b": "2"}}, id="atomic"),
        pytest.param({"set": ["a", "b"]}, {"set": ["c", "a"]}, {"set": ["c", "a", "b"]}, id="applied-order-wins"),
        pytest.param({"set": ["a", "b", "c"]}, {"set": ["b"]}, {"set": ["a", "b", "c"]}, id="live-keeps-its-place"),
        pytest.param(
            {"ports": [{"port": 1, "protocol": "TCP", "name": "x"}]},
            {"ports": [{"port": 1, "tags": ["t"]}, {"port": 2}]},
            {"ports": [{"port": 1, "protocol": "TCP", "name": "x", "tags": ["t"]}, {"port": 2}]},
            id="items-by-keys",
        ),
        pytest.param({"map": {"a": "1"}}, {"map": None}, {"map": {"a": "1"}}, id="null-does-not-remove"),
        pytest.param({}, {"map": {}}, {"map": {}}, id="empty-is-kept"),
    ],
)
def test_merge(live: Any, applied: Any, expected: Any) -> None:
    assert merge(live, applied, THING) == expected


def test_merge_changes_neither_argument() -> None:
    live, applied = {"map": {"a": "1"}, "set": ["a"]}, {"map": {"b": "2"}, "set": ["b"]}
    merge(live, applied, THING)
    assert live == {"map": {"a": "1"}, "set": ["a"]}
    assert applied == {"map": {"b": "2"}, "set": ["b"]}


def test_remove_takes_fields_and_items() -> None:
    obj = {"scalar": "x", "map": {"a": "1", "b": "2"}, "set": ["a", "b"], "nested": {"a": "1"}}
    gone: Any = {"f:scalar": {}, "f:map": {"f:a": {}}, "f:set": {'v:"a"': {}}, "f:nested": {"f:a": {}}}
    assert remove(obj, gone, THING) == {"map": {"b": "2"}, "set": ["b"], "nested": {}}


@pytest.mark.parametrize(
    ("obj", "problem"),
    [
        pytest.param({"nope": 1}, ".nope: field not declared in schema", id="undeclared"),
        pytest.param({"scalar": 1}, ".scalar: expected string", id="string"),
        pytest.param({"number": "x"}, ".number: expected numeric (int or float), got string", id="numeric"),
        pytest.param({"set": ["a", "a"]}, '.set: duplicate entries for key [="a"]', id="duplicate"),
        pytest.param({"ports": [None]}, ".ports: element 0: associative list with keys may not have", id="null-item"),
        pytest.param({"map": ["a"]}, ".map: expected map, got &{[a]}", id="list-for-map"),
        pytest.param({"set": "x"}, ".set: expected list, got &{x}", id="text-for-list"),
        pytest.param(
            {"scalar": ["c", {"a": None}]},
            '&value.valueUnstructured{Value:[]interface {}{"c", map[string]interface {}{"a":interface {}(nil)}}}',
            id="map-for-text",
        ),
    ],
)
def test_what_does_not_fit_is_refused(obj: Any, problem: str) -> None:
    with pytest.raises(TypeMismatch) as caught:
        check_type(thing(**obj), THING)
    assert problem in str(caught.value)


def test_everything_is_reported() -> None:
    with pytest.raises(TypeMismatch) as caught:
        check_type(thing(scalar=1, number="x"), THING)
    assert len(caught.value.problems) == 2


@pytest.mark.parametrize("value", ["x", 5, 1.5, True, ["a"], {"a": {"b": "c"}}])
def test_what_is_of_another_kind_than_its_type_is_a_field_itself(value: Any) -> None:
    """Objects are compared before they are refused."""
    for name in ("map", "set", "nested", "ports"):
        kinds = {"map": dict, "nested": dict, "set": list, "ports": list}
        if not isinstance(value, kinds[name]):
            assert compare(thing(), thing(**{name: value}), THING).added == {f"f:{name}": {}}
            assert compare(thing(**{name: value}), thing(), THING).removed == {f"f:{name}": {}}
