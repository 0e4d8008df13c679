"""Membership by hashing: what would take a comparison for each pair of items takes one look-up for each item.

Two values have the same key if and only if they are equal in CEL: numbers across their types, everything else within
its own; NaN equals nothing.
"""

from __future__ import annotations

from collections.abc import Hashable

from controlplane.cel.limits import check_visits
from controlplane.cel.values import Optional, Value

__all__ = ["distinct_items", "member_key", "member_keys"]


class _Unequal:
    """Equal to nothing but itself."""

    __slots__ = ()


def member_key(value: Value) -> Hashable:
    """The key of a value.

    Raises:
        CostExceeded: it would take too long to go through it.
    """
    check_visits(value)
    return _key(value)


def _key(value: Value) -> Hashable:
    kind = type(value)
    if kind is bool or value is None:
        return kind, value
    if kind is float:
        return value if value == value else _Unequal()  # noqa: PLR0124 - NaN
    if kind is list:
        return list, tuple(map(_key, value))
    if kind is dict:
        return dict, frozenset((_key(key), _key(item)) for key, item in value.items())
    if kind is Optional:
        return Optional, _key(value.value) if value.has_value else _NONE
    hashable: Hashable = value
    return hashable


_NONE = _Unequal()


def member_keys(values: list[Value]) -> set[Hashable]:
    """The keys of all of them."""
    check_visits(values)
    return set(map(_key, values))


def distinct_items(values: list[Value]) -> list[Value]:
    """The values without those that equal an earlier one."""
    check_visits(values)
    first: dict[Hashable, Value] = {}
    for value in values:
        first.setdefault(_key(value), value)
    return list(first.values())
