"""Which implementation a call runs: the only overload that fits, or one chosen by the arguments' types at run time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from controlplane.cel.ast import Const, Expr
from controlplane.cel.errors import EvalError
from controlplane.cel.functions import NOT_CONSTANT, Overload
from controlplane.cel.types import Type
from controlplane.cel.values import Duration, Optional, Timestamp, UInt, Value, type_of

__all__ = ["bound", "choose", "chooser", "fits", "is_certain", "no_overload"]

_CLASSES: dict[str, type] = {
    "bool": bool,
    "bytes": bytes,
    "double": float,
    "duration": Duration,
    "int": int,
    "list": list,
    "map": dict,
    "null_type": type(None),
    "string": str,
    "timestamp": Timestamp,
    "type": Type,
    "uint": UInt,
}
_ANY = frozenset({"dyn", "param", "error"})


def fits(wanted: Type, value: Value) -> bool:
    """Whether a value can be given where the type is wanted, by its outermost type."""
    kind = wanted.kind
    if kind in _ANY:
        return True
    known = _CLASSES.get(kind)
    if known is not None:
        return type(value) is known
    if wanted.is_optional:
        return type(value) is Optional
    declared = getattr(value, "cel_type", None)
    return isinstance(declared, Type) and declared.name == wanted.name


def is_certain(overloads: Sequence[Overload], args: Sequence[Expr]) -> bool:
    """Whether the checker has proved that the one overload fits."""
    if len(overloads) != 1:
        return False
    return all(
        param.kind in _ANY or arg.type.kind == param.kind for param, arg in zip(overloads[0].params, args, strict=True)
    )


def choose(function: str, overloads: Sequence[Overload], values: Sequence[Value]) -> Overload:
    """The first overload that takes these values.

    Raises:
        EvalError: none does.
    """
    for overload in overloads:
        if all(fits(param, value) for param, value in zip(overload.params, values, strict=True)):
            return overload
    raise no_overload(function, values)


def chooser(function: str, overloads: Sequence[Overload]) -> Callable[..., Overload]:
    """``choose`` for one call, which remembers: the classes of the values decide."""
    known: dict[tuple[type, ...], Overload] = {}

    def pick(*values: Value) -> Overload:
        classes = tuple(map(type, values))
        overload = known.get(classes)
        if overload is None:
            overload = known[classes] = choose(function, overloads, values)
        return overload

    return pick


_BARE = frozenset({"contains", "startsWith", "endsWith"})


def no_overload(function: str, values: Sequence[Value]) -> EvalError:
    """What cel-go says of a call that no overload takes."""
    if function in _BARE or not function[0].isalpha():
        return EvalError("no such overload")
    if function in ("size", "matches"):
        return EvalError(f"no such overload: {function}")
    return EvalError(f"no such overload: {function}({', '.join(type_of(value).name for value in values)})")


def bound(overload: Overload, args: Sequence[Expr]) -> Callable[..., Value]:
    """The implementation, prepared for constant arguments if it can be."""
    if overload.bind is not None and any(isinstance(arg, Const) for arg in args):
        known = (arg.value if isinstance(arg, Const) else NOT_CONSTANT for arg in args)
        prepared = overload.bind(*known)
        if prepared is not None:
            return prepared
    return overload.impl
