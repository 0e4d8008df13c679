"""Label selectors: grammar, canonical text, matching, and upstream's error texts."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.apimachinery.selectors.labels import (
    EVERYTHING,
    LabelSelector,
    Requirement,
    SelectorError,
    parse_label_selector,
)

NOT_A_NUMBER = "for 'Gt', 'Lt' operators, the value must be an integer"
BAD_VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
BAD_NAME_PART = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("", ""),
        ("a", "a"),
        ("!a", "!a"),
        ("! a", "!a"),
        ("a=b", "a=b"),
        ("a = b", "a=b"),
        ("a==b", "a==b"),
        ("a!=b", "a!=b"),
        ("a=", "a="),
        ("a=,b", "a=,b"),
        ("a>1", "a>1"),
        ("a<10", "a<10"),
        ("b=2,a=1", "a=1,b=2"),
        ("a in (y,x)", "a in (x,y)"),
        ("a in (x, x)", "a in (x)"),
        ("a notin (x)", "a notin (x)"),
        ("a in ()", "a in ()"),
        ("a in (,)", "a in ()"),
        ("a in (x,)", "a in (,x)"),
        ("a in (,x)", "a in (,x)"),
        ("a in (x,,y)", "a in (,x,y)"),
        ("in in (in,notin)", "in in (in,notin)"),
        ("in", "in"),
        ("notin notin (a)", "notin notin (a)"),
        (" a \t\n, b ", "a,b"),
        ("example.com/a in (b),!c", "!c,example.com/a in (b)"),
        ("a=1,a=2", "a=1,a=2"),
    ],
)
def test_canonical_text(text: str, canonical: str) -> None:
    selector = parse_label_selector(text)
    assert str(selector) == canonical
    assert parse_label_selector(canonical) == selector
    assert selector.empty is (canonical == "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a=b=c", "found '=', expected: ',' or 'end of string'"),
        ("a in", "unable to parse requirement: found '' expected: '('"),
        ("a in (x", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a in (x y)", "unable to parse requirement: found 'y', expected: ',' or ')'"),
        ("a in (", "unable to parse requirement: found '', expected: ',', ')' or identifier"),
        ("a in (x,=)", "unable to parse requirement: found '=', expected: ',', or identifier"),
        ("a,,b", "found ',', expected: identifier after ','"),
        ("a,", "found '', expected: identifier after ','"),
        (",a", "found ',', expected: !, identifier, or 'end of string'"),
        ("=a", "found '=', expected: !, identifier, or 'end of string'"),
        ("bad key=x", "unable to parse requirement: found 'key', expected: in, notin, =, ==, !=, gt, lt"),
        ("k=bad value!", "found 'value', expected: ',' or 'end of string'"),
        ("!a=b", "found '=', expected: ',' or 'end of string'"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("a===b", "unable to parse requirement: found '=', expected: identifier"),
        ("n>xy", f'unable to parse requirement: values[0]: Invalid value: "xy": {NOT_A_NUMBER}'),
        ("a=%%", f'unable to parse requirement: values[0][a]: Invalid value: "%%": {BAD_VALUE}'),
        (
            "a>%%",
            (
                f'unable to parse requirement: [values[0]: Invalid value: "%%": {NOT_A_NUMBER}, '
                f'values[0][a]: Invalid value: "%%": {BAD_VALUE}]'
            ),
        ),
        (
            "a/=x",
            f'unable to parse requirement: <nil>: Invalid value: "a/": name part must be non-empty; {BAD_NAME_PART}',
        ),
        (
            "a in (" + "x" * 64 + ",y)",
            f'unable to parse requirement: values[0][a]: Invalid value: "{"x" * 64}": must be no more than 63 bytes',
        ),
    ],
)
def test_error_texts(text: str, message: str) -> None:
    with pytest.raises(SelectorError) as caught:
        parse_label_selector(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "labels", "expected"),
    [
        ("", {}, True),
        ("a", {"a": ""}, True),
        ("a", {}, False),
        ("!a", {}, True),
        ("!a", {"a": "x"}, False),
        ("a=x", {"a": "x"}, True),
        ("a=x", {"a": "y"}, False),
        ("a=", {}, False),
        ("a!=x", {}, True),
        ("a!=x", {"a": "x"}, False),
        ("a in (x,y)", {"a": "y"}, True),
        ("a in (x,y)", {}, False),
        ("a notin (x,y)", {}, True),
        ("a notin (x,y)", {"a": "y"}, False),
        ("a>1", {"a": "2"}, True),
        ("a>2", {"a": "2"}, False),
        ("a>1", {"a": "x"}, False),
        ("a>1", {}, False),
        ("a<1", {"a": "0"}, True),
        ("a<1", {"a": "-5"}, True),
        ("a<1", {}, False),
        ("a<1", {"a": "99999999999999999999"}, False),
        ("a=x,b", {"a": "x", "b": ""}, True),
        ("a=x,b", {"a": "x"}, False),
    ],
)
def test_matching(text: str, labels: Mapping[str, str], expected: bool) -> None:
    assert parse_label_selector(text).matches(labels) is expected


@pytest.mark.parametrize(
    ("text", "exact"),
    [("a=x", "x"), ("a==x", "x"), ("a in (x)", "x"), ("a in (x,y)", None), ("a!=x", None), ("b=x", None)],
)
def test_exact(text: str, exact: str | None) -> None:
    assert parse_label_selector(text).exact("a") == exact


words = st.from_regex(r"\A[A-Za-z0-9]([-A-Za-z0-9_.]{0,8}[A-Za-z0-9])?\Z")
requirements = st.one_of(
    st.builds(Requirement, words, st.sampled_from(["exists", "!"]), st.just(())),
    st.builds(Requirement, words, st.sampled_from(["=", "==", "!="]), words.map(lambda w: (w,))),
    st.builds(
        Requirement,
        words,
        st.sampled_from(["in", "notin"]),
        st.sets(words, min_size=1, max_size=3).map(lambda s: tuple(sorted(s))),
    ),
    st.builds(Requirement, words, st.sampled_from(["gt", "lt"]), st.integers(0, 2**63 - 1).map(lambda n: (str(n),))),
)


@given(st.lists(requirements, max_size=4))
def test_every_selector_reads_back_from_its_text(given_requirements: list[Requirement]) -> None:
    selector = LabelSelector(tuple(given_requirements))
    assert parse_label_selector(str(selector)) == selector
    assert hash(parse_label_selector(str(selector))) == hash(selector)


@given(st.text())
def test_any_text_parses_or_is_refused(text: str) -> None:
    try:
        selector = parse_label_selector(text)
    except SelectorError:
        return
    assert selector.matches({}) in {True, False}


def test_the_empty_text_selects_everything() -> None:
    assert parse_label_selector("") is EVERYTHING
    assert repr(parse_label_selector("a=b")) == "LabelSelector('a=b')"
