"""Lists as sets.

Source: google/cel-go v0.26 ``ext/sets.go``, with its costs.
"""

from __future__ import annotations

from collections.abc import Callable

from controlplane.cel.estimates import CallEstimate, Operand, fixed
from controlplane.cel.functions import Function, Library, Overload
from controlplane.cel.library.members import member_keys
from controlplane.cel.types import BOOL, list_of, param
from controlplane.cel.values import Value

__all__ = ["SETS"]

_LIST = list_of(param("T"))


def _contains(values: list[Value], wanted: list[Value]) -> bool:
    return member_keys(wanted) <= member_keys(values)


def _equivalent(values: list[Value], others: list[Value]) -> bool:
    return member_keys(values) == member_keys(others)


def _intersects(values: list[Value], others: list[Value]) -> bool:
    return not member_keys(values).isdisjoint(member_keys(others))


def _overload(id_: str, impl: Callable[..., bool], factor: int) -> Overload:
    """Upstream compares each with each, ``factor`` times; the price stays."""

    def cost(_result: Value, values: list[Value], others: list[Value]) -> int:
        return 1 + len(values) * len(others) * factor

    def estimate(values: Operand, others: Operand) -> CallEstimate:
        return CallEstimate(values.size.times(others.size).scaled(factor).plus(fixed(1)))

    return Overload(id_, (_LIST, _LIST), BOOL, impl, cost=cost, estimate=estimate)


SETS = Library(
    (
        Function("sets.contains", (_overload("list_sets_contains_list", _contains, 1),)),
        Function("sets.equivalent", (_overload("list_sets_equivalent_list", _equivalent, 2),)),
        Function("sets.intersects", (_overload("list_sets_intersects_list", _intersects, 1),)),
    )
)
