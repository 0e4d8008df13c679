"""Texts as Go writes them, since messages quote what was given."""

from __future__ import annotations

import math
from decimal import Decimal

__all__ = ["go_double", "go_quoted"]

_ESCAPES = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    '"': '\\"',
    "\\": "\\\\",
}


def go_quoted(text: str) -> str:
    """Text in double quotes, what cannot be printed escaped as Go's ``strconv.Quote`` does."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def go_double(value: float) -> str:
    """The fewest digits that mean this number, as Go's ``%g`` writes them: ``1e+06``, ``0.5``, ``+Inf``."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
    shortest = Decimal(repr(value))
    exponent = shortest.adjusted()
    if value and (exponent < -4 or exponent >= 6):
        digits = f"{shortest.normalize():e}".partition("e")[0]
        return f"{digits}e{exponent:+03d}"
    return f"{shortest:f}".removesuffix(".0")
