"""The reader of the text format."""

from __future__ import annotations

import pytest

from tests.unit.cel.conformance.textproto import parse

TEXT = r"""
# a comment
name: "a\x41\101\n" 'b\'"'  # joined
section {
  test { expr: "x" values: [1, -2.5, { a: T }] }
  test: < empty {} [type.googleapis.com/x.Y] { z: 1; } list: [] >
}
"""


def test_messages_lists_and_strings() -> None:
    assert parse(TEXT) == {
        "name": [b"aAA\nb'\""],
        "section": [
            {
                "test": [
                    {"expr": [b"x"], "values": ["1", "-2.5", {"a": ["T"]}]},
                    {"empty": [{}], "[type.googleapis.com/x.Y]": [{"z": ["1"]}], "list": []},
                ]
            }
        ],
    }


@pytest.mark.parametrize("text", ["a: ", "a {", ": 1", 'a: "x', "}"])
def test_what_is_not_of_the_format(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected|unexpected"):
        parse(text)
