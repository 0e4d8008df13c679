"""Bounds on sizes and costs before anything is evaluated, and what a function's estimate is told about its arguments.

Numbers saturate at 2**64 - 1, which means "not bounded".

Source: google/cel-go ``checker/cost.go``, ``common/cost.go``: the same sums, rounding and saturation, because estimates
decide which rules are accepted.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

from controlplane.cel.types import Type

__all__ = [
    "LIST_CREATE_COST",
    "MAP_CREATE_COST",
    "REGEX_LENGTH_FACTOR",
    "SELECT_COST",
    "STRING_FACTOR",
    "STRUCT_CREATE_COST",
    "UNBOUNDED",
    "UNKNOWN",
    "Bounds",
    "CallEstimate",
    "Operand",
    "fixed",
]

UNBOUNDED = 2**64 - 1
SELECT_COST = 1
LIST_CREATE_COST = 10
MAP_CREATE_COST = 30
STRUCT_CREATE_COST = 40
STRING_FACTOR = 0.1
"""Cost of going over one character of a string."""
REGEX_LENGTH_FACTOR = 0.25
"""Cost of a regular expression by its length, per step of the text."""


class Bounds(NamedTuple):
    """The least and the most that a size or a cost can be."""

    least: int
    most: int

    def plus(self, other: Bounds) -> Bounds:
        """The sum."""
        return Bounds(min(self.least + other.least, UNBOUNDED), min(self.most + other.most, UNBOUNDED))

    def times(self, other: Bounds) -> Bounds:
        """The product."""
        return Bounds(min(self.least * other.least, UNBOUNDED), min(self.most * other.most, UNBOUNDED))

    def scaled(self, factor: float) -> Bounds:
        """The product with a number, rounded up."""
        return Bounds(_scaled(self.least, factor), _scaled(self.most, factor))

    def union(self, other: Bounds) -> Bounds:
        """Both."""
        return Bounds(min(self.least, other.least), max(self.most, other.most))


def fixed(number: int) -> Bounds:
    """Exactly this."""
    return Bounds(number, number)


UNKNOWN = Bounds(0, UNBOUNDED)


def _scaled(number: int, factor: float) -> int:
    product = float(number) * factor
    if product >= 2.0**64 or (factor > 0 and number >= UNBOUNDED / factor):
        return UNBOUNDED
    return math.ceil(product)


class CallEstimate(NamedTuple):
    """What a call costs beyond its arguments, and how large its result is (None: by its type and path)."""

    cost: Bounds
    size: Bounds | None = None


class Operand(Protocol):
    """An argument of a call, as its function's estimate sees it."""

    @property
    def type(self) -> Type:
        """The type that the checker found."""

    @property
    def computed_size(self) -> Bounds | None:
        """The size as it follows from the expression; None if it does not."""

    @property
    def size(self) -> Bounds:
        """The computed size, else what the environment says of its path, else UNKNOWN."""

    @property
    def int_constant(self) -> int | None:
        """The value of a literal of type int; None of anything else."""

    def item(self) -> Operand | None:
        """Of a list: its items (by the path if there is one); None where the type is no list or map."""
