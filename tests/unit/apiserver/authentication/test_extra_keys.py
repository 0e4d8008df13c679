"""Keys of extra values in header names."""

from __future__ import annotations

import pytest

from controlplane.apiserver.authentication.extra_keys import extra_key


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("Scopes", "scopes"),
        ("Acme.com%2Fproject", "acme.com/project"),
        ("a%2520b", "a%20b"),
        ("%E4%BB%8A", "\u4eca"),
        ("a%20b%zz", "a%20b%zz"),  # one that is wrong: none is decoded
        ("a%2", "a%2"),
        ("", ""),
    ],
)
def test_keys(name: str, key: str) -> None:
    assert extra_key(name) == key
