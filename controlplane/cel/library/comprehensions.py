"""Comprehensions over two variables: index and item of a list, key and value of a map.

Source: google/cel-go v0.26 ``ext/comprehensions.go``, ``common/types/map.go``.
"""

from __future__ import annotations

from collections.abc import Callable

from controlplane.cel import ast
from controlplane.cel.equality import key_in, shown
from controlplane.cel.errors import EvalError
from controlplane.cel.functions import Function, Library, Overload
from controlplane.cel.library.limits import check_items
from controlplane.cel.macros import Factory, Macro, MacroError
from controlplane.cel.types import map_of, param
from controlplane.cel.values import Value

__all__ = ["TWO_VARIABLES"]

_INSERT = "cel.@mapInsert"
_K, _V = param("K"), param("V")
_MAP = map_of(_K, _V)

Body = Callable[[Factory, ast.Expr, tuple[str, str], list[ast.Expr]], ast.Expr]


def _insert(mapping: dict[Value, Value], key: Value, value: Value) -> dict[Value, Value]:
    if key_in(mapping, key):
        raise EvalError(f"insert failed: key {shown(key)} already exists")
    check_items(len(mapping) + 1)
    return {**mapping, key: value}


def _insert_all(mapping: dict[Value, Value], entries: dict[Value, Value]) -> dict[Value, Value]:
    for key in entries:
        if key_in(mapping, key):
            raise EvalError(f"insert failed: key {shown(key)} already exists")
    check_items(len(mapping) + len(entries))
    return {**mapping, **entries}


def _variable(expr: ast.Expr) -> str:
    if not isinstance(expr, ast.Ident):
        raise MacroError(expr, "argument must be a simple name")
    return expr.name


def _variables(first: ast.Expr, second: ast.Expr) -> tuple[str, str]:
    names = _variable(first), _variable(second)
    if names[0] == names[1]:
        raise MacroError(second, f"duplicate variable name: {names[0]}")
    for expr, name in zip((first, second), names, strict=True):
        if name in (ast.ACCUMULATOR, "__result__"):
            raise MacroError(expr, "iteration variable overwrites accumulator variable")
    return names


def _macro(name: str, arguments: int, body: Body) -> Macro:
    def expand(factory: Factory, target: ast.Expr | None, args: list[ast.Expr]) -> ast.Expr:
        assert target is not None
        return body(factory, target, _variables(args[0], args[1]), args[2:])

    return Macro(name, arguments, expand, receiver=True)


def _all(factory: Factory, target: ast.Expr, names: tuple[str, str], args: list[ast.Expr]) -> ast.Expr:
    return factory.comprehension(
        target,
        names,
        factory.call("@not_strictly_false", factory.accu()),
        factory.call("_&&_", factory.accu(), args[0]),
        factory.accu(),
        init=factory.const(value=True),
    )


def _exists(factory: Factory, target: ast.Expr, names: tuple[str, str], args: list[ast.Expr]) -> ast.Expr:
    return factory.comprehension(
        target,
        names,
        factory.call("@not_strictly_false", factory.call("!_", factory.accu())),
        factory.call("_||_", factory.accu(), args[0]),
        factory.accu(),
        init=factory.const(value=False),
    )


def _exists_one(factory: Factory, target: ast.Expr, names: tuple[str, str], args: list[ast.Expr]) -> ast.Expr:
    one = factory.const(value=1)
    return factory.comprehension(
        target,
        names,
        factory.const(value=True),
        factory.call("_?_:_", args[0], factory.call("_+_", factory.accu(), one), factory.accu()),
        factory.call("_==_", factory.accu(), factory.const(value=1)),
        init=factory.const(value=0),
    )


def _collected(
    factory: Factory, target: ast.Expr, names: tuple[str, str], *, init: ast.Expr, step: ast.Expr, kept: list[ast.Expr]
) -> ast.Expr:
    """A comprehension that adds ``step`` for each entry, or for those that the filter keeps."""
    if kept:
        step = factory.call("_?_:_", kept[0], step, factory.accu())
    return factory.comprehension(target, names, factory.const(value=True), step, factory.accu(), init=init)


def _list(factory: Factory, target: ast.Expr, names: tuple[str, str], args: list[ast.Expr]) -> ast.Expr:
    step = factory.call("_+_", factory.accu(), factory.list(args[-1]))
    return _collected(factory, target, names, init=factory.list(), step=step, kept=args[:-1])


def _map(factory: Factory, target: ast.Expr, names: tuple[str, str], args: list[ast.Expr]) -> ast.Expr:
    step = factory.call(_INSERT, factory.accu(), factory.ident(names[0]), args[-1])
    return _collected(factory, target, names, init=factory.map(), step=step, kept=args[:-1])


def _map_entry(factory: Factory, target: ast.Expr, names: tuple[str, str], args: list[ast.Expr]) -> ast.Expr:
    step = factory.call(_INSERT, factory.accu(), args[-1])
    return _collected(factory, target, names, init=factory.map(), step=step, kept=args[:-1])


TWO_VARIABLES = Library(
    (
        Function(
            _INSERT,
            (
                Overload("@mapInsert_map_key_value", (_MAP, _K, _V), _MAP, _insert),
                Overload("@mapInsert_map_map", (_MAP, _MAP), _MAP, _insert_all),
            ),
        ),
    ),
    (
        _macro("all", 3, _all),
        _macro("exists", 3, _exists),
        _macro("existsOne", 3, _exists_one),
        _macro("exists_one", 3, _exists_one),
        _macro("transformList", 3, _list),
        _macro("transformList", 4, _list),
        _macro("transformMap", 3, _map),
        _macro("transformMap", 4, _map),
        _macro("transformMapEntry", 3, _map_entry),
        _macro("transformMapEntry", 4, _map_entry),
    ),
)
