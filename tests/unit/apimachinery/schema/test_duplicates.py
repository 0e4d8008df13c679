"""Duplicate keys: found wherever they are, never where they are not, and merged as upstream merges."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.apimachinery.codec.json import TooDeep, loads
from controlplane.apimachinery.schema.duplicates import merge_duplicates


def merged(text: str) -> tuple[Any, list[str]]:
    return merge_duplicates(text.encode(), loads(text))


@pytest.mark.parametrize(
    ("text", "value", "paths"),
    [
        ('{"data":{"k":"1","k":"2"}}', {"data": {"k": "2"}}, ["data.k"]),
        (
            '{"metadata":{"name":"a","name":"b"},"data":{"k":"1","k":"2"}}',
            {"metadata": {"name": "b"}, "data": {"k": "2"}},
            ["metadata.name", "data.k"],
        ),
        ('{"data":{"k":"1"},"data":{"j":"2"}}', {"data": {"k": "1", "j": "2"}}, ["data"]),
        ('{"data":{"k":"1"},"data":null}', {"data": None}, ["data"]),
        ('{"l":[{"a":1},{"a":1,"a":2}]}', {"l": [{"a": 1}, {"a": 2}]}, ["l[1].a"]),
        ('{"l":[1],"l":[2]}', {"l": [2]}, ["l"]),
        ('{"a":1,"a":2,"a":3}', {"a": 3}, ["a"]),
        ('{"a" : 1, "a"\n:2}', {"a": 2}, ["a"]),
        ('{"a\\u0062":1,"ab":2}', {"ab": 2}, ["ab"]),
        ('{"k\\\\":1,"k\\\\":2}', {"k\\": 2}, ["k\\"]),
        ('{"x":"\\"a\\":1","a":1,"a":2}', {"x": '"a":1', "a": 2}, ["a"]),
        ('{"x":"\\u003a","a":1,"a":2}', {"x": ":", "a": 2}, ["a"]),
        ('{"x":"\\u003A\\u003c","a":1,"a":2}', {"x": ":<", "a": 2}, ["a"]),
    ],
)
def test_duplicates(text: str, value: Any, paths: list[str]) -> None:
    assert merged(text) == (value, [f'duplicate field "{path}"' for path in paths])


@pytest.mark.parametrize(
    "text",
    [
        '{"a":{"k":1},"b":{"k":1}}',
        '[{"a":1},{"a":1}]',
        '{"x":"\\"a\\":1","y":"a\\" :","z":" : "}',
        '{"a\\\\":"\\\\\\":"}',
        '"text"',
        "[]",
        '{ "a" : { "k" : 1 } }',
    ],
)
def test_no_duplicates(text: str) -> None:
    parsed = loads(text)
    value, found = merge_duplicates(text.encode(), parsed)
    assert value is parsed
    assert found == []


def test_at_most_a_hundred_are_told() -> None:
    text = "{" + ",".join(f'"k{i}":1,"k{i}":2' for i in range(200)) + "}"
    value, found = merged(text)
    assert len(value) == 200
    assert len(found) == 100


def test_depth_is_an_error() -> None:
    text = '{"a":' * 2000 + '{"k":1,"k":2}' + "}" * 2000
    with pytest.raises(TooDeep):
        merge_duplicates(text.encode(), {})


keys = st.text(st.sampled_from('ab"\\: \n'), max_size=3)
trees = st.recursive(
    st.integers(0, 3) | st.text(st.sampled_from('ab"\\: \n'), max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.lists(st.tuples(keys, inner), max_size=3).map(tuple),
    max_leaves=10,
)


def written(tree: Any, colon: str) -> str:
    """JSON text of a tree whose tuples are objects, duplicate keys and all."""
    if isinstance(tree, tuple):
        return "{" + ",".join(json.dumps(k) + colon + written(v, colon) for k, v in tree) + "}"
    if isinstance(tree, list):
        return "[" + ",".join(written(item, colon) for item in tree) + "]"
    return json.dumps(tree)


def has_duplicates(tree: Any) -> bool:
    if isinstance(tree, tuple):
        names = [k for k, _ in tree]
        return len(set(names)) < len(names) or any(has_duplicates(v) for _, v in tree)
    return isinstance(tree, list) and any(map(has_duplicates, tree))


@given(tree=trees, colon=st.sampled_from([":", ": ", " :", "\n:\t"]))
def test_duplicates_are_found_exactly_where_they_are(tree: Any, colon: str) -> None:
    text = written(tree, colon)
    parsed = loads(text)
    value, found = merge_duplicates(text.encode(), parsed)
    assert bool(found) is has_duplicates(tree)
    if not found:
        assert value is parsed
