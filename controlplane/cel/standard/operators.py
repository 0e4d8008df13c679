"""Operators: arithmetic, order, equality, membership, size, index.

Logic (``&&``, ``||``, ``?:``) and the selection of fields are declared here for the checker; the engine evaluates them.
Overload ids are cel-go's.

Source: google/cel-go ``common/stdlib/standard.go``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from controlplane.cel.equality import compare, contains, equal, find, index, key_in
from controlplane.cel.errors import EvalError
from controlplane.cel.functions import Function, Overload
from controlplane.cel.limits import check_items
from controlplane.cel.standard import costs
from controlplane.cel.timestamps import duration, timestamp
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
    map_of,
    optional_of,
    param,
)
from controlplane.cel.values import INT_MIN, Value, checked_int, checked_uint

__all__ = ["FUNCTIONS"]

_A, _B = param("A"), param("B")
_LIST, _MAP = list_of(_A), map_of(_A, _B)
_TEXTS = (("string", STRING), ("bytes", BYTES))


def _logic(*values: Value) -> Value:
    raise TypeError(f"logic is evaluated by the engine, not called with {len(values)} values")


def _divide_ints(left: int, right: int) -> int:
    if right == 0:
        raise EvalError("division by zero")
    quotient = abs(left) // abs(right)
    return checked_int(quotient if (left < 0) == (right < 0) else -quotient)


def _divide_uints(left: int, right: int) -> int:
    if right == 0:
        raise EvalError("division by zero")
    return checked_uint(left // right)


def _divide_doubles(left: float, right: float) -> float:
    if right:
        return left / right
    if left == 0 or left != left:  # noqa: PLR0124  (NaN)
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


def _modulo_ints(left: int, right: int) -> int:
    if right == 0:
        raise EvalError("modulus by zero")
    if left == INT_MIN and right == -1:
        raise EvalError("integer overflow")
    return int(math.copysign(1, left)) * (abs(left) % abs(right))


def _modulo_uints(left: int, right: int) -> int:
    if right == 0:
        raise EvalError("modulus by zero")
    return checked_uint(left % right)


def _multiply_doubles(left: float, right: float) -> float:
    return float(left) * right


def _join(left: list[Value], right: list[Value]) -> list[Value]:
    check_items(len(left) + len(right))  # the counted cost does not grow with them
    return left + right


def _negate_int(number: int) -> int:
    if number == INT_MIN:
        raise EvalError("integer overflow")
    return -number


_ADD = (
    Overload("add_bytes", (BYTES, BYTES), BYTES, lambda a, b: a + b, cost=costs.added, estimate=costs.added_estimate),
    Overload("add_double", (DOUBLE, DOUBLE), DOUBLE, lambda a, b: float(a) + b),
    Overload("add_duration_duration", (DURATION, DURATION), DURATION, lambda a, b: duration(a.ns + b.ns)),
    Overload("add_duration_timestamp", (DURATION, TIMESTAMP), TIMESTAMP, lambda a, b: timestamp(a.ns + b.ns, b.offset)),
    Overload("add_timestamp_duration", (TIMESTAMP, DURATION), TIMESTAMP, lambda a, b: timestamp(a.ns + b.ns, a.offset)),
    Overload("add_int64", (INT, INT), INT, lambda a, b: checked_int(a + b)),
    Overload("add_list", (_LIST, _LIST), _LIST, _join, estimate=costs.list_added_estimate),
    Overload(
        "add_string", (STRING, STRING), STRING, lambda a, b: a + b, cost=costs.added, estimate=costs.added_estimate
    ),
    Overload("add_uint64", (UINT, UINT), UINT, lambda a, b: checked_uint(a + b)),
)
_SUBTRACT = (
    Overload("subtract_double", (DOUBLE, DOUBLE), DOUBLE, lambda a, b: float(a) - b),
    Overload("subtract_duration_duration", (DURATION, DURATION), DURATION, lambda a, b: duration(a.ns - b.ns)),
    Overload("subtract_int64", (INT, INT), INT, lambda a, b: checked_int(a - b)),
    Overload(
        "subtract_timestamp_duration", (TIMESTAMP, DURATION), TIMESTAMP, lambda a, b: timestamp(a.ns - b.ns, a.offset)
    ),
    Overload("subtract_timestamp_timestamp", (TIMESTAMP, TIMESTAMP), DURATION, lambda a, b: duration(a.ns - b.ns)),
    Overload("subtract_uint64", (UINT, UINT), UINT, lambda a, b: checked_uint(a - b)),
)
_MULTIPLY = (
    Overload("multiply_double", (DOUBLE, DOUBLE), DOUBLE, _multiply_doubles),
    Overload("multiply_int64", (INT, INT), INT, lambda a, b: checked_int(a * b)),
    Overload("multiply_uint64", (UINT, UINT), UINT, lambda a, b: checked_uint(a * b)),
)
_DIVIDE = (
    Overload("divide_double", (DOUBLE, DOUBLE), DOUBLE, _divide_doubles),
    Overload("divide_int64", (INT, INT), INT, _divide_ints),
    Overload("divide_uint64", (UINT, UINT), UINT, _divide_uints),
)
_MODULO = (
    Overload("modulo_int64", (INT, INT), INT, _modulo_ints),
    Overload("modulo_uint64", (UINT, UINT), UINT, _modulo_uints),
)
_NEGATE = (
    Overload("negate_double", (DOUBLE,), DOUBLE, lambda number: -float(number)),
    Overload("negate_int64", (INT,), INT, _negate_int),
)


def _orders(name: str, impl: Callable[[Value, Value], bool]) -> Iterator[Overload]:
    """The overloads of one relation: numbers of all kinds with each other, everything else with its own."""
    yield Overload(f"{name}_bool", (BOOL, BOOL), BOOL, impl)
    numbers = (("int64", INT), ("uint64", UINT), ("double", DOUBLE))
    for left, left_type in numbers:
        for right, right_type in numbers:
            suffix = left if left == right else f"{left}_{right}"
            yield Overload(f"{name}_{suffix}", (left_type, right_type), BOOL, impl)
    for text, text_type in _TEXTS:
        yield Overload(
            f"{name}_{text}",
            (text_type, text_type),
            BOOL,
            impl,
            cost=costs.compared,
            estimate=costs.compared_estimate,
        )
    yield Overload(f"{name}_timestamp", (TIMESTAMP, TIMESTAMP), BOOL, impl)
    yield Overload(f"{name}_duration", (DURATION, DURATION), BOOL, impl)


def _sizes() -> Iterator[Overload]:
    for name, sized in (("bytes", BYTES), ("list", _LIST), ("map", _MAP), ("string", STRING)):
        yield Overload(f"size_{name}", (sized,), INT, len)
        yield Overload(f"{name}_size", (sized,), INT, len, member=True)


def _equality(name: str, impl: Callable[[Value, Value], bool]) -> Overload:
    estimate = costs.equality_estimate if name == "equals" else costs.compared_estimate
    return Overload(name, (_A, _A), BOOL, impl, cost=costs.compared, estimate=estimate)


def _binary(name: str, container: Type, key: Type, result: Type, impl: Callable[[Value, Value], Value]) -> Overload:
    return Overload(name, (container, key), result, impl)


FUNCTIONS: tuple[Function, ...] = (
    Function("_?_:_", (Overload("conditional", (BOOL, _A, _A), _A, _logic),)),
    Function("_&&_", (Overload("logical_and", (BOOL, BOOL), BOOL, _logic),)),
    Function("_||_", (Overload("logical_or", (BOOL, BOOL), BOOL, _logic),)),
    Function("!_", (Overload("logical_not", (BOOL,), BOOL, lambda value: not value),)),
    Function("@not_strictly_false", (Overload("not_strictly_false", (BOOL,), BOOL, _logic),)),
    Function("_==_", (_equality("equals", equal),)),
    Function("_!=_", (_equality("not_equals", lambda left, right: not equal(left, right)),)),
    Function("_+_", _ADD),
    Function("_-_", _SUBTRACT),
    Function("_*_", _MULTIPLY),
    Function("_/_", _DIVIDE),
    Function("_%_", _MODULO),
    Function("-_", _NEGATE),
    Function("_<_", tuple(_orders("less", lambda left, right: compare(left, right) < 0))),
    Function("_<=_", tuple(_orders("less_equals", lambda left, right: compare(left, right) <= 0))),
    Function("_>_", tuple(_orders("greater", lambda left, right: compare(left, right) > 0))),
    Function("_>=_", tuple(_orders("greater_equals", lambda left, right: compare(left, right) >= 0))),
    Function("size", tuple(_sizes())),
    Function(
        "@in",
        (
            Overload(
                "in_list",
                (_A, _LIST),
                BOOL,
                lambda item, items: contains(items, item),
                cost=costs.listed,
                estimate=costs.listed_estimate,
            ),
            Overload("in_map", (_A, _MAP), BOOL, lambda key, mapping: key_in(mapping, key)),
        ),
    ),
    Function(
        "_[_]",
        (
            _binary("index_list", _LIST, INT, _A, index),
            _binary("index_map", _MAP, _A, _B, index),
            _binary("optional_list_index_int", optional_of(_LIST), INT, optional_of(_A), index),
            _binary("optional_map_index_value", optional_of(_MAP), _A, optional_of(_B), index),
        ),
    ),
    Function(
        "_[?_]",
        (
            _binary("list_optindex_optional_int", _LIST, INT, optional_of(_A), find),
            _binary("optional_list_optindex_optional_int", optional_of(_LIST), INT, optional_of(_A), find),
            _binary("map_optindex_optional_value", _MAP, _A, optional_of(_B), find),
            _binary("optional_map_optindex_optional_value", optional_of(_MAP), _A, optional_of(_B), find),
        ),
    ),
    Function("_?._", (_binary("select_optional_field", DYN, STRING, optional_of(_B), find),)),
)
