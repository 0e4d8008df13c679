"""Quantities: ``100m``, ``1.5Gi``, ``1e3`` — exact numbers with a suffix, compared and added by value.

A quantity is kept as a whole number of nanos, the finest unit there is; finer values are rounded away from zero. How
it was written (decimal, binary or by exponent) stays with it, and decides its canonical text.

Source: the grammar, canonical form, limits and error texts of kubernetes/apimachinery ``api/resource``.
"""

from __future__ import annotations

import re
from functools import total_ordering
from typing import Literal

__all__ = ["Format", "Quantity", "QuantityError", "parse_quantity"]

Format = Literal["DecimalSI", "BinarySI", "DecimalExponent"]

_NANOS = 10**9
_MAX_BINARY = (2**63 - 1) * _NANOS
"""Binary quantities stop here, as they do upstream; decimal ones do not."""
_MAX_EXPONENT = 1000
"""Upstream accepts any exponent of 32 bits; a number of a thousand digits is refused rather than computed with."""
_MAX_INT64_DIGITS = 18
"""Upstream keeps the text as it was given if its number fits 64 bits for sure."""

_PATTERN = "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"
_GRAMMAR = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)")
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]+)")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIX = {exponent: suffix for suffix, exponent in _BINARY.items()} | {0: ""}


class QuantityError(ValueError):
    """The text is not a quantity; the message is the one that Kubernetes answers with."""


@total_ordering
class Quantity:
    """An amount; immutable. Equal amounts are equal, however they are written."""

    __slots__ = ("_text", "format", "nanos")

    def __init__(self, nanos: int, format: Format = "DecimalSI", *, text: str = "") -> None:  # noqa: A002
        self.nanos = nanos
        self.format: Format = format
        self._text = text

    def __str__(self) -> str:
        """The canonical text: the largest suffix that leaves a whole number."""
        if not self._text:
            self._text = self._canonical()
        return self._text

    def __repr__(self) -> str:
        return f"Quantity({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.nanos == other.nanos

    def __lt__(self, other: Quantity) -> bool:
        return self.nanos < other.nanos

    def __hash__(self) -> int:
        return hash(self.nanos)

    def __bool__(self) -> bool:
        return self.nanos != 0

    def __add__(self, other: Quantity) -> Quantity:
        """The sum, in the format of the first that is not zero."""
        return Quantity(self.nanos + other.nanos, self.format if self.nanos else other.format)

    def __sub__(self, other: Quantity) -> Quantity:
        return Quantity(self.nanos - other.nanos, self.format if self.nanos else other.format)

    def __neg__(self) -> Quantity:
        return Quantity(-self.nanos, self.format)

    @property
    def value(self) -> int:
        """The amount in whole units, rounded away from zero."""
        return _divided_up(self.nanos, _NANOS)

    @property
    def milli_value(self) -> int:
        """The amount in thousandths, rounded away from zero."""
        return _divided_up(self.nanos, _NANOS // 1000)

    def _canonical(self) -> str:
        if not self.nanos:
            return "0"
        if self.format == "BinarySI" and abs(self.nanos) >= 1024 * _NANOS and self.nanos % _NANOS == 0:
            number, exponent = self.nanos // _NANOS, 0
            while number % 1024 == 0 and exponent < 60:
                number //= 1024
                exponent += 10
            return f"{number}{_BINARY_SUFFIX[exponent]}"
        number, exponent = self.nanos, -9
        largest = None if self.format == "DecimalExponent" else 18
        while number % 1000 == 0 and exponent != largest:
            number //= 1000
            exponent += 3
        if self.format == "DecimalExponent":
            return f"{number}e{exponent}" if exponent else str(number)
        return f"{number}{_DECIMAL_SUFFIX[exponent]}"


def _divided_up(number: int, divisor: int) -> int:
    """Division rounded away from zero."""
    return -(-number // divisor) if number > 0 else number // divisor


def parse_quantity(text: str) -> Quantity:
    """Read a quantity.

    Raises:
        QuantityError: with Kubernetes' message.
    """
    found = _GRAMMAR.fullmatch(text) if text else None
    if found is None:
        raise QuantityError(f"quantities must match the regular expression '{_PATTERN}'")
    sign, whole, fraction, suffix = found[1], found[2].lstrip("0"), found[3] or "", found[4]
    base, exponent, format_ = _suffix(suffix)
    try:
        number = int((whole + fraction) or "0")
    except ValueError:  # more digits than Python reads at once
        raise QuantityError("unable to parse numeric part of quantity") from None
    nanos = _scaled(
        number * _NANOS * 2 ** (exponent if base == 2 else 0), (exponent if base == 10 else 0) - len(fraction)
    )
    if format_ == "BinarySI":
        nanos = min(nanos, _MAX_BINARY)
        if 0 < nanos < _NANOS:
            format_ = "DecimalSI"
    if sign == "-":
        nanos = -nanos
    kept = text if _is_kept(whole or "0", fraction, exponent, format_) else ""
    return Quantity(nanos, format_, text=kept if number or text == "0" else "")


def _suffix(suffix: str) -> tuple[int, int, Format]:
    """Base, exponent and format."""
    if suffix in _DECIMAL:
        return 10, _DECIMAL[suffix], "DecimalSI"
    if suffix in _BINARY:
        return 2, _BINARY[suffix], "BinarySI"
    found = _EXPONENT.fullmatch(suffix)
    if found is None or len(found[1]) > 8 or abs(int(found[1])) > _MAX_EXPONENT:
        raise QuantityError("unable to parse quantity's suffix")
    return 10, int(found[1]), "DecimalExponent"


def _scaled(number: int, exponent: int) -> int:
    """``number`` times a power of ten, rounded up to a whole number."""
    return number * 10**exponent if exponent >= 0 else _divided_up(number, 10**-exponent)


def _is_kept(whole: str, fraction: str, exponent: int, format_: Format) -> bool:
    """Whether upstream takes the text as canonical without a closer look, which shows in ``+1``, ``1E3`` and ``1.``."""
    digits = whole + fraction
    if format_ == "BinarySI":
        fits = not fraction and len(whole) + int(exponent * 0.3) + 1 <= 15
        return fits and int(whole) & 0x07 != 0
    scale = exponent - len(fraction)
    fits = len(digits) <= _MAX_INT64_DIGITS and scale >= -9
    return fits and scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"
