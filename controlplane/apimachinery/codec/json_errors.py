"""What is wrong with a JSON text, in the words of Go's decoder, which clients of Kubernetes see.

Slow and plain: it runs on texts that the parser has refused already, if they are no longer than ``EXPLAINED_BYTES``.
Bytes are looked at one by one, as Go does: what is not ASCII shows as the character of that number.

Source: Go's ``encoding/json`` (scanner.go, decode.go).
"""

from __future__ import annotations

import re
from typing import Any

__all__ = ["json_kind", "syntax_error"]

EXPLAINED_BYTES = 16 * 1024
"""Looking at that many takes five milliseconds; of longer texts nothing more is said than the parser does."""

_CUT_OFF = "unexpected end of JSON input"
_SPACE = re.compile(r"[ \t\r\n]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)")
_FRACTION = re.compile(r"\.[0-9]+")
_EXPONENT = re.compile(r"[eE][+-]?[0-9]+")
_PLAIN = re.compile(r'[^"\\\x00-\x1f]*')
_LITERALS = {"t": "true", "f": "false", "n": "null"}


def json_kind(value: Any) -> str:
    """What Go calls the kind of a decoded value: ``array``, ``object``, ``string``, ``number``, ``bool``, ``null``."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, list):
        return "array"
    return "object" if isinstance(value, dict) else "number"


def syntax_error(text: bytes | str) -> str:
    """The first thing wrong with a text; ``""`` if it is too long to say, or nothing is."""
    if len(text) > EXPLAINED_BYTES:
        return ""
    try:
        _Scan(text.decode("latin-1") if isinstance(text, bytes) else text).document()
    except _SyntaxError as error:
        return str(error)
    return ""


class _SyntaxError(Exception):
    """The message is Go's."""


class _Scan:
    """One pass over a text; ``at`` is what comes next."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0

    def document(self) -> None:
        """Raises _SyntaxError."""
        ends: list[str] = []  # what closes the arrays and objects that are open
        self._value(ends)
        while ends:
            closing = ends[-1]
            found = self._next()
            if found == closing:
                self._at += 1
                ends.pop()
            elif found == ",":
                self._at += 1
                if closing == "}":
                    self._key(self._next())
                self._value(ends)
            else:
                where = "after object key:value pair" if closing == "}" else "after array element"
                raise self._unexpected(where)
        if _skip(_SPACE, self._text, self._at) < len(self._text):
            self._next()
            raise self._unexpected("after top-level value")

    def _value(self, ends: list[str]) -> None:
        """A scalar whole, or an array or object up to its first element's end."""
        while True:
            found = self._next()
            if found == '"':
                return self._string()
            if found in _LITERALS:
                return self._literal(_LITERALS[found])
            if found == "-" or found.isdecimal():
                return self._number()
            if found not in "[{":
                raise self._unexpected("looking for beginning of value")
            self._at += 1
            closing = "]" if found == "[" else "}"
            first = self._next()
            if first == closing:
                self._at += 1
                return None
            ends.append(closing)
            if found == "{":
                self._key(first)

    def _key(self, first: str) -> None:
        if first != '"':
            raise self._unexpected("looking for beginning of object key string")
        self._string()
        if self._next() != ":":
            raise self._unexpected("after object key")
        self._at += 1

    def _string(self) -> None:
        self._at += 1
        while True:
            self._at = _skip(_PLAIN, self._text, self._at)
            found = self._here()
            if found == '"':
                self._at += 1
                return
            if found != "\\":
                raise self._unexpected("in string literal")
            self._at += 1
            found = self._here()
            if found not in '"\\/bfnrtu':
                raise self._unexpected("in string escape code")
            self._at += 1
            for _ in range(4 if found == "u" else 0):
                if self._here() not in "0123456789abcdefABCDEF":
                    raise self._unexpected("in \\u hexadecimal character escape")
                self._at += 1

    def _literal(self, word: str) -> None:
        for expected in word:
            if self._here() != expected:
                raise self._unexpected(f"in literal {word} (expecting '{expected}')")
            self._at += 1

    def _number(self) -> None:
        end = _skip(_NUMBER, self._text, self._at)
        if end == self._at:
            self._at += 1
            raise self._unexpected("in numeric literal")
        self._at = end
        self._number_part(".", _FRACTION, "after decimal point in numeric literal")
        self._number_part("eE", _EXPONENT, "in exponent of numeric literal")

    def _number_part(self, begins: str, pattern: re.Pattern[str], where: str) -> None:
        if self._text[self._at : self._at + 1] not in tuple(begins):
            return
        end = _skip(pattern, self._text, self._at)
        if end == self._at:
            self._at += 1
            if begins == "eE" and self._here() in "+-":
                self._at += 1
            raise self._unexpected(where)
        self._at = end

    def _next(self) -> str:
        """The next character that is no white space."""
        self._at = _skip(_SPACE, self._text, self._at)
        return self._here()

    def _here(self) -> str:
        if self._at >= len(self._text):
            raise _SyntaxError(_CUT_OFF)
        return self._text[self._at]

    def _unexpected(self, where: str) -> _SyntaxError:
        return _SyntaxError(f"invalid character {_quoted(self._here())} {where}")


def _skip(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match is not None else at


def _quoted(char: str) -> str:
    if char == "'":
        return r"'\''"
    if char == '"':
        return "'\"'"
    if char.isprintable() and char != "\\":
        return f"'{char}'"
    named = {"\a": "a", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t", "\v": "v", "\\": "\\"}
    if char in named:
        return f"'\\{named[char]}'"
    return f"'\\x{ord(char):02x}'" if ord(char) < 0x80 else f"'\\u{ord(char):04x}'"
