"""Comprehensions of two variables (index and item, key and value), and ``cel.bind``.

Source: google/cel-go ``ext/comprehensions.go``, ``ext/bindings.go``.
"""

from __future__ import annotations

from controlplane.cel.ast import Expr, Ident
from controlplane.cel.equality import key_in, shown
from controlplane.cel.errors import EvalError
from controlplane.cel.functions import Function, Library, Overload
from controlplane.cel.macros import Factory, Macro, MacroError, is_namespace
from controlplane.cel.standard.macros import quantifier, transform_list, variable
from controlplane.cel.types import map_of, param
from controlplane.cel.values import Value

__all__ = ["BINDINGS", "MAP_INSERT", "TWO_VARIABLES"]

MAP_INSERT = "cel.@mapInsert"
_MAP = map_of(param("K"), param("V"))


def _insert(mapping: dict[Value, Value], key: Value, value: Value) -> dict[Value, Value]:
    if key_in(mapping, key):
        raise EvalError(f"insert failed: key {shown(key)} already exists")
    return {**mapping, key: value}


def _insert_all(mapping: dict[Value, Value], entries: dict[Value, Value]) -> dict[Value, Value]:
    for key, value in entries.items():
        mapping = _insert(mapping, key, value)
    return mapping


def _variables(args: list[Expr]) -> tuple[str, str]:
    first = variable(args[0], "argument must be a simple name")
    second = variable(args[1], "argument must be a simple name")
    if first == second:
        raise MacroError(args[1], f"duplicate variable name: {first}")
    return first, second


def _all(factory: Factory, target: Expr | None, args: list[Expr]) -> Expr:
    assert target is not None
    return quantifier(factory, "all", target, _variables(args), args[2])


def _exists(factory: Factory, target: Expr | None, args: list[Expr]) -> Expr:
    assert target is not None
    return quantifier(factory, "exists", target, _variables(args), args[2])


def _exists_one(factory: Factory, target: Expr | None, args: list[Expr]) -> Expr:
    assert target is not None
    return quantifier(factory, "exists_one", target, _variables(args), args[2])


def _list(factory: Factory, target: Expr | None, args: list[Expr]) -> Expr:
    assert target is not None
    return transform_list(factory, target, _variables(args), args[2] if len(args) == 4 else None, args[-1])


def _map(factory: Factory, target: Expr | None, args: list[Expr]) -> Expr:
    variables = _variables(args)
    return _inserting(factory, target, args, variables, (factory.ident(variables[0]), args[-1]))


def _entries(factory: Factory, target: Expr | None, args: list[Expr]) -> Expr:
    return _inserting(factory, target, args, _variables(args), (args[-1],))


def _inserting(
    factory: Factory, target: Expr | None, args: list[Expr], variables: tuple[str, str], inserted: tuple[Expr, ...]
) -> Expr:
    assert target is not None
    step: Expr = factory.call(MAP_INSERT, factory.accu(), *inserted)
    if len(args) == 4:
        step = factory.call("_?_:_", args[2], step, factory.accu())
    condition = factory.const(value=True)
    return factory.comprehension(target, variables, condition, step, factory.accu(), init=factory.map())


def _bind(factory: Factory, target: Expr | None, args: list[Expr]) -> Expr | None:
    if not is_namespace(target, "cel"):
        return None
    name, value, body = args
    if not isinstance(name, Ident):
        raise MacroError(name, "cel.bind() variable names must be simple identifiers")
    return factory.bind(name.name, value, body)


TWO_VARIABLES = Library(
    functions=(
        Function(
            MAP_INSERT,
            (
                Overload("@mapInsert_map_key_value", (_MAP, param("K"), param("V")), _MAP, _insert),
                Overload("@mapInsert_map_map", (_MAP, _MAP), _MAP, _insert_all),
            ),
        ),
    ),
    macros=(
        Macro("all", 3, _all, receiver=True),
        Macro("exists", 3, _exists, receiver=True),
        Macro("existsOne", 3, _exists_one, receiver=True),
        Macro("exists_one", 3, _exists_one, receiver=True),
        Macro("transformList", 3, _list, receiver=True),
        Macro("transformList", 4, _list, receiver=True),
        Macro("transformMap", 3, _map, receiver=True),
        Macro("transformMap", 4, _map, receiver=True),
        Macro("transformMapEntry", 3, _entries, receiver=True),
        Macro("transformMapEntry", 4, _entries, receiver=True),
    ),
)

BINDINGS = Library(macros=(Macro("bind", 3, _bind, receiver=True),))
"""``cel.bind(name, value, body)``. Kubernetes does not offer it."""
