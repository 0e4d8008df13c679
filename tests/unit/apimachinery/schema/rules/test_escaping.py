"""Property names in expressions (kubernetes/apiserver ``pkg/cel/escaping_test.go``)."""

from __future__ import annotations

import pytest

from controlplane.apimachinery.schema.rules.escaping import escaped, unescaped


@pytest.mark.parametrize(
    ("name", "identifier"),
    [
        ("a", "a"),
        ("a_b", "a_b"),
        ("_a", "_a"),
        ("aB9", "aB9"),
        ("a__b", "a__underscores__b"),
        ("__", "__underscores__"),
        ("___", "__underscores___"),
        ("a.b-c/d", "a__dot__b__dash__c__slash__d"),
        ("-", "__dash__"),
        ("/x", "__slash__x"),
        ("namespace", "__namespace__"),
        ("in", "__in__"),
        ("true", "__true__"),
        ("True", "True"),
        ("in_", "in_"),
        ("", None),
        ("9a", None),
        ("a b", None),
        ("a$", None),
        ("\u00e9", None),
    ],
)
def test_names_are_escaped(name: str, identifier: str | None) -> None:
    assert escaped(name) == identifier
    if identifier is not None:
        assert unescaped(identifier) == name


def test_words_that_mean_nothing() -> None:
    assert unescaped("a__star__b") is None
    assert unescaped("a__in__b") is None
