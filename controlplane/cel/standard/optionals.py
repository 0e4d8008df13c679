"""Optional values: ``optional.of(x)``, ``a.?b``, ``a[?b]``, ``x.orValue(y)``, ``x.optMap(v, ...)``.

``or`` and ``orValue`` look at their argument only if they need it; the engine sees to that.

Source: google/cel-go ``cel/library.go`` (optionalLib).
"""

from __future__ import annotations

from controlplane.cel.ast import Expr, Ident
from controlplane.cel.functions import Function, Library, Overload
from controlplane.cel.macros import Factory, Macro, MacroError
from controlplane.cel.types import BOOL, DYN, Type, list_of, optional_of, param
from controlplane.cel.values import NONE, Duration, Optional, Timestamp, Value

__all__ = ["OPTIONALS"]

_T = param("T")
_OPTIONAL = optional_of(_T)
_ZERO_TIME_NS = -62135596800 * 10**9


def _of_non_zero(value: Value) -> Optional:
    if isinstance(value, Optional):
        return Optional(value) if value.has_value else NONE
    if isinstance(value, Duration | Timestamp):
        zero = value.ns == (0 if isinstance(value, Duration) else _ZERO_TIME_NS)
        return NONE if zero else Optional(value)
    plain = value is None or isinstance(value, bool | int | float | str | bytes | list | dict)
    return NONE if plain and not value else Optional(value)


def _unwrap(values: list[Optional]) -> list[Value]:
    return [value.value for value in values if value.has_value]


def _expand(factory: Factory, target: Expr | None, args: list[Expr], *, flat: bool) -> Expr:
    assert target is not None
    name, body = args
    if not isinstance(name, Ident):
        macro = "optFlatMap" if flat else "optMap"
        raise MacroError(name, f"{macro}() variable name must be a simple identifier")
    bound = factory.bind(name.name, factory.member_call("value", factory.copy(target)), body)
    return factory.call(
        "_?_:_",
        factory.member_call("hasValue", target),
        bound if flat else factory.call("optional.of", bound),
        factory.call("optional.none"),
    )


def _expand_map(factory: Factory, target: Expr | None, args: list[Expr]) -> Expr:
    return _expand(factory, target, args, flat=False)


def _expand_flat_map(factory: Factory, target: Expr | None, args: list[Expr]) -> Expr:
    return _expand(factory, target, args, flat=True)


def _either(chosen: Optional, other: Value) -> Value:
    return chosen if chosen.has_value else other


def _or_value(chosen: Optional, other: Value) -> Value:
    return chosen.value if chosen.has_value else other


OPTIONALS = Library(
    functions=(
        Function("optional.of", (Overload("optional_of", (_T,), _OPTIONAL, Optional),)),
        Function("optional.ofNonZeroValue", (Overload("optional_ofNonZeroValue", (_T,), _OPTIONAL, _of_non_zero),)),
        Function("optional.none", (Overload("optional_none", (), _OPTIONAL, lambda: NONE),)),
        Function("value", (Overload("optional_value", (_OPTIONAL,), _T, lambda found: found.value, member=True),)),
        Function(
            "hasValue", (Overload("optional_hasValue", (_OPTIONAL,), BOOL, lambda found: found.has_value, member=True),)
        ),
        Function("or", (Overload("optional_or_optional", (_OPTIONAL, _OPTIONAL), _OPTIONAL, _either, member=True),)),
        Function("orValue", (Overload("optional_orValue_value", (_OPTIONAL, _T), _T, _or_value, member=True),)),
        Function(
            "last",
            (
                Overload(
                    "list_last",
                    (list_of(_T),),
                    _OPTIONAL,
                    lambda items: Optional(items[-1]) if items else NONE,
                    member=True,
                ),
            ),
        ),
        Function(
            "first",
            (
                Overload(
                    "list_first",
                    (list_of(_T),),
                    _OPTIONAL,
                    lambda items: Optional(items[0]) if items else NONE,
                    member=True,
                ),
            ),
        ),
        Function("optional.unwrap", (Overload("optional_unwrap", (list_of(_OPTIONAL),), list_of(_T), _unwrap),)),
        Function(
            "unwrapOpt",
            (Overload("optional_unwrapOpt", (list_of(_OPTIONAL),), list_of(_T), _unwrap, member=True),),
        ),
    ),
    macros=(
        Macro("optMap", 2, _expand_map, receiver=True),
        Macro("optFlatMap", 2, _expand_flat_map, receiver=True),
    ),
    types={"optional_type": Type("opaque", "optional_type", (DYN,))},
)
"""The functions and macros; the syntax ``?.`` and ``[?]`` is the parser's."""
