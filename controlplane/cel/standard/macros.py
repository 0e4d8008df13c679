"""The macros of the language: ``has``, ``all``, ``exists``, ``exists_one``, ``map``, ``filter``.

Source: google/cel-go ``parser/macro.go``: the same expansions, since costs are counted on them.
"""

from __future__ import annotations

from controlplane.cel.ast import ACCUMULATOR, Call, Expr, Ident, Select
from controlplane.cel.macros import Factory, Macro, MacroError

__all__ = ["MACROS", "quantifier", "transform_list", "variable"]

_OLD_ACCUMULATOR = "__result__"


def variable(expr: Expr, message: str) -> str:
    """The name that a macro's argument gives a variable.

    Raises:
        MacroError: it is no name, or a reserved one.
    """
    if not isinstance(expr, Ident):
        raise MacroError(expr, message)
    if expr.name in (ACCUMULATOR, _OLD_ACCUMULATOR):
        raise MacroError(expr, "iteration variable overwrites accumulator variable")
    return expr.name


def quantifier(factory: Factory, kind: str, target: Expr, variables: tuple[str, ...], predicate: Expr) -> Expr:
    """``all``, ``exists`` or ``exists_one`` over one or two variables."""
    accu = factory.accu
    if kind == "all":
        condition: Expr = factory.call("@not_strictly_false", accu())
        step: Expr = factory.call("_&&_", accu(), predicate)
        init, result = factory.const(value=True), accu()
    elif kind == "exists":
        condition = factory.call("@not_strictly_false", factory.call("!_", accu()))
        step = factory.call("_||_", accu(), predicate)
        init, result = factory.const(value=False), accu()
    else:
        condition = factory.const(value=True)
        step = factory.call("_?_:_", predicate, factory.call("_+_", accu(), factory.const(1)), accu())
        init = factory.const(0)
        counted: Call = factory.call("_==_", accu(), factory.const(1))
        return factory.comprehension(target, variables, condition, step, counted, init=init)
    return factory.comprehension(target, variables, condition, step, result, init=init)


def transform_list(
    factory: Factory, target: Expr, variables: tuple[str, ...], predicate: Expr | None, transform: Expr
) -> Expr:
    """A list of the transformed items for which the predicate holds."""
    step: Expr = factory.call("_+_", factory.accu(), factory.list(transform))
    if predicate is not None:
        step = factory.call("_?_:_", predicate, step, factory.accu())
    condition = factory.const(value=True)
    return factory.comprehension(target, variables, condition, step, factory.accu(), init=factory.list())


def _has(factory: Factory, target: Expr | None, args: list[Expr]) -> Expr:
    del target
    selected = args[0]
    if not isinstance(selected, Select) or selected.test_only:
        raise MacroError(selected, "invalid argument to has() macro")
    return factory.has(selected.operand, selected.field)


def _all(factory: Factory, target: Expr | None, args: list[Expr]) -> Expr:
    return _quantifier(factory, "all", target, args)


def _exists(factory: Factory, target: Expr | None, args: list[Expr]) -> Expr:
    return _quantifier(factory, "exists", target, args)


def _exists_one(factory: Factory, target: Expr | None, args: list[Expr]) -> Expr:
    return _quantifier(factory, "exists_one", target, args)


def _quantifier(factory: Factory, kind: str, target: Expr | None, args: list[Expr]) -> Expr:
    assert target is not None
    name = variable(args[0], "argument must be a simple name")
    return quantifier(factory, kind, target, (name,), args[1])


def _map(factory: Factory, target: Expr | None, args: list[Expr]) -> Expr:
    assert target is not None
    name = variable(args[0], "argument is not an identifier")
    return transform_list(factory, target, (name,), args[1] if len(args) == 3 else None, args[-1])


def _filter(factory: Factory, target: Expr | None, args: list[Expr]) -> Expr:
    assert target is not None
    name = variable(args[0], "argument is not an identifier")
    return transform_list(factory, target, (name,), args[1], args[0])


MACROS: tuple[Macro, ...] = (
    Macro("has", 1, _has),
    Macro("all", 2, _all, receiver=True),
    Macro("exists", 2, _exists, receiver=True),
    Macro("exists_one", 2, _exists_one, receiver=True),
    Macro("existsOne", 2, _exists_one, receiver=True),
    Macro("map", 2, _map, receiver=True),
    Macro("map", 3, _map, receiver=True),
    Macro("filter", 2, _filter, receiver=True),
)
