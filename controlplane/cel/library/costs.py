"""The shapes that the costs of library functions have: counted after a call, and estimated before.

Source: kubernetes/apiserver ``pkg/cel/library/cost.go`` and google/cel-go ``ext``: the same sums and rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from controlplane.cel.estimates import LIST_CREATE_COST, STRING_FACTOR, UNBOUNDED, Bounds, CallEstimate, Operand, fixed
from controlplane.cel.limits import check_visits
from controlplane.cel.values import Value, size_of

__all__ = [
    "allocated",
    "allocating",
    "nominal",
    "result_written",
    "rewritten",
    "scanned",
    "scanning",
    "traversal",
    "walked",
    "walking",
]


_FREE_CHARACTERS = 10_000
"""Up to here a result costs what upstream says, which goes by the arguments alone."""


def scanned(factor: int = 1, extra: int = 0) -> Callable[..., int]:
    """Counted: the first argument is gone over ``factor`` times, by its size."""

    def cost(_result: Value, first: Value, *_others: Value) -> int:
        return math.ceil(size_of(first) * factor * STRING_FACTOR) + extra

    return cost


def scanning(factor: int = 1, *, sized: bool = False) -> Callable[..., CallEstimate]:
    """Estimated: the same; ``sized`` says that the result is as large as the argument."""

    def estimate(first: Operand, *_others: Operand) -> CallEstimate:
        return CallEstimate(first.size.scaled(factor * STRING_FACTOR), first.size if sized else None)

    return estimate


def nominal(*_operands: Operand) -> CallEstimate:
    """Estimated: 1, whatever the arguments."""
    return CallEstimate(fixed(1))


def result_written(result: Value, *_arguments: Value) -> int:
    """Counted: the result is a text that was put together."""
    return math.ceil(size_of(result) * 2 * STRING_FACTOR)


def rewritten(factor: int) -> Callable[..., int]:
    """Counted: as ``scanned``, and what a large result takes to write, which upstream gives away."""
    walk = scanned(factor)

    def cost(result: Value, first: Value, *_others: Value) -> int:
        size = len(result)
        return walk(None, first) + (math.ceil(size * STRING_FACTOR) if size > _FREE_CHARACTERS else 0)

    return cost


_WALKED = frozenset({str, bytes, list, dict})
"""What is more than one piece."""


def traversal(value: Value) -> int:
    """What it costs to look at all of a value: texts by their bytes, rounded down; the rest by the piece."""
    if isinstance(value, list) and _WALKED.isdisjoint(map(type, value)):
        return len(value)
    check_visits(value)
    total, todo = 0, [value]
    while todo:
        current = todo.pop()
        if isinstance(current, str):
            length = len(current) if current.isascii() else len(current.encode("utf-8", "surrogatepass"))
            total += int(length * STRING_FACTOR)
        elif isinstance(current, bytes):
            total += int(len(current) * STRING_FACTOR)
        elif isinstance(current, list):
            if _WALKED.isdisjoint(map(type, current)):
                total += len(current)
            else:
                todo.extend(current)
        elif isinstance(current, dict):
            todo.extend(current)
            todo.extend(current.values())
        else:
            total += 1
    return total


def walked(_result: Value, first: Value, *_others: Value) -> int:
    """Counted: all of the first argument is looked at."""
    return traversal(first)


def walking(first: Operand, *_others: Operand) -> CallEstimate:
    """Estimated: each item is compared once, and strings and bytes are gone over for that."""
    item = first.item()
    if item is None:  # a string: indexOf and lastIndexOf have overloads for it
        return CallEstimate(first.size.scaled(STRING_FACTOR))
    each = fixed(1)
    if item.type.kind in ("string", "bytes"):
        each = each.plus(item.size.scaled(STRING_FACTOR))
    return CallEstimate(first.size.times(each))


def allocated(factor: float, size: int) -> int:
    """Counted: a call, a new list, and ``factor`` for each of ``size``."""
    return min(int(size * factor), UNBOUNDED) + 1 + LIST_CREATE_COST


def allocating(factor: float, size: Bounds) -> CallEstimate:
    """Estimated: the same; the list is as large."""
    return CallEstimate(size.scaled(factor).plus(fixed(1 + LIST_CREATE_COST)), size)
