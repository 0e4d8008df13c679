"""Kubernetes quantities, computed with exactly.

Upstream keeps a quantity either as a 64-bit number and a power of ten or, where that does not fit, as a decimal of any
length; which of both it is can be seen: only the first kind, with whole units, is an "integer". So both are kept here.

Source: kubernetes/apimachinery ``pkg/api/resource`` (``quantity.go``, ``amount.go``).
"""

from __future__ import annotations

import re
from functools import total_ordering
from typing import ClassVar

from controlplane.cel.types import Type, object_type

__all__ = ["Amount", "parse_amount"]

_PATTERN = "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"
_GRAMMAR = re.compile(r"([+-]?)([0-9]*)(\.?)([0-9]*)([eEinumkKMGTP]*[-+]?[0-9]*)")
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]+)")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_NANO = -9
_MAX_INT64 = 2**63 - 1
_MAX_INT64_DIGITS = 18
_MAX_BINARY_DIGITS = 15
_MAX_EXPONENT = 200
_MAX_DIGITS = 1000
"""Upstream accepts any exponent of 32 bits and any number of digits; here sums cost 1, and must stay that cheap."""


@total_ordering
class Amount:
    """``unscaled`` times ten to the power of ``scale``. ``is_long``: it has left the 64-bit form, for good."""

    __slots__ = ("is_long", "scale", "unscaled")
    cel_type: ClassVar[Type] = object_type("kubernetes.Quantity")

    def __init__(self, unscaled: int, scale: int = 0, *, is_long: bool = False) -> None:
        self.unscaled = unscaled
        self.scale = scale
        self.is_long = is_long

    def __repr__(self) -> str:
        return f"Amount({self.unscaled}, {self.scale}, is_long={self.is_long})"

    def compare(self, other: Amount) -> int:
        mine, theirs, _ = _aligned(self, other)
        return (mine > theirs) - (mine < theirs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Amount) and self.compare(other) == 0

    def __lt__(self, other: Amount) -> bool:
        return self.compare(other) < 0

    def __hash__(self) -> int:
        unscaled, scale = self.unscaled, self.scale
        while unscaled and unscaled % 10 == 0:
            unscaled, scale = unscaled // 10, scale + 1
        return hash((unscaled, scale if unscaled else 0))

    def __add__(self, other: Amount) -> Amount:
        return self._sum(other, 1)

    def __sub__(self, other: Amount) -> Amount:
        return self._sum(other, -1)

    def _sum(self, other: Amount, sign: int) -> Amount:
        if not (self.is_long or other.is_long):
            if not other.unscaled:
                return Amount(self.unscaled, self.scale)
            if not self.unscaled:
                return Amount(sign * other.unscaled, other.scale)
        mine, theirs, scale = _aligned(self, other)
        total = mine + sign * theirs
        fits = all(-_MAX_INT64 - 1 <= number <= _MAX_INT64 for number in (mine, theirs, total))
        return Amount(total, scale, is_long=self.is_long or other.is_long or not fits)

    @property
    def sign(self) -> int:
        return (self.unscaled > 0) - (self.unscaled < 0)

    @property
    def int64(self) -> int | None:
        """The amount in whole units, None where upstream cannot give it without loss."""
        if self.is_long or self.scale < 0:
            return None
        value: int = self.unscaled * 10**self.scale
        return value if -_MAX_INT64 - 1 <= value <= _MAX_INT64 else None

    @property
    def approximate(self) -> float:
        """The nearest number that upstream computes: the digits, times a power of ten, each rounded."""
        try:
            digits = float(self.unscaled)
        except OverflowError:
            digits = float("inf") if self.unscaled > 0 else float("-inf")
        if not self.scale:
            return digits
        return digits * (float(f"1e{self.scale}") if self.scale >= -323 else 0.0)


def _aligned(first: Amount, second: Amount) -> tuple[int, int, int]:
    """Both in the finer of their scales."""
    scale = min(first.scale, second.scale)
    return first.unscaled * 10 ** (first.scale - scale), second.unscaled * 10 ** (second.scale - scale), scale


def parse_amount(text: str) -> Amount:
    """Read a quantity: ``100m``, ``1.5Gi``, ``1e3``.

    Raises:
        ValueError: with Kubernetes' message.
    """
    found = _GRAMMAR.fullmatch(text) if text else None
    if found is None:
        raise ValueError(f"quantities must match the regular expression '{_PATTERN}'")
    sign, digits, fraction = -1 if found[1] == "-" else 1, found[2].lstrip("0") or "0", found[4]
    exponent, is_binary = _suffix(found[5])
    short = _short(digits, fraction, exponent, is_binary=is_binary)
    if short is not None:
        return Amount(sign * short[0], short[1])
    return _long(sign, digits, fraction, exponent, is_binary=is_binary)


def _suffix(suffix: str) -> tuple[int, bool]:
    """The exponent, and whether it is one of two."""
    if suffix in _DECIMAL:
        return _DECIMAL[suffix], False
    if suffix in _BINARY:
        return _BINARY[suffix], True
    found = _EXPONENT.fullmatch(suffix)
    if found is None or len(found[1]) > 8 or abs(int(found[1])) > _MAX_EXPONENT:
        raise ValueError("unable to parse quantity's suffix")
    return int(found[1]), False


def _short(digits: str, fraction: str, exponent: int, *, is_binary: bool) -> tuple[int, int] | None:
    """The 64-bit form, where upstream chooses it: it goes by the number of digits."""
    if is_binary:
        if fraction or len(digits) + int(exponent * 0.3) + 1 > _MAX_BINARY_DIGITS:
            return None
        value = int(digits) << exponent
        return (value, 0) if value <= _MAX_INT64 else None
    scale = exponent - len(fraction)
    if len(digits) + len(fraction) > _MAX_INT64_DIGITS or scale < _NANO:
        return None
    return int(digits + fraction), scale


def _long(sign: int, digits: str, fraction: str, exponent: int, *, is_binary: bool) -> Amount:
    if len(digits) + len(fraction) > _MAX_DIGITS:
        raise ValueError("unable to parse numeric part of quantity")
    unscaled = int(digits + fraction)
    scale = -len(fraction)
    if is_binary:
        unscaled <<= exponent
    else:
        scale += exponent
    if scale < _NANO:  # finer than nanos is rounded away from zero
        unscaled, scale = -(-unscaled // 10 ** (_NANO - scale)), _NANO
    if is_binary and unscaled > _MAX_INT64 * 10**-scale:
        unscaled, scale = _MAX_INT64, 0
    return Amount(sign * unscaled, scale, is_long=True)
