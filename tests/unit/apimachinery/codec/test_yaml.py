"""YAML: read as Kubernetes reads it, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.apimachinery.codec import yaml
from controlplane.apimachinery.codec.json import TooDeep
from controlplane.apimachinery.codec.yaml import MalformedYAML


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("a: 1\nb: [x, 'y', \"z\"]\n", {"a": 1, "b": ["x", "y", "z"]}),
        ("a: yes\nb: off\nc: true\n", {"a": True, "b": False, "c": True}),
        ("t: 2020-01-01\nu: 2020-01-01T00:00:00Z\n", {"t": "2020-01-01", "u": "2020-01-01T00:00:00Z"}),
        ("a: 1:30\nb: 1:30.5\n", {"a": "1:30", "b": "1:30.5"}),
        ("a: 0x10\nb: 010\nc: 1.5\nd: ~\ne:\n", {"a": 16, "b": 8, "c": 1.5, "d": None, "e": None}),
        ("1: a\ntrue: b\n1.5: c\n", {"1": "a", "true": "b", "1.5": "c"}),
        ("a: 123456789012345678901234567890\n", {"a": 123456789012345678901234567890.0}),
        ("a: &x {k: 1}\nb: *x\nc:\n  <<: *x\n  j: 2\n", {"a": {"k": 1}, "b": {"k": 1}, "c": {"k": 1, "j": 2}}),
        ("a: 1\n---\nb: 2\n", {"a": 1}),
        ("a: |\n  two\n  lines\n", {"a": "two\nlines\n"}),
        ("a: !!binary AAEC\nb: !!str 1\n", {"a": "AAEC", "b": "1"}),
        ('{"a": "json too"}', {"a": "json too"}),
        ("a: =\n", {"a": "="}),
    ],
)
def test_reading(text: str, value: Any) -> None:
    assert yaml.loads(text) == value
    assert yaml.loads(text.encode()) == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [1, 2", "yaml: .*line 1"),
        ("a: b: c", "mapping values are not allowed"),
        ("a: .inf", "line 1: .inf is not a number in JSON"),
        ("a: -.inf", "is not a number in JSON"),
        ("a: .nan", "is not a number in JSON"),
        ("? [a]\n: b\n", "line 1: a key must be text"),
        ("? ~\n: b\n", "line 1: a key must be text"),
        ("a: !!python/object:os.system x", "unsupported tag"),
        ("a: !custom x", "unsupported tag !custom"),
        ("a: !!set {x}", "unsupported tag"),
        ("a: !!timestamp [x]", "must be a scalar"),
        ("a: *nowhere", "undefined alias"),
        ("a: &a [*a]", "excessive aliasing"),
        ("\t- a", "yaml: "),
        ("a: \x00", "yaml: "),
        ("a: " + "9" * 5000, "yaml: "),
        ("a: 0x" + "f" * 1000, "yaml: int too large"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(MalformedYAML, match=message):
        yaml.loads(text)


def test_bytes_that_are_not_utf8_are_refused() -> None:
    with pytest.raises(MalformedYAML):
        yaml.loads(b"a: \xff\xfe\xfd")


def test_aliases_must_not_multiply_the_document() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 10)]
    with pytest.raises(MalformedYAML, match="excessive aliasing"):
        yaml.loads("\n".join(lines))


def test_merges_must_not_multiply_the_document() -> None:
    many = ", ".join(f"k{i}: 1" for i in range(10_000))
    base = f"a: &a {{{many}}}\nb: &b {{{many.replace('k', 'l')}}}\n"
    assert len(yaml.loads(base + "c: {<<: *a}\n")["c"]) == 10_000
    with pytest.raises(MalformedYAML, match="excessive aliasing"):
        yaml.loads(base + "c: {<<: [*a, *b]}\n")


@pytest.mark.parametrize("depth", [255, 900, 5000, 200_000])
def test_depth_is_bounded(depth: int) -> None:
    with pytest.raises((TooDeep, MalformedYAML)):
        yaml.loads("[" * depth + "]" * depth)


def test_repeated_keys_are_told() -> None:
    value, repeated = yaml.loads_strict("data:\n  k: 1\n  j: 1\n  k: 2\n")
    assert value == {"data": {"k": 2, "j": 1}}
    assert repeated == ['line 4: key "k" already set in map']


def test_writing() -> None:
    assert yaml.dumps({"b": ["x", {"y": 1}], "a": "héllo", "t": "2020-01-01", "n": "yes", "e": {}}) == (
        "a: héllo\nb:\n- x\n- y: 1\ne: {}\nn: 'yes'\nt: '2020-01-01'\n".encode()
    )


def test_writing_too_deep_is_refused() -> None:
    value: Any = {}
    for _ in range(300):
        value = [value]
    with pytest.raises(TooDeep):
        yaml.dumps(value)


printable = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]))
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | printable,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(printable, inner, max_size=3),
    max_leaves=8,
)


@given(json_values)
def test_what_is_written_reads_back(value: Any) -> None:
    assert yaml.loads(yaml.dumps(value)) == value


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        yaml.loads(text)
    except (MalformedYAML, TooDeep):
        return


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "yaml: line 1: did not find expected node content"),
        ("a: b: c", "yaml: mapping values are not allowed in this context"),
        ("x: 1\ny: [\nz: 1", "yaml: line 1: did not find expected ',' or ']'"),
        ("x: 1\ny: @", "yaml: line 2: found character that cannot start any token"),
    ],
)
def test_what_the_parser_says_is_said_as_by_gos_port_of_it(text: str, message: str) -> None:
    with pytest.raises(MalformedYAML) as caught:
        yaml.loads(text)
    assert str(caught.value) == message


def test_what_stands_twice_is_written_twice() -> None:
    part = {"a": [1]}
    text = yaml.dumps({"x": part, "y": part})
    assert b"&" not in text
    assert yaml.loads(text) == {"x": part, "y": part}
