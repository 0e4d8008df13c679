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
        ("a: !!binary YWI=\nb: !!str 1\nc: !!float 2\n", {"a": "ab", "b": "1", "c": 2}),
        ("a: y\nb: N\nc: 'y'\ny: 1\n", {"a": True, "b": False, "c": "y", "true": 1}),
        (
            "a: 1e3\nb: 1.5e3\nc: 08\nd: 0o17\ne: -0b11\nf: 1_000\n",
            {"a": 1000, "b": 1500, "c": 8, "d": 15, "e": -3, "f": 1000},
        ),
        ("a: 1e400\nb: .5\nc: +.5\nd: .5.\ne: 0x\n", {"a": "1e400", "b": 0.5, "c": 0.5, "d": ".5.", "e": "0x"}),
        ("a: !custom x\nb: !!set {x}\nc: <<\n", {"a": "x", "b": {"x": None}, "c": "<<"}),
        ("a: &x 1\nb: &x 2\nc: *x\n", {"a": 1, "b": 2, "c": 2}),
        ("a: &x {k: 1}\nb: {k: 2, <<: *x}\nc: {<<: [{k: 3}, *x]}\n", {"a": {"k": 1}, "b": {"k": 1}, "c": {"k": 3}}),
        ("1.0e6: a\n0.1: b\n", {"1e+06": "a", "0.1": "b"}),
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
        ("v: [A,", "yaml: line 1: did not find expected node content"),
        ("v:\n- [A,", "yaml: line 2: did not find expected node content"),
        ("a:\n- b: *,", "yaml: line 2: did not find expected alphabetic or numeric character"),
        ("a: *b\n", "yaml: unknown anchor 'b' referenced"),
        ("b: *a\na: &a {c: 1}", "yaml: unknown anchor 'a' referenced"),
        ("a: &a\n  b: *a\n", "yaml: anchor 'a' value contains itself"),
        ("a: &x 0\n<<:\n- *x\n", "yaml: map merge requires map or sequence of maps as the value"),
        ("<<: 1\n", "yaml: map merge requires map or sequence of maps as the value"),
        ("value: -", "yaml: block sequence entries are not allowed in this context"),
        ("a: !!binary ==", "yaml: !!binary value contains invalid base64 data"),
        ("a: !!float 'error'", "yaml: cannot decode !!str `error` as a !!float"),
        ("a: !!int 1.5", "yaml: cannot decode !!float `1.5` as a !!int"),
        ("a: !!null 1", "yaml: cannot decode !!int `1` as a !!null"),
        ("a: !!timestamp x", "yaml: cannot decode !!str `x` as a !!timestamp"),
        ("{[.]}", 'yaml: invalid map key: []interface {}{"."}'),
        ("{{.}}", 'yaml: invalid map key: map[interface {}]interface {}{".":interface {}(nil)}'),
        ("? ~\n: b\n", 'unsupported map key of type: %!s(<nil>), key: <nil>, value: "b"'),
        ("a: .inf", "json: unsupported value: +Inf"),
        ("a: -.inf", "json: unsupported value: -Inf"),
        ("a: .nan", "json: unsupported value: NaN"),
        ("a: \x01", "yaml: control characters are not allowed"),
        ("{", "yaml: line 1: did not find expected node content"),
        ("a: b: c", "yaml: mapping values are not allowed in this context"),
        ("x: 1\ny: [\nz: 1", "yaml: line 3: did not find expected ',' or ']'"),
        ("x: 1\ny: @", "yaml: line 2: found character that cannot start any token"),
        ("a: 1\nb: 2\nc 2\nd: 3\n", "yaml: line 4: could not find expected ':'"),
        ("a:\n  b: 1\n c: 2\n", "yaml: line 2: did not find expected key"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(MalformedYAML) as refused:
        yaml.loads(text)
    assert str(refused.value) == message


@pytest.mark.parametrize("number", ["9" * 5000, "0x" + "f" * 1000])
def test_numbers_that_are_too_long_are_texts(number: str) -> None:
    assert yaml.loads(f"a: {number}") == {"a": number}


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
    assert len(yaml.loads(base + "c: {<<: [*a, *b]}\n")["c"]) == 20_000
    merges = "".join(f"c{i}: {{<<: *a}}\n" for i in range(11))
    with pytest.raises(MalformedYAML, match="excessive aliasing"):
        yaml.loads(base + merges)


@pytest.mark.parametrize("depth", [255, 900, 5000, 200_000])
def test_depth_is_bounded(depth: int) -> None:
    with pytest.raises((TooDeep, MalformedYAML)):
        yaml.loads("[" * depth + "]" * depth)


WRITTEN = """\
"0": "1"
a.b: it's
a9: 1.2345675e+06
a10: 1e-07
b: 'a: b'
c: |
  two
  lines
d: ""
e: "1e3"
f: "1:30"
g: 'configmaps "a" is forbidden: User "x" cannot get resource "configmaps" in API
  group "" in the namespace "default"'
"""


def test_writing_as_kubernetes_does() -> None:
    forbidden = (
        'configmaps "a" is forbidden: User "x" cannot get resource "configmaps" in API group "" in the namespace'
    )
    value = {
        "g": f'{forbidden} "default"',
        "f": "1:30",
        "e": "1e3",
        "d": "",
        "c": "two\nlines\n",
        "b": "a: b",
        "a10": 1e-7,
        "a9": 1234567.5,
        "a.b": "it's",
        "0": "1",
    }
    assert yaml.dumps(value).decode() == WRITTEN


@pytest.mark.parametrize(
    "keys",
    [["a", "b10", "c"], ["a2", "a10"], ["a1b", "a1c"], ["-", "0", "a"], ["a1", "a01"], ["a100", "a101"], ["a", "ab"]],
)
def test_the_order_of_keys(keys: list[str]) -> None:
    written = yaml.dumps(dict.fromkeys(reversed(keys))).decode()
    assert [line.split(":")[0].strip("'\"") for line in written.splitlines()] == keys


def test_repeated_keys_are_told() -> None:
    value, repeated = yaml.loads_strict("data:\n  k: 1\n  j: 1\n  k: 2\n")
    assert value == {"data": {"k": 2, "j": 1}}
    assert repeated == ['line 4: key "k" already set in map']
    _, repeated = yaml.loads_strict("a:\n  b: 1\n1: x\n1: y\na:\n  c: 2\n")
    assert repeated == ["line 4: key 1 already set in map", 'line 6: key "a" already set in map'], "where the value is"


def test_writing() -> None:
    assert yaml.dumps({"b": ["x", {"y": 1}], "a": "héllo", "t": "2020-01-01", "n": "yes", "e": {}}) == (
        'a: héllo\nb:\n- x\n- "y": 1\ne: {}\n"n": "yes"\nt: "2020-01-01"\n'.encode()
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


def test_what_stands_twice_is_written_twice() -> None:
    part = {"a": [1]}
    text = yaml.dumps({"x": part, "y": part})
    assert b"&" not in text
    assert yaml.loads(text) == {"x": part, "y": part}
