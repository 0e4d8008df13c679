"""Sets of fields against a plain model: a set of paths."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.apimachinery.patch.structured.elements import canonical, path_text
from controlplane.apimachinery.patch.structured.fieldset import (
    Fields,
    decode,
    difference,
    has,
    intersection,
    paths,
    recursive_difference,
    union,
)

Path = tuple[str, ...]
PATHS = st.sets(st.lists(st.sampled_from(["f:a", "f:b", "f:c"]), min_size=1, max_size=3).map(tuple), max_size=8)


def build(members: set[Path]) -> Fields:
    """The set of these paths, in the form of ``fieldsV1``."""
    root: Fields = {}
    for element in sorted({p[0] for p in members}):
        below = build({p[1:] for p in members if p[0] == element and len(p) > 1})
        root[element] = {".": {}, **below} if below and (element,) in members else below
    return root


@given(PATHS)
def test_paths_gives_back_the_members(members: set[Path]) -> None:
    assert set(paths(build(members))) == members
    assert all(has(build(members), p) for p in members)


@given(PATHS, PATHS)
def test_union_intersection_and_difference_are_those_of_sets(a: set[Path], b: set[Path]) -> None:
    assert union(build(a), build(b)) == build(a | b)
    assert intersection(build(a), build(b)) == build(a & b)
    assert difference(build(a), build(b)) == build(a - b)


@given(PATHS, PATHS)
def test_recursive_difference_takes_what_is_below_too(a: set[Path], b: set[Path]) -> None:
    left = {p for p in a if not any(p[: i + 1] in b for i in range(len(p)))}
    assert recursive_difference(build(a), build(b)) == build(left)


@pytest.mark.parametrize(
    ("given_", "expected"),
    [
        pytest.param('k:{"port": 80, "name":"x"}', 'k:{"name":"x","port":80}', id="keys-sorted"),
        pytest.param('v: "x"', 'v:"x"', id="value-compact"),
        pytest.param("f:a:b", "f:a:b", id="field-kept"),
    ],
)
def test_elements_become_canonical(given_: str, expected: str) -> None:
    assert canonical(given_) == expected


@pytest.mark.parametrize("bad", ["", "x", "xyz", "k:[]", "v:{", "i:", "i:1.5", "i:1_0", "i: 1"])
def test_what_is_no_element_is_refused(bad: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        canonical(bad)


def test_elements_of_kinds_that_are_not_known_are_dropped() -> None:
    """A later version may know more; what is around them is kept."""
    assert decode({"q:1": {"f:a": {}}, "f:b": {"q:2": {}, "f:c": {}}, "f:d": {"q:3": {}}}) == {
        "f:b": {"f:c": {}},
        "f:d": {},
    }


@pytest.mark.parametrize("bad", [[], "x", {"f:a": []}])
def test_what_is_no_set_is_refused(bad: Any) -> None:
    with pytest.raises(ValueError, match="fieldsV1 must be an object"):
        decode(bad)


def test_path_text() -> None:
    assert path_text(("f:spec", 'k:{"port":80,"protocol":"TCP"}', "f:name")) == '.spec[port=80,protocol="TCP"].name'
    assert path_text(("f:set", 'v:"x"')) == '.set[="x"]'
    assert path_text(("f:set", "v:0.00001", 'v:"\\u0007"')) == '.set[=1e-05][="\\a"]'


@pytest.mark.parametrize(
    ("element", "expected"),
    [
        ("v:1.0", "v:1"),
        ("v:-0.0", "v:0"),
        ("v:1e3", "v:1000"),
        ("v:1e20", "v:100000000000000000000"),
        ("v:1e21", "v:1e+21"),
        ("v:2.50", "v:2.5"),
        ("v:0.000001", "v:0.000001"),
        ("v:1e-7", "v:1e-07"),
        ('k:{"q":1.0,"p":2}', 'k:{"p":2,"q":1}'),
    ],
)
def test_equal_numbers_are_equal_elements(element: str, expected: str) -> None:
    assert canonical(element) == expected
