"""JSON syntax errors in Go's words: each state of Go's scanner, and agreement with the parser on what is an error."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.apimachinery.codec.json import MalformedJSON, loads
from controlplane.apimachinery.codec.json_errors import EXPLAINED_BYTES, json_kind, syntax_error

CUT_OFF = "unexpected end of JSON input"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", CUT_OFF),
        ("  ", CUT_OFF),
        ('{"a":1,', CUT_OFF),
        ('{"a":1,}', "invalid character '}' looking for beginning of object key string"),
        ("{a:1}", "invalid character 'a' looking for beginning of object key string"),
        ('{"a" 1}', "invalid character '1' after object key"),
        ('{"a":}', "invalid character '}' looking for beginning of value"),
        ('{"a":1 "b":2}', "invalid character '\"' after object key:value pair"),
        ("[1,]", "invalid character ']' looking for beginning of value"),
        ("[[1 2]]", "invalid character '2' after array element"),
        ("{} {}", "invalid character '{' after top-level value"),
        ("tru", CUT_OFF),
        ("trux", "invalid character 'x' in literal true (expecting 'e')"),
        ("[nan]", "invalid character 'a' in literal null (expecting 'u')"),
        ("-x", "invalid character 'x' in numeric literal"),
        ("01", "invalid character '1' after top-level value"),
        ("1.x", "invalid character 'x' after decimal point in numeric literal"),
        ("1e+x", "invalid character 'x' in exponent of numeric literal"),
        ('"a\nb"', r"invalid character '\n' in string literal"),
        ('"a\x01b"', r"invalid character '\x01' in string literal"),
        ('"\\q"', "invalid character 'q' in string escape code"),
        ('"\\u12g4"', "invalid character 'g' in \\u hexadecimal character escape"),
        ("'a'", r"invalid character '\'' looking for beginning of value"),
        ("Infinity", "invalid character 'I' looking for beginning of value"),
        ("é", "invalid character 'Ã' looking for beginning of value"),
    ],
)
def test_words(text: str, why: str) -> None:
    assert syntax_error(text.encode()) == why
    with pytest.raises(MalformedJSON) as caught:
        loads(text.encode())
    assert str(caught.value) == why


@given(st.text(alphabet='{}[]",:0123-+.eEtrufalsn \\x', max_size=16))
def test_finds_an_error_where_the_parser_does(text: str) -> None:
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        assert syntax_error(text) != ""
    else:
        assert syntax_error(text) == ""


def test_of_long_texts_the_parser_says_where() -> None:
    with pytest.raises(MalformedJSON, match="line 1 column"):
        loads("[" + " " * EXPLAINED_BYTES + "}")


@pytest.mark.parametrize(
    ("value", "kind"),
    [(None, "null"), (True, "bool"), (1, "number"), (1.5, "number"), ("", "string"), ([], "array"), ({}, "object")],
)
def test_kinds(value: Any, kind: str) -> None:
    assert json_kind(value) == kind
