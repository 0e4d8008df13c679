"""Extremes, rounding, signs and bits of numbers.

Source: google/cel-go v0.26 ``ext/math.go``. Kubernetes' environment has no such library.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from controlplane.cel import ast
from controlplane.cel.errors import EvalError
from controlplane.cel.functions import Function, Library, Overload
from controlplane.cel.macros import Factory, Macro, MacroError, is_namespace
from controlplane.cel.types import BOOL, DOUBLE, DYN, INT, UINT, Type, list_of
from controlplane.cel.values import INT_MIN, UINT_MAX, UInt, Value, checked_int

__all__ = ["MATH"]

_NUMBERS = (("double", DOUBLE), ("int", INT), ("uint", UINT))


def _extreme_macro(name: str, function: str) -> Macro:
    """``math.least(...)`` of one list or any number of numbers."""

    def expand(factory: Factory, target: ast.Expr | None, args: list[ast.Expr]) -> ast.Expr | None:
        if target is None or not is_namespace(target, "math"):
            return None
        if not args:
            raise MacroError(target, f"math.{name}() requires at least one argument")
        if len(args) == 1:
            if _is_numeric(args[0]) or (
                isinstance(args[0], ast.ListExpr) and args[0].items and all(map(_is_numeric, args[0].items))
            ):
                return factory.call(function, args[0])
            raise MacroError(args[0], f"math.{name}() invalid single argument value")
        for arg in args:
            if not _is_numeric(arg):
                raise MacroError(arg, f"math.{name}() simple literal arguments must be numeric")
        return factory.call(function, *args) if len(args) == 2 else factory.call(function, factory.list(*args))

    return Macro(name, None, expand, receiver=True)


def _is_numeric(expr: ast.Expr) -> bool:
    """Whether it may be a number, as far as one sees it."""
    if isinstance(expr, ast.Const):
        return isinstance(expr.value, int | float) and not isinstance(expr.value, bool)
    return not isinstance(expr, ast.ListExpr | ast.MapExpr | ast.StructExpr)


def _extreme(name: str, pick: Callable[[Value, Value], Value]) -> Function:
    """The larger or the smaller; of equals the first."""

    def of_list(values: list[Value]) -> Value:
        if not values:
            raise EvalError(f"math.@{name}(list) argument must not be empty")
        result = values[0]
        for value in values:
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise EvalError(f"no such overload: math.@{name}")
            result = pick(result, value)
        return result

    def of_one(value: Value) -> Value:
        return value

    one = tuple(Overload(f"math_@{name}_{kind}", (type_,), type_, of_one) for kind, type_ in _NUMBERS)
    two = tuple(
        Overload(f"math_@{name}_{kind}_{other}", (type_, other_type), type_ if kind == other else DYN, pick)
        for kind, type_ in _NUMBERS
        for other, other_type in _NUMBERS
    )
    lists = tuple(Overload(f"math_@{name}_list_{kind}", (list_of(type_),), type_, of_list) for kind, type_ in _NUMBERS)
    return Function(f"math.@{name}", one + two + lists)


def _smaller(first: Value, second: Value) -> Value:
    return second if second < first else first


def _larger(first: Value, second: Value) -> Value:
    return second if second > first else first


def _whole(function: Callable[[float], float]) -> Callable[[float], float]:
    """Numbers that have no fraction, or are none, stay."""
    return lambda value: math.copysign(function(value), value) if math.isfinite(value) else value


def _round(value: float) -> float:
    """To the nearest, halves away from zero."""
    whole = math.floor(abs(value))
    return math.copysign(whole + 1 if abs(value) - whole >= 0.5 else whole, value)


def _sign(value: float) -> float:
    return value if math.isnan(value) else float((value > 0) - (value < 0))


def _absolute(value: int) -> int:
    return checked_int(abs(value))


def _square_root(value: float) -> float:
    return math.sqrt(value) if value >= 0 else math.nan


def _signed(bits: int) -> int:
    """64 bits as an int."""
    bits &= UINT_MAX
    return bits + 2 * INT_MIN if bits >= -INT_MIN else bits


def _shifted(name: str, offset: int) -> int:
    if offset < 0:
        raise EvalError(f"math.{name}() negative offset: {offset}")
    return min(offset, 64)


def _left(value: int, offset: int) -> int:
    return _signed(value << _shifted("bitShiftLeft", offset))


def _left_uint(value: int, offset: int) -> UInt:
    return UInt((value << _shifted("bitShiftLeft", offset)) & UINT_MAX)


def _right(value: int, offset: int) -> int:
    """Zeros come in from the left, also for negative numbers."""
    return _signed((value & UINT_MAX) >> _shifted("bitShiftRight", offset))


def _right_uint(value: int, offset: int) -> UInt:
    return UInt(value >> _shifted("bitShiftRight", offset))


def _function(name: str, *overloads: tuple[str, tuple[Type, ...], Type, Callable[..., Value]]) -> Function:
    return Function(
        f"math.{name}",
        tuple(Overload(f"math_{name}_{id_}", params, result, impl) for id_, params, result, impl in overloads),
    )


def _of_double(name: str, impl: Callable[[float], Value], result: Type = DOUBLE) -> Function:
    return _function(name, ("double", (DOUBLE,), result, impl))


MATH = Library(
    (
        _extreme("min", _smaller),
        _extreme("max", _larger),
        _of_double("ceil", _whole(math.ceil)),
        _of_double("floor", _whole(math.floor)),
        _of_double("round", _whole(_round)),
        _of_double("trunc", _whole(math.trunc)),
        _of_double("isInf", math.isinf, BOOL),
        _of_double("isNaN", math.isnan, BOOL),
        _of_double("isFinite", math.isfinite, BOOL),
        _function(
            "abs",
            ("double", (DOUBLE,), DOUBLE, abs),
            ("int", (INT,), INT, _absolute),
            ("uint", (UINT,), UINT, lambda value: value),
        ),
        _function(
            "sign",
            ("double", (DOUBLE,), DOUBLE, _sign),
            ("int", (INT,), INT, lambda value: (value > 0) - (value < 0)),
            ("uint", (UINT,), UINT, lambda value: UInt(value > 0)),
        ),
        _function(
            "sqrt",
            ("double", (DOUBLE,), DOUBLE, _square_root),
            ("int", (INT,), DOUBLE, _square_root),
            ("uint", (UINT,), DOUBLE, _square_root),
        ),
        _function(
            "bitAnd",
            ("int_int", (INT, INT), INT, lambda first, second: first & second),
            ("uint_uint", (UINT, UINT), UINT, lambda first, second: UInt(first & second)),
        ),
        _function(
            "bitOr",
            ("int_int", (INT, INT), INT, lambda first, second: first | second),
            ("uint_uint", (UINT, UINT), UINT, lambda first, second: UInt(first | second)),
        ),
        _function(
            "bitXor",
            ("int_int", (INT, INT), INT, lambda first, second: first ^ second),
            ("uint_uint", (UINT, UINT), UINT, lambda first, second: UInt(first ^ second)),
        ),
        _function(
            "bitNot",
            ("int_int", (INT,), INT, lambda value: ~value),
            ("uint_uint", (UINT,), UINT, lambda value: UInt(UINT_MAX - value)),
        ),
        _function(
            "bitShiftLeft",
            ("int_int", (INT, INT), INT, _left),
            ("uint_int", (UINT, INT), UINT, _left_uint),
        ),
        _function(
            "bitShiftRight",
            ("int_int", (INT, INT), INT, _right),
            ("uint_int", (UINT, INT), UINT, _right_uint),
        ),
    ),
    (_extreme_macro("least", "math.@min"), _extreme_macro("greatest", "math.@max")),
)
