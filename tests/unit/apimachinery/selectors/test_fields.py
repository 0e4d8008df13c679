"""Field selectors: grammar, escapes, canonical text, matching, and upstream's error texts."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.apimachinery.selectors.fields import (
    EVERYTHING,
    FieldRequirement,
    FieldSelector,
    parse_field_selector,
    unknown_field,
)
from controlplane.apimachinery.selectors.labels import SelectorError


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("", ""),
        (",", ""),
        ("a=b", "a=b"),
        ("a==b", "a=b"),
        ("a!=b", "a!=b"),
        ("b=2,a=1", "a=1,b=2"),
        ("a=", "a="),
        ("=b", "=b"),
        (r"a=b\,c", r"a=b\,c"),
        (r"a=b\=c", r"a=b\=c"),
        (r"a=b\\", r"a=b\\"),
        ("a = b", "a = b"),
    ],
)
def test_canonical_text(text: str, canonical: str) -> None:
    selector = parse_field_selector(text)
    assert str(selector) == canonical
    assert selector.empty is (canonical == "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'"),
        ("metadata.name>a", "invalid selector: 'metadata.name>a'; can't understand 'metadata.name>a'"),
        ("a=b,c", "invalid selector: 'a=b,c'; can't understand 'c'"),
        ("a=b=c", "invalid field selector: unescaped character in value: 61"),
        (r"a=\x", r"invalid field selector: invalid escape sequence: \x"),
        ("a=b\\", "invalid field selector: invalid escape sequence: \\"),
    ],
)
def test_error_texts(text: str, message: str) -> None:
    with pytest.raises(SelectorError) as caught:
        parse_field_selector(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "attributes", "expected"),
    [
        ("a=x", {"a": "x"}, True),
        ("a=x", {}, False),
        ("a=", {}, True),
        ("a!=x", {}, True),
        ("a!=x", {"a": "x"}, False),
        ("a!=", {"a": "x"}, True),
        ("a=x,b!=y", {"a": "x", "b": "z"}, True),
        ("a=x,b!=y", {"a": "x", "b": "y"}, False),
    ],
)
def test_matching(text: str, attributes: Mapping[str, str], expected: bool) -> None:
    assert parse_field_selector(text).matches(attributes) is expected


def test_exact() -> None:
    selector = parse_field_selector("a=x,b!=y")
    assert selector.exact("a") == "x"
    assert selector.exact("b") is None
    assert selector.exact("c") is None


@pytest.mark.parametrize(
    ("allowed", "native", "message"),
    [
        (
            ("metadata.name", "metadata.namespace"),
            True,
            '"data.k" is not a known field selector: only "metadata.name", "metadata.namespace"',
        ),
        (("metadata.name", "status.phase"), True, "field label not supported: data.k"),
        (("metadata.name", "metadata.namespace"), False, "field label not supported: data.k"),
    ],
)
def test_unknown_fields(allowed: tuple[str, ...], native: bool, message: str) -> None:
    assert unknown_field("data.k", allowed, native=native) == message


fields = st.from_regex(r"\A[a-z][a-z.]{0,8}\Z")


@given(st.lists(st.builds(FieldRequirement, fields, st.sampled_from(["=", "!="]), st.text(max_size=8)), max_size=3))
def test_every_selector_reads_back_from_its_text(requirements: list[FieldRequirement]) -> None:
    selector = parse_field_selector(str(FieldSelector(tuple(requirements))))
    assert sorted(selector.requirements) == sorted(requirements)
    assert parse_field_selector(str(selector)) == selector


def test_the_empty_text_selects_everything() -> None:
    assert parse_field_selector("") is EVERYTHING
