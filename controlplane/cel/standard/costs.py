"""Costs of the standard functions that are not 1: counted, and estimated.

Source: google/cel-go ``interpreter/runtimecost.go`` (costCall), ``checker/cost.go`` (functionCost).
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil

from controlplane.cel.estimates import REGEX_LENGTH_FACTOR, STRING_FACTOR, Bounds, CallEstimate, Operand, fixed
from controlplane.cel.values import Value, size_of

__all__ = [
    "added",
    "added_estimate",
    "bytes_to_string_estimate",
    "compared",
    "compared_estimate",
    "contained",
    "contained_estimate",
    "equality_estimate",
    "joined_surcharge",
    "list_added_estimate",
    "listed",
    "listed_estimate",
    "matched",
    "matched_estimate",
    "prefix_estimate",
    "string_to_bytes_estimate",
    "traversed",
]


def traversed(result: Value, text: Value, *rest: Value) -> int:
    """One walk over the first argument."""
    del result, rest
    return ceil(len(text) * STRING_FACTOR)


def prefix_estimate(text: Operand, part: Operand) -> CallEstimate:
    """Of ``startsWith`` and ``endsWith``: the estimate goes by the part."""
    del text
    return CallEstimate(part.size.scaled(STRING_FACTOR))


def string_to_bytes_estimate(text: Operand) -> CallEstimate:
    """A character gives up to four bytes."""
    size = text.size
    return CallEstimate(size.scaled(STRING_FACTOR), Bounds(size.least, size.times(fixed(4)).most))


def bytes_to_string_estimate(data: Operand) -> CallEstimate:
    """Up to four bytes give a character."""
    size = data.size
    return CallEstimate(size.scaled(STRING_FACTOR), Bounds(size.least // 4, size.most))


def listed(result: Value, item: Value, items: Value) -> int:
    """``in`` of a list looks at every item."""
    del result, item
    return len(items)


def listed_estimate(item: Operand, items: Operand) -> CallEstimate:
    """The same, before."""
    del item
    return CallEstimate(items.size.scaled(1))


def compared(result: Value, left: Value, right: Value) -> int:
    """Equality and order look at the shorter of the two."""
    del result
    return ceil(min(size_of(left), size_of(right)) * STRING_FACTOR)


def compared_estimate(left: Operand, right: Operand) -> CallEstimate:
    """The same, before."""
    most = min(left.size.most, right.size.most)
    return CallEstimate(Bounds(1 if most > 0 else 0, most).scaled(STRING_FACTOR))


_EQUALITY: Mapping[str, Bounds] = {
    **dict.fromkeys(("net.IP", "net.CIDR", "kubernetes.Quantity", "kubernetes.Semver"), fixed(1)),
    "kubernetes.NamedFormat": Bounds(1, 7),
}
"""Of two values of these types, as Kubernetes estimates it, whose libraries have them."""


def equality_estimate(left: Operand, right: Operand) -> CallEstimate:
    """As ``compared_estimate``, but for types whose values compare at once; upstream knows them for ``==`` alone."""
    if left.type == right.type:
        known = _EQUALITY.get(left.type.name)
        if known is not None:
            return CallEstimate(known)
        if left.type.name == "kubernetes.URL":
            size = right.computed_size or fixed(1)
            return CallEstimate(Bounds(1, size.most).scaled(STRING_FACTOR))
    return compared_estimate(left, right)


def added(result: Value, left: Value, right: Value) -> int:
    """Texts that are joined are copied."""
    del result
    return ceil((len(left) + len(right)) * STRING_FACTOR)


def added_estimate(left: Operand, right: Operand) -> CallEstimate:
    """The same, before."""
    size = left.size.plus(right.size)
    return CallEstimate(size.scaled(STRING_FACTOR), size)


def joined_surcharge(length: int) -> int:
    """What joining lists costs beyond 1: nothing upstream, which does not copy them."""
    return 0 if length <= 64 else length // 8 if length <= 10_000 else length // 2


def list_added_estimate(left: Operand, right: Operand) -> CallEstimate:
    """Lists that are joined cost 1, but the size of the result is known."""
    return CallEstimate(fixed(1), left.size.plus(right.size))


def matched(result: Value, text: Value, pattern: Value) -> int:
    """A search is the product of both lengths."""
    del result
    return ceil((1.0 + len(text)) * STRING_FACTOR) * ceil(len(pattern) * REGEX_LENGTH_FACTOR)


def matched_estimate(text: Operand, pattern: Operand) -> CallEstimate:
    """The same, before."""
    walk = text.size.plus(fixed(1)).scaled(STRING_FACTOR)
    return CallEstimate(walk.times(pattern.size.scaled(REGEX_LENGTH_FACTOR)))


def contained(result: Value, text: Value, part: Value) -> int:
    """``contains`` is counted as the product of both walks."""
    del result
    return ceil(len(text) * STRING_FACTOR) * ceil(len(part) * STRING_FACTOR)


def contained_estimate(text: Operand, part: Operand) -> CallEstimate:
    """The same, before."""
    return CallEstimate(text.size.scaled(STRING_FACTOR).times(part.size.scaled(STRING_FACTOR)))
