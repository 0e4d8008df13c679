"""Predicates: what they say of themselves."""

from __future__ import annotations

from tests.mirrors import EVERYTHING, configmap, selecting


def test_the_empty_predicate_is_everything() -> None:
    assert selecting() is EVERYTHING
    assert EVERYTHING.signature == ""
    assert EVERYTHING.matches({})


def test_equal_selectors_have_equal_signatures() -> None:
    assert selecting("a=b,c").signature == selecting("c,a=b").signature
    assert selecting("a=b").signature != selecting("a=c").signature
    assert selecting("a=b").signature != selecting(fields="a=b").signature


def test_a_name_alone_is_decided_by_the_key() -> None:
    assert (selecting(fields="metadata.name=x").name, selecting(fields="metadata.name=x").by_name_only) == ("x", True)
    assert (selecting("a", "metadata.name=x").name, selecting("a", "metadata.name=x").by_name_only) == ("x", False)
    assert selecting(fields="metadata.name!=x").name is None


def test_both_selectors_have_to_match() -> None:
    predicate = selecting("a=b", "metadata.name=x")
    assert predicate.matches(configmap("x", labels={"a": "b"}))
    assert not predicate.matches(configmap("x"))
    assert not predicate.matches(configmap("y", labels={"a": "b"}))
