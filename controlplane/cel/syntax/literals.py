"""The values of literals: numbers, and strings with their escapes.

Source: google/cel-go ``parser/unescape.go``, ``parser/parser.go`` (VisitInt and its neighbours).
"""

from __future__ import annotations

import math
import re

from controlplane.cel.values import INT_MAX, INT_MIN, UINT_MAX, UInt

__all__ = ["LiteralError", "bytes_value", "float_value", "int_value", "string_value", "uint_value"]

_SIMPLE = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, "\\": 92, "'": 39, '"': 34, "`": 96, "?": 63}
_ESCAPES = re.compile(r"\\([xX]..|u....|U........|[0-3]..|.)", re.DOTALL)
_MAX_DIGITS = 400
"""Digits of a number that are looked at: more than any 64-bit number or double has."""


class LiteralError(ValueError):
    """The literal has no value."""


def int_value(text: str) -> int:
    """Of ``-12`` or ``0xff``."""
    number = _whole(text.lstrip("-"), "invalid int literal")
    number = -number if text.startswith("-") else number
    if not INT_MIN <= number <= INT_MAX:
        raise LiteralError("invalid int literal")
    return number


def uint_value(text: str) -> UInt:
    """Of ``12u`` or ``0xffu``."""
    number = _whole(text[:-1], "invalid uint literal")
    if number > UINT_MAX:
        raise LiteralError("invalid uint literal")
    return UInt(number)


def _whole(text: str, problem: str) -> int:
    if len(text) > _MAX_DIGITS:
        raise LiteralError(problem)
    return int(text[2:], 16) if text.startswith("0x") else int(text)


def float_value(text: str) -> float:
    """Of ``1.5e3``."""
    number = float(text)
    if math.isinf(number):
        raise LiteralError("invalid double literal")
    return number


def string_value(text: str) -> str:
    """Of a string literal as it is written, prefix and quotes included."""
    body, raw = _body(text)
    if raw or "\\" not in body:
        return body
    return _ESCAPES.sub(_char, body)


def bytes_value(text: str) -> bytes:
    """Of a bytes literal as it is written."""
    body, raw = _body(text[1:])
    if raw or "\\" not in body:
        return body.encode()
    parts: list[bytes] = []
    position = 0
    for escape in _ESCAPES.finditer(body):
        parts.append(body[position : escape.start()].encode())
        kind = escape.group(1)
        if kind[0] in "uU":
            raise LiteralError("unable to unescape string")
        parts.append(bytes([_code(kind)]))
        position = escape.end()
    parts.append(body[position:].encode())
    return b"".join(parts)


def _body(text: str) -> tuple[str, bool]:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    raw = text[0] in "rR"
    if raw:
        text = text[1:]
    quotes = 3 if len(text) >= 6 and text[:3] in ('"""', "'''") else 1
    return text[quotes:-quotes], raw


def _code(kind: str) -> int:
    if kind[0] in "xXuU":
        return int(kind[1:], 16)
    if kind[0] in "0123":
        return int(kind, 8)
    return _SIMPLE[kind]


def _char(escape: re.Match[str]) -> str:
    code = _code(escape.group(1))
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise LiteralError("invalid unicode code point")
    return chr(code)
