"""What is known before anything is evaluated: literals, lists and maps of literals, conversions of literals.

cel-go folds exactly these, and what is folded costs nothing when it is evaluated.

Source: google/cel-go ``interpreter/decorators.go`` (decOptimize).
"""

from __future__ import annotations

from controlplane.cel.ast import UNFOLDED, Call, Const, Expr, ListExpr, MapExpr
from controlplane.cel.check.validators import walk
from controlplane.cel.equality import shown
from controlplane.cel.errors import EvalError
from controlplane.cel.evaluate.dispatch import choose, fits
from controlplane.cel.functions import NOT_CONSTANT
from controlplane.cel.types import Type
from controlplane.cel.values import Optional, Value

__all__ = ["ProgramError", "add_entry", "constant", "fold_all"]

_CONVERSIONS = frozenset(
    {"bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"},
)


class ProgramError(ValueError):
    """A constant part of the expression has no value."""


def constant(expr: Expr) -> Value:
    """The value; NOT_CONSTANT if it has to be evaluated, be it to fail."""
    if expr.folded is UNFOLDED:
        try:
            expr.folded = _folded(expr)
        except EvalError:
            expr.folded = NOT_CONSTANT
    return expr.folded


def fold_all(expr: Expr) -> None:
    """Fold a checked tree whole, as Kubernetes does before it accepts a rule.

    Raises:
        ProgramError: a constant has no value (``int('x')``) or makes no sense to the function that it is given to
            (``s.find('[')``), even if it would never be evaluated.
    """
    for node in walk(expr):
        try:
            _folded(node)
            if isinstance(node, Call):
                _bind(node)
        except EvalError as error:
            raise ProgramError(str(error)) from None


def _bind(call: Call) -> None:
    arguments: list[Value] | None = None
    for overload in call.overloads:
        if overload.bind is not None:
            given = call.args if call.target is None else [call.target, *call.args]
            arguments = arguments or [constant(argument) for argument in given]
            if all(_may_be(param, value) for param, value in zip(overload.params, arguments, strict=True)):
                overload.bind(*arguments)


def _may_be(wanted: Type, value: Value) -> bool:
    """Whether a value, if it is known, can be given where the type is wanted: if not, the call says so."""
    return value is NOT_CONSTANT or fits(wanted, value)


def _folded(expr: Expr) -> Value:
    if isinstance(expr, Const):
        return expr.value
    if isinstance(expr, ListExpr):
        return _constant_list(expr)
    if isinstance(expr, MapExpr):
        return _constant_map(expr)
    if isinstance(expr, Call) and expr.function in _CONVERSIONS and expr.target is None and len(expr.args) == 1:
        value = constant(expr.args[0])
        if value is not NOT_CONSTANT:
            return choose(expr.function, expr.overloads, [value]).impl(value)
    return NOT_CONSTANT


def _constant_list(expr: ListExpr) -> Value:
    values = []
    for index, item in enumerate(expr.items):
        value = constant(item)
        if value is NOT_CONSTANT or index in expr.optional:
            return NOT_CONSTANT
        values.append(value)
    return values


def _constant_map(expr: MapExpr) -> Value:
    values: dict[Value, Value] = {}
    for entry in expr.entries:
        key, value = constant(entry.key), constant(entry.value)
        if key is NOT_CONSTANT or value is NOT_CONSTANT or entry.optional:
            return NOT_CONSTANT
        add_entry(values, key, value)
    return values


def add_entry(mapping: dict[Value, Value], key: Value, value: Value) -> None:
    """Put one entry of a map literal into the map; the last one with a key stays, as in cel-go.

    Raises:
        EvalError: the key is of a type that no map has, or cannot be told from another one in a Python dict.
    """
    if type(key) in (list, dict, Optional) or key is None or isinstance(key, bytes | float):
        raise EvalError(f"unsupported key type: {type(key).__name__}")
    if key in mapping and type(key) is not str:
        known = next(known for known in mapping if known == key)
        if type(known) is not type(key):
            raise EvalError(f"unsupported map with both keys {shown(known)} and {shown(key)}")
    mapping[key] = value
