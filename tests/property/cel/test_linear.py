"""Patterns given to ``re``: they mean what RE2 says, and they take no longer than the text allows."""

from __future__ import annotations

import os
import time

import pytest
import re2
from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.cel.linear import compile_linear

pytestmark = pytest.mark.alone

EXAMPLES = 20_000 if os.environ.get("CONTROLPLANE_TEST_LONG") else 300

_CHARS = "ab0-. \n\t\v\u00e4"
_ATOMS = st.one_of(
    st.sampled_from(["a", "b", "0", "-", r"\.", ".", "[ab]", "[^a]", "[a-z0-9]", "[-a-z]", r"[\w.-]", "ä"]),
    st.sampled_from([r"\d", r"\w", r"\s", r"[^\s]", r"\-", r"\t", "[0-9-]"]),
)
_COUNTS = st.sampled_from(["", "", "", "*", "+", "?", "{2}", "{1,3}", "{2,}", "{0,2}"])


def _joined(parts: list[tuple[str, str]]) -> str:
    return "".join(part + count for part, count in parts)


_PATTERNS = st.recursive(
    st.lists(st.tuples(_ATOMS, _COUNTS), min_size=1, max_size=4).map(_joined),
    lambda inner: st.lists(
        st.tuples(
            st.one_of(
                st.lists(inner, min_size=1, max_size=3).map(lambda ways: f"({'|'.join(ways)})"),
                inner.map(lambda one: f"(?:{one})"),
                _ATOMS,
            ),
            _COUNTS,
        ),
        min_size=1,
        max_size=3,
    ).map(_joined),
    max_leaves=6,
)
_ANCHORED = st.tuples(st.sampled_from(["^", "^", ""]), _PATTERNS, st.sampled_from(["$", "$", ""])).map("".join)
_TEXTS = st.text(alphabet=_CHARS, max_size=12)


@settings(max_examples=EXAMPLES, deadline=None)
@given(_ANCHORED, st.lists(_TEXTS, min_size=4, max_size=8))
def test_the_meaning_is_that_of_re2(pattern: str, texts: list[str]) -> None:
    search = compile_linear(pattern)
    if search is None:
        return
    theirs = re2.compile(pattern)
    for text in texts:
        assert bool(search(text)) == bool(theirs.search(text)), (pattern, text)


@settings(max_examples=EXAMPLES // 5, deadline=None)
@given(
    _ANCHORED,
    st.lists(st.sampled_from(["a", "b", "0", "ab", "-", "."]), min_size=1, max_size=3),
    st.sampled_from("! aé"),
)
def test_time_is_linear_in_the_text(pattern: str, period: list[str], end: str) -> None:
    """Twenty thousand characters that nearly match: a second try for each of them would take minutes."""
    search = compile_linear(pattern)
    if search is None:
        return
    text = "".join(period) * (20_000 // len("".join(period))) + end
    started = time.process_time()
    search(text)
    assert time.process_time() - started < 0.2, pattern


@pytest.mark.parametrize(
    "pattern",
    [
        "^[a-z]+$",
        "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
        r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
        "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$",
        "^(http|https)://.*$",
        r"^\d{1,3}(\.\d{1,3}){3}$",
        r"^v?[0-9]+(\.[0-9]+){0,2}$",
        "^([0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}$",
        r"^arn:aws[a-z-]*:iam::\d{12}:role/.+$",
        r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$",
        "foo",
    ],
)
def test_what_people_write_is_proved(pattern: str) -> None:
    assert compile_linear(pattern) is not None


@pytest.mark.parametrize(
    "pattern",
    [
        "^(a+)+$",
        "^(a|a)*$",
        "^(a|ab)*c$",
        "^.+@.+$",
        "^a*a*a*$",
        "^(a*)*$",
        "a.*b",
        "[a-z]+@",
        "^a|b$",
        "(?i)a",
        r"\bfoo\b",
        "^a+?$",
        "^(?P<x>a)$",
        r"^\pL$",
        "^[[:alpha:]]$",
        "^a{1001}$",
        "^(((a?){5}){5}){5}$",
        "^" + "a?" * 30 + "a" * 30 + "$",
        "^" + "(a|ab)" * 10 + "$",
        "^a**$",
        "a{,3}",
        "^(",
        "[z-a]",
        "(" * 500 + ")" * 500,
    ],
)
def test_what_is_not_proved_is_left_to_re2(pattern: str) -> None:
    assert compile_linear(pattern) is None
