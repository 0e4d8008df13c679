"""Optional values: made, asked, and computed with.

``or`` and ``orValue`` evaluate their argument only where it is needed: the compiler knows them by their overloads.

Source: google/cel-go v0.26 ``cel/library.go`` (optional types, version 2).
"""

from __future__ import annotations

from controlplane.cel import ast
from controlplane.cel.errors import EvalError
from controlplane.cel.functions import Function, Library, Overload
from controlplane.cel.macros import Factory, Macro, MacroError
from controlplane.cel.types import BOOL, list_of, optional_of, param
from controlplane.cel.values import NONE, Optional, UInt, Value

__all__ = ["OPTIONALS"]

_V = param("V")
_OPTIONAL = optional_of(_V)
_LIST = list_of(_V)


def _none() -> Optional:
    return NONE


def _is_zero(value: Value) -> bool:
    """Whether a value is its type's zero: null, false, 0, empty."""
    if value is None or isinstance(value, bool | int | UInt | float | str | bytes | list | dict):
        return not value
    return isinstance(value, Optional) and not value.has_value


def _of_non_zero(value: Value) -> Optional:
    return NONE if _is_zero(value) else Optional(value)


def _or(optional: Optional, other: Optional) -> Optional:
    return optional if optional.has_value else other


def _or_value(optional: Optional, other: Value) -> Value:
    return optional.value if optional.has_value else other


def _first(values: list[Value]) -> Optional:
    return Optional(values[0]) if values else NONE


def _last(values: list[Value]) -> Optional:
    return Optional(values[-1]) if values else NONE


def _unwrap(values: list[Value]) -> list[Value]:
    for value in values:
        if not isinstance(value, Optional):
            raise EvalError(f"value {value} is not optional")
    return [value.value for value in values if value.has_value]


def _mapping(name: str, *, flat: bool) -> Macro:
    """``optional.optMap(x, f(x))``: none stays none; ``flat`` where ``f`` gives an optional itself."""

    def expand(factory: Factory, target: ast.Expr | None, args: list[ast.Expr]) -> ast.Expr:
        assert target is not None
        variable, body = args
        if not isinstance(variable, ast.Ident):
            raise MacroError(variable, f"{name}() variable name must be a simple identifier")
        value = factory.bind(variable.name, factory.member_call("value", factory.copy(target)), body)
        return factory.call(
            "_?_:_",
            factory.member_call("hasValue", target),
            value if flat else factory.call("optional.of", value),
            factory.call("optional.none"),
        )

    return Macro(name, 2, expand, receiver=True)


OPTIONALS = Library(
    (
        Function("optional.of", (Overload("optional_of", (_V,), _OPTIONAL, Optional),)),
        Function("optional.ofNonZeroValue", (Overload("optional_ofNonZeroValue", (_V,), _OPTIONAL, _of_non_zero),)),
        Function("optional.none", (Overload("optional_none", (), _OPTIONAL, _none),)),
        Function("value", (Overload("optional_value", (_OPTIONAL,), _V, lambda optional: optional.value, member=True),)),
        Function(
            "hasValue",
            (Overload("optional_hasValue", (_OPTIONAL,), BOOL, lambda optional: optional.has_value, member=True),),
        ),
        Function("or", (Overload("optional_or_optional", (_OPTIONAL, _OPTIONAL), _OPTIONAL, _or, member=True),)),
        Function("orValue", (Overload("optional_orValue_value", (_OPTIONAL, _V), _V, _or_value, member=True),)),
        Function("first", (Overload("list_first", (_LIST,), _OPTIONAL, _first, member=True),)),
        Function("last", (Overload("list_last", (_LIST,), _OPTIONAL, _last, member=True),)),
        Function("optional.unwrap", (Overload("optional_unwrap", (list_of(_OPTIONAL),), _LIST, _unwrap),)),
        Function("unwrapOpt", (Overload("optional_unwrapOpt", (list_of(_OPTIONAL),), _LIST, _unwrap, member=True),)),
    ),
    (_mapping("optMap", flat=False), _mapping("optFlatMap", flat=True)),
)
