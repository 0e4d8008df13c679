"""Comprehensions in Python: each macro's loop as one would write it, and its cost as cel-go counts it.

Source of the figures: the expansions of ``controlplane.cel.standard.macros``, counted as ``evaluate.plan`` does.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from controlplane.cel.ast import Call, Comprehension, Const, Expr, Ident, ListExpr, MapExpr
from controlplane.cel.equality import key_in, shown
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
_NOT_STRICTLY_FALSE = 1
_PLAIN_KEYS = frozenset({"bool", "int", "string", "uint"})


def loop(gen: Generator, expr: Comprehension) -> str:
    """The comprehension's value."""
    step = expr.step
    if isinstance(step, Call) and isinstance(expr.init, Const):
        quantifier = _absorbing_quantifier if gen.exact else _quantifier
        if step.function == "_&&_" and _is_accu(step.args[0], expr):
            return quantifier(gen, expr, step, found=False, condition=_ALL_CONDITION)
        if step.function == "_||_" and _is_accu(step.args[0], expr):
            return quantifier(gen, expr, step, found=True, condition=_EXISTS_CONDITION)
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


def _absorbing_quantifier(gen: Generator, expr: Comprehension, step: Call, *, found: bool, condition: int) -> str:
    """The same, where an item's error counts only if no other item decides. While the accumulator is an error, looking
    at it costs nothing."""
    result, items, error = gen.name(), gen.name(), gen.name()
    gen.scopes.append({})
    target, text = _range(gen, expr)
    gen.emit(f"{items} = iter({text})")
    gen.emit(f"{result}, {error} = {not found}, None")
    with gen.block(f"for {target} in {items}:", loop=True):
        gen.emit(f"c += {condition + _ACCU} if {error} is None else {_NOT_STRICTLY_FALSE}")
        gen.check_limit()
        with gen.block("try:", nested=True):
            holds = gen.named(gen.terms(step.function, step.args[1:]))
        gen.caught(error, first=True)
        with gen.block("else:"), gen.block(f"if {holds}:" if found else f"if not {holds}:"):
            gen.emit(f"{result}, {error} = {found}, None")
            with gen.block(f"for {target} in {items}:", loop=True):
                gen.cost(condition)
                gen.flush()
                gen.emit("break")
            gen.emit("break")
    gen.scopes.pop()
    gen.raise_if(error)
    gen.cost(_ACCU)
    gen.flush()
    return result


def _exists_one(gen: Generator, expr: Comprehension, step: Call) -> str:
    count = gen.name()
    gen.scopes.append({})
    target, text = _range(gen, expr)
    gen.emit(f"{count} = 0")
    with gen.block(f"for {target} in {text}:", loop=True), _keeping_errors(gen) as kept:
        with gen.block(f"if {gen.truth(step.args[0])}:"):
            kept.skip()
            gen.emit(f"{count} += 1")
            gen.cost(2)
        gen.check_limit()
    gen.scopes.pop()
    kept.show()
    gen.cost(2)
    return f"({count} == 1)"


class _Kept:
    """The error that the accumulator has become: the loop goes on, for what its conditions cost, and then fails."""

    def __init__(self, gen: Generator) -> None:
        self.gen, self.name = gen, gen.name() if gen.exact else ""

    def skip(self) -> None:
        """Go on with the next item if there is an error."""
        if self.name:
            self.gen.emit(f"if {self.name} is not None: continue")

    def show(self) -> None:
        """Raise it after the loop."""
        if self.name:
            self.gen.raise_if(self.name)


@contextmanager
def _keeping_errors(gen: Generator) -> Iterator[_Kept]:
    """Around a loop's body."""
    kept = _Kept(gen)
    if not kept.name:
        yield kept
        return
    loop_line = gen.lines.pop()
    gen.lines += [f"{' ' * (gen.indent - 1)}{kept.name} = None", loop_line]
    gen.check_limit()
    with gen.block("try:", nested=True):
        yield kept
    gen.caught(kept.name, first=False)


def _collection(gen: Generator, expr: Comprehension) -> str:
    is_list = isinstance(expr.init, ListExpr)
    made = gen.name()
    gen.scopes.append({})
    target, text = _range(gen, expr)
    gen.emit(f"{made} = {'[]' if is_list else '{}'}")
    step: Expr = expr.step
    if isinstance(step, Call) and step.function == "_?_:_":
        if not _is_accu(step.args[2], expr):
            raise gen.unsupported
        with gen.block(f"for {target} in {text}:", loop=True), _keeping_errors(gen) as kept:
            with gen.block(f"if {gen.truth(step.args[0])}:"):
                kept.skip()
                _add(gen, expr, step.args[1], made)
            gen.check_limit()
        kept.show()
    else:
        with gen.block(f"for {target} in {text}:", loop=True):  # once it has failed, the rest costs nothing
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
    gen.cost(_ACCU)
    gen.before()
    if step.function == "_+_" and isinstance(added, ListExpr) and len(added.items) == 1 and not added.optional:
        value = gen.value(added.items[0])
        gen.cost(1 if constant(added) is not NOT_CONSTANT else 1 + LIST_CREATE_COST)
        gen.emit(f"{made}.append({value})")
    elif step.function == MAP_INSERT and len(step.args) == 3:
        key, value = gen.named(gen.value(added)), gen.value(step.args[2])
        gen.cost(1)
        gen.before()
        if added.type.kind in _PLAIN_KEYS:
            gen.emit(f"if {key} in {made}: {gen.constant(_refuse)}({key})")
            gen.emit(f"{made}[{key}] = {value}")
        else:
            gen.emit(f"{gen.constant(_insert)}({made}, {key}, {value})")
    elif step.function == MAP_INSERT:
        insert = gen.constant(_insert)
        entry = gen.value(added)
        gen.cost(1)
        gen.before()
        with gen.block(f"for key, value in {entry}.items():"):
            gen.emit(f"{insert}({made}, key, value)")
    else:
        raise gen.unsupported


def _insert(mapping: dict[Value, Value], key: Value, value: Value) -> None:
    if key_in(mapping, key):
        _refuse(key)
    mapping[key] = value


def _refuse(key: Value) -> None:
    raise EvalError(f"insert failed: key {shown(key)} already exists")
