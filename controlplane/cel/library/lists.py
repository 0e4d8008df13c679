"""Lists: whether they are sorted, sums, extremes, positions (Kubernetes'); slices, flattening, sorting (cel-go's).

Source: kubernetes/apiserver ``pkg/cel/library/lists.go``, google/cel-go v0.26 ``ext/lists.go``, with their costs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from itertools import chain, pairwise

from controlplane.cel import ast
from controlplane.cel.equality import equal, is_exact
from controlplane.cel.errors import EvalError
from controlplane.cel.estimates import STRING_FACTOR, UNBOUNDED, CallEstimate, Operand, fixed
from controlplane.cel.functions import Function, Library, Overload
from controlplane.cel.library.costs import allocated, allocating, walked, walking
from controlplane.cel.library.members import distinct_items
from controlplane.cel.limits import check_items
from controlplane.cel.macros import Factory, Macro, MacroError
from controlplane.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    Type,
    list_of,
    param,
)
from controlplane.cel.values import (
    INT_MAX,
    INT_MIN,
    Duration,
    Timestamp,
    UInt,
    Value,
    checked_int,
    checked_uint,
    type_of,
)

__all__ = ["KUBERNETES_LISTS", "lists"]

_COMPARABLE: tuple[tuple[str, Type], ...] = (
    ("int", INT),
    ("uint", UINT),
    ("double", DOUBLE),
    ("bool", BOOL),
    ("duration", DURATION),
    ("timestamp", TIMESTAMP),
    ("string", STRING),
    ("bytes", BYTES),
)
_COMPARABLE_KINDS = frozenset(type_.kind for _, type_ in _COMPARABLE)
_A, _T = param("A"), param("T")
_LIST_T = list_of(_T)
_MAX_DEPTH = 2000
"""Of lists within lists: neither expressions nor JSON documents nest them deeper."""
_FLATTENING = 5
"""How much more work an item of a flattened list is than one of a list that is copied."""


def _is_sorted(values: list[Value]) -> bool:
    if _are_alike(values):
        return not any(later < earlier for earlier, later in pairwise(values))
    ordered = map(_with_order, values)
    return not any(_is_less(later, earlier) for earlier, later in pairwise(ordered))


def _minimum(values: list[Value]) -> Value:
    if not values:
        raise EvalError("min called on empty list")
    if _are_alike(values):
        return min(values)
    return reduce(lambda least, value: value if _is_less(value, least) else least, map(_with_order, values))


def _maximum(values: list[Value]) -> Value:
    if not values:
        raise EvalError("max called on empty list")
    if _are_alike(values):
        return max(values)
    return reduce(lambda most, value: value if _is_less(most, value) else most, map(_with_order, values))


def _are_alike(values: list[Value]) -> bool:
    """Whether all are of one type that has an order, as they are unless they come from what has no types."""
    classes = set(map(type, values))
    return len(classes) <= 1 and classes <= _ORDERED


def _with_order(value: Value) -> Value:
    """The value. Raises EvalError: its type has no order."""
    if type(value) not in _ORDERED:
        raise EvalError("no such overload")
    return value


def _is_less(one: Value, other: Value) -> bool:
    """Of two values with an order of their own; what has none in common is not less."""
    if type(one) is type(other) or {type(one), type(other)} <= _NUMBERS:
        return bool(one < other)
    return False


_NUMBERS = frozenset({int, UInt, float})
_ORDERED = _NUMBERS | {bool, bytes, str, Duration, Timestamp}


def _sum_ints(values: list[int]) -> int:
    total = 0
    for value in values:
        if type(value) is not int:  # from what has no types
            raise EvalError("no such overload")
        total = checked_int(total + value)
    return total


def _sum_uints(values: list[UInt]) -> UInt:
    total = UInt(0)
    for value in values:
        total = checked_uint(total + value)
    return total


def _sum_doubles(values: list[float]) -> float:
    total = 0.0  # not by sum(), which compensates for rounding
    for value in values:
        total += value
    return total


def _sum_durations(values: list[Duration]) -> Duration:
    total = 0
    for value in values:
        total += value.ns
        if not INT_MIN <= total <= INT_MAX:
            raise EvalError("duration overflow")
    return Duration(total)


_SUMS: tuple[tuple[str, Type, Callable[..., Value]], ...] = (
    ("int", INT, _sum_ints),
    ("uint", UINT, _sum_uints),
    ("double", DOUBLE, _sum_doubles),
    ("duration", DURATION, _sum_durations),
)


def _index_of(values: list[Value], item: Value) -> int:
    if is_exact(item):
        try:
            return values.index(item)
        except ValueError:
            return -1
    return next((i for i, value in enumerate(values) if equal(value, item)), -1)


def _last_index_of(values: list[Value], item: Value) -> int:
    return next((i for i in range(len(values) - 1, -1, -1) if equal(values[i], item)), -1)


def _walking(id_: str, params: tuple[Type, ...], result: Type, impl: Callable[..., Value]) -> Overload:
    return Overload(id_, params, result, impl, member=True, cost=walked, estimate=walking)


KUBERNETES_LISTS = Library(
    (
        Function(
            "isSorted",
            tuple(
                _walking(f"list_{name}_is_sorted_bool", (list_of(type_),), BOOL, _is_sorted)
                for name, type_ in _COMPARABLE
            ),
        ),
        Function(
            "sum",
            tuple(_walking(f"list_{name}_sum_{name}", (list_of(type_),), type_, impl) for name, type_, impl in _SUMS),
        ),
        Function(
            "max",
            tuple(
                _walking(f"list_{name}_max_{name}", (list_of(type_),), type_, _maximum) for name, type_ in _COMPARABLE
            ),
        ),
        Function(
            "min",
            tuple(
                _walking(f"list_{name}_min_{name}", (list_of(type_),), type_, _minimum) for name, type_ in _COMPARABLE
            ),
        ),
        Function("indexOf", (_walking("list_a_index_of_int", (list_of(_A), _A), INT, _index_of),)),
        Function("lastIndexOf", (_walking("list_a_last_index_of_int", (list_of(_A), _A), INT, _last_index_of),)),
    )
)
"""The library of all versions that Kubernetes calls 0."""


def _slice(values: list[Value], start: int, end: int) -> list[Value]:
    if start < 0 or end < 0:
        raise EvalError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        raise EvalError(f"cannot slice({start}, {end}), start index must be less than or equal to end index")
    if len(values) < end:
        raise EvalError(f"cannot slice({start}, {end}), list is length {len(values)}")
    return values[start:end]


def _flatten(values: list[Value], depth: int = 1) -> list[Value]:
    if depth < 0:
        raise EvalError("level must be non-negative")
    for _ in range(min(depth, _MAX_DEPTH)):
        if not any(isinstance(value, list) for value in values):
            break
        check_items(_FLATTENING * sum(len(value) if isinstance(value, list) else 1 for value in values))
        values = list(chain.from_iterable(value if isinstance(value, list) else (value,) for value in values))
    return values


def _sorted_by(values: list[Value], keys: list[Value]) -> list[Value]:
    if len(values) != len(keys):
        raise EvalError(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, "
            f"but got {len(values)} and {len(keys)} elements respectively"
        )
    if not keys:
        return values
    first = type_of(keys[0])
    if first.kind not in _COMPARABLE_KINDS:
        raise EvalError("list elements must be comparable")
    if any(type_of(key) != first for key in keys):
        raise EvalError("list elements must have the same type")
    return [values[i] for i in sorted(range(len(keys)), key=keys.__getitem__)]


def _sorted(values: list[Value]) -> list[Value]:
    return _sorted_by(values, values)


def _range(count: int) -> list[int]:
    check_items(count)
    return list(range(count))


def _reverse(values: list[Value]) -> list[Value]:
    return values[::-1]


def _uint_constant(operand: Operand, default: int) -> int:
    constant = operand.int_constant
    return default if constant is None else max(constant, 0)


def _result_cost(result: Value, *_arguments: Value) -> int:
    return allocated(1, len(result))


def _flatten_cost(result: Value, values: list[Value], depth: int = 1) -> int:
    """By what is given, as upstream; and by what is made, where that is much more."""
    grown = len(result) // 4 if len(result) > max(1000, 2 * len(values)) else 0
    return allocated(depth, len(values)) + grown


def _self_compared(values: list[Value]) -> int:
    """Each item with each other; texts are gone over for it."""
    is_text = bool(values) and isinstance(values[0], str | bytes)
    return allocated(2 + STRING_FACTOR if is_text else 2, len(values) ** 2)


def _sort_cost(_result: Value, values: list[Value]) -> int:
    return _self_compared(values)


def _sort_by_cost(_result: Value, _values: list[Value], keys: list[Value]) -> int:
    return _self_compared(keys)


def _estimate_slice(values: Operand, start: Operand, end: Operand) -> CallEstimate:
    length = _uint_constant(end, values.size.most) - _uint_constant(start, 0)
    return allocating(1, fixed(length & UNBOUNDED))


def _estimate_flatten(values: Operand, depth: Operand | None = None) -> CallEstimate:
    return allocating(1 if depth is None else _uint_constant(depth, UNBOUNDED), values.size)


def _estimate_range(count: Operand) -> CallEstimate:
    return allocating(1, fixed(_uint_constant(count, UNBOUNDED)))


def _estimate_reverse(values: Operand) -> CallEstimate:
    return allocating(1, values.size)


def _estimate_distinct(values: Operand) -> CallEstimate:
    return allocating(2, values.size.times(values.size))


def _estimate_sort(type_: Type, keys: Operand) -> CallEstimate:
    factor = 2 + STRING_FACTOR if type_.kind in ("string", "bytes") else 2
    return allocating(factor, keys.size.times(keys.size))


def _sort_overload(type_: Type) -> Overload:
    return Overload(
        f"list_{type_.name}_sort",
        (list_of(type_),),
        list_of(type_),
        _sorted,
        member=True,
        cost=_sort_cost,
        estimate=lambda values: _estimate_sort(type_, values),
    )


def _sort_by_overload(type_: Type) -> Overload:
    return Overload(
        f"list_{type_.name}_sortByAssociatedKeys",
        (_LIST_T, list_of(type_)),
        _LIST_T,
        _sorted_by,
        member=True,
        cost=_sort_by_cost,
        estimate=lambda _values, keys: _estimate_sort(type_, keys),
    )


_INPUT = "@__sortBy_input__"


def _expand_sort_by(factory: Factory, target: ast.Expr | None, args: list[ast.Expr]) -> ast.Expr:
    """``list.sortBy(x, key)``: the list sorted by the keys that are computed from its items."""
    assert target is not None
    if not isinstance(target, ast.ListExpr | ast.Select | ast.Ident | ast.Comprehension | ast.Call):
        raise MacroError(
            target, "sortBy can only be applied to a list, identifier, comprehension, call or select expression"
        )
    variable, key = args
    if not isinstance(variable, ast.Ident):
        raise MacroError(variable, "argument is not an identifier")
    if variable.name == ast.ACCUMULATOR:
        raise MacroError(variable, "iteration variable overwrites accumulator variable")
    keys = factory.comprehension(
        factory.ident(_INPUT),
        (variable.name,),
        factory.const(value=True),
        factory.call("_+_", factory.accu(), factory.list(key)),
        factory.accu(),
        init=factory.list(),
    )
    return factory.bind(_INPUT, target, factory.member_call("@sortByAssociatedKeys", factory.ident(_INPUT), keys))


_V0 = (
    Function(
        "slice",
        (
            Overload(
                "list_slice",
                (_LIST_T, INT, INT),
                _LIST_T,
                _slice,
                member=True,
                cost=_result_cost,
                by_result=True,
                estimate=_estimate_slice,
            ),
        ),
    ),
)
_V1 = (
    Function(
        "flatten",
        (
            Overload(
                "list_flatten",
                (list_of(_LIST_T),),
                _LIST_T,
                _flatten,
                member=True,
                cost=_flatten_cost,
                by_result=True,
                estimate=_estimate_flatten,
            ),
            Overload(
                "list_flatten_int",
                (list_of(DYN), INT),
                list_of(DYN),
                _flatten,
                member=True,
                cost=_flatten_cost,
                by_result=True,
                estimate=_estimate_flatten,
            ),
        ),
    ),
)
_V2 = (
    Function("sort", tuple(_sort_overload(type_) for _, type_ in _COMPARABLE)),
    Function("@sortByAssociatedKeys", tuple(_sort_by_overload(type_) for _, type_ in _COMPARABLE)),
    Function(
        "lists.range",
        (
            Overload(
                "lists_range", (INT,), list_of(INT), _range, cost=_result_cost, estimate=_estimate_range, by_result=True
            ),
        ),
    ),
    Function(
        "reverse",
        (
            Overload(
                "list_reverse",
                (_LIST_T,),
                _LIST_T,
                _reverse,
                member=True,
                cost=_result_cost,
                by_result=True,
                estimate=_estimate_reverse,
            ),
        ),
    ),
    Function(
        "distinct",
        (
            Overload(
                "list_distinct",
                (_LIST_T,),
                _LIST_T,
                distinct_items,
                member=True,
                cost=_sort_cost,
                estimate=_estimate_distinct,
            ),
        ),
    ),
)


def lists(version: int) -> Library:
    """The library as of a version: 1 adds ``flatten``; 2 sorting, ``reverse``, ``distinct`` and ``lists.range``.

    Costs are those of version 3.
    """
    macros = (Macro("sortBy", 2, _expand_sort_by, receiver=True),) if version >= 2 else ()
    return Library(_V0 + (_V1 if version >= 1 else ()) + (_V2 if version >= 2 else ()), macros)
