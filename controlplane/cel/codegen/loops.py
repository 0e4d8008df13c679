"""Comprehensions in Python: each macro's loop as one would write it, and its cost as cel-go counts it.

Source of the figures: the expansions of ``controlplane.cel.standard.macros``, counted as ``evaluate.plan`` does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from controlplane.cel.ast import Call, Comprehension, Const, Expr, Ident, ListExpr, MapExpr
from controlplane.cel.equality import key_in
from controlplane.cel.errors import EvalError
from controlplane.cel.estimates import LIST_CREATE_COST
from controlplane.cel.evaluate.constants import constant
from controlplane.cel.evaluate.plan import items_of, pairs_of
from controlplane.cel.functions import NOT_CONSTANT
from controlplane.cel.standard.comprehensions import MAP_INSERT
from controlplane.cel.values import Value

if TYPE_CHECKING:
    from controlplane.cel.codegen.generator import Generator

__all__ = ["loop"]

_ACCU = 1
_ALL_CONDITION = 2
"""``@not_strictly_false(@result)``"""
_EXISTS_CONDITION = 3
"""``@not_strictly_false(!@result)``"""


def loop(gen: Generator, expr: Comprehension) -> str:
    """The comprehension's value."""
    step = expr.step
    if isinstance(step, Call) and isinstance(expr.init, Const):
        if step.function == "_&&_" and _is_accu(step.args[0], expr):
            return _quantifier(gen, expr, step, found=False, condition=_ALL_CONDITION)
        if step.function == "_||_" and _is_accu(step.args[0], expr):
            return _quantifier(gen, expr, step, found=True, condition=_EXISTS_CONDITION)
        if step.function == "_?_:_" and expr.init.value == 0:
            return _exists_one(gen, expr, step)
    if isinstance(expr.init, ListExpr | MapExpr) and _is_true(expr.condition) and _is_accu(expr.result, expr):
        return _collection(gen, expr)
    raise gen.unsupported


def _is_accu(expr: Expr, loop_expr: Comprehension) -> bool:
    return isinstance(expr, Ident) and expr.name == loop_expr.accu


def _is_true(expr: Expr) -> bool:
    return isinstance(expr, Const) and expr.value is True


def _range(gen: Generator, expr: Comprehension) -> tuple[str, str]:
    """The loop's variables and what it goes over."""
    kind = expr.iter_range.type.kind
    text = gen.value(expr.iter_range)
    first = gen.local(expr.iter_var)
    known = kind in ("list", "map")
    if not expr.iter_var2:
        return first, text if known else f"{gen.constant(items_of)}({text})"
    second = gen.local(expr.iter_var2)
    if not known:
        return f"{first}, {second}", f"{gen.constant(pairs_of)}({text})"
    return f"{first}, {second}", f"enumerate({text})" if kind == "list" else f"{text}.items()"


def _quantifier(gen: Generator, expr: Comprehension, step: Call, *, found: bool, condition: int) -> str:
    result, items = gen.name(), gen.name()
    gen.scopes.append({})
    target, text = _range(gen, expr)
    gen.emit(f"{items} = iter({text})")
    gen.emit(f"{result} = {not found}")
    with gen.block(f"for {target} in {items}:", loop=True):
        gen.cost(condition + _ACCU)
        terms = [gen.terms(step.function, step.args[1:])]
        gen.flush()
        with gen.block(f"if {terms[0]}:" if found else f"if not {terms[0]}:"):
            gen.emit(f"{result} = {found}")
            with gen.block(f"for {target} in {items}:", loop=True):
                gen.cost(condition)
                gen.flush()
                gen.emit("break")
            gen.emit("break")
        gen.check_limit()
    gen.scopes.pop()
    gen.cost(_ACCU)
    return result


def _exists_one(gen: Generator, expr: Comprehension, step: Call) -> str:
    count = gen.name()
    gen.scopes.append({})
    target, text = _range(gen, expr)
    gen.emit(f"{count} = 0")
    with gen.block(f"for {target} in {text}:", loop=True):
        with gen.block(f"if {gen.value(step.args[0])}:"):
            gen.emit(f"{count} += 1")
            gen.cost(2)
        gen.check_limit()
    gen.scopes.pop()
    gen.cost(2)
    return f"({count} == 1)"


def _collection(gen: Generator, expr: Comprehension) -> str:
    is_list = isinstance(expr.init, ListExpr)
    made = gen.name()
    gen.scopes.append({})
    target, text = _range(gen, expr)
    gen.emit(f"{made} = {'[]' if is_list else '{}'}")
    step: Expr = expr.step
    with gen.block(f"for {target} in {text}:", loop=True):
        if isinstance(step, Call) and step.function == "_?_:_":
            if not _is_accu(step.args[2], expr):
                raise gen.unsupported
            with gen.block(f"if {gen.value(step.args[0])}:"):
                _add(gen, expr, step.args[1], made)
        else:
            _add(gen, expr, step, made)
        gen.check_limit()
    gen.scopes.pop()
    gen.cost(_ACCU)
    return made


def _add(gen: Generator, expr: Comprehension, step: Expr, made: str) -> None:
    """One item into the list, or one entry into the map."""
    if not isinstance(step, Call) or not step.args or not _is_accu(step.args[0], expr):
        raise gen.unsupported
    added = step.args[1]
    gen.cost(_ACCU + 1)
    if step.function == "_+_" and isinstance(added, ListExpr) and len(added.items) == 1 and not added.optional:
        if constant(added) is NOT_CONSTANT:
            gen.cost(LIST_CREATE_COST)
        gen.emit(f"{made}.append({gen.value(added.items[0])})")
    elif step.function == MAP_INSERT and len(step.args) == 3:
        key, value = gen.value(added), gen.value(step.args[2])
        gen.emit(f"{gen.constant(_insert)}({made}, {key}, {value})")
    elif step.function == MAP_INSERT:
        insert = gen.constant(_insert)
        entry = gen.value(added)
        with gen.block(f"for key, value in {entry}.items():"):
            gen.emit(f"{insert}({made}, key, value)")
    else:
        raise gen.unsupported


def _insert(mapping: dict[Value, Value], key: Value, value: Value) -> None:
    if key_in(mapping, key):
        raise EvalError("insert failed")
    mapping[key] = value
