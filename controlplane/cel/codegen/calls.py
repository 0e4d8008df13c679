"""Calls in Python: by template, by the one implementation that fits, or by a choice at run time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil
from typing import TYPE_CHECKING

from controlplane.cel.ast import Call, Expr
from controlplane.cel.codegen.templates import TEMPLATES, shorter
from controlplane.cel.codegen.writer import Unsuited
from controlplane.cel.equality import contains, equal, key_in
from controlplane.cel.errors import CostExceeded
from controlplane.cel.estimates import REGEX_LENGTH_FACTOR, STRING_FACTOR
from controlplane.cel.evaluate.constants import constant
from controlplane.cel.evaluate.dispatch import bound, chooser, is_certain
from controlplane.cel.functions import NOT_CONSTANT, Overload
from controlplane.cel.patterns import PatternError, searcher
from controlplane.cel.standard.costs import compared, joined_surcharge
from controlplane.cel.values import Value

if TYPE_CHECKING:
    from controlplane.cel.codegen.generator import Generator

__all__ = ["call"]

_FIXED_SIZE = frozenset({"bool", "double", "duration", "int", "null_type", "timestamp", "type", "uint"})
_JOINS = frozenset({"add_string", "add_bytes", "add_list"})
_PLAIN = frozenset({"bytes", "double", "duration", "int", "string", "timestamp", "uint", "bool"})
"""Scalars of the same type compare as Python has it."""


def call(gen: Generator, expr: Call) -> str:
    """A call that is neither logic, nor a ternary, nor an index."""
    args = expr.args if expr.target is None else [expr.target, *expr.args]
    if expr.function in ("_==_", "_!=_"):
        return _equality(gen, expr, negated=expr.function == "_!=_")
    if not is_certain(expr.overloads, args):
        return _chosen(gen, expr, args)
    overload = expr.overloads[0]
    if overload.id == "matches_string":
        found = _matches(gen, args)
        if found is not None:
            return found
    if overload.id in ("in_list", "in_map"):
        return _membership(gen, expr, overload)
    if overload.id == "add_list":
        return _joined_lists(gen, expr, args)
    template = TEMPLATES.get(overload.id)
    texts = [gen.value(arg) for arg in args]
    if template is not None:
        return template(gen, texts)
    return _implementation(gen, overload, args, texts)


def _implementation(gen: Generator, overload: Overload, args: Sequence[Expr], texts: list[str]) -> str:
    impl = gen.constant(bound(overload, args))
    if overload.cost is None:
        gen.cost(1)
        return f"{impl}({', '.join(texts)})"
    names = [gen.named(text) for text in texts]
    if not overload.by_result:
        gen.dynamic_cost(f"{gen.constant(overload.cost)}({', '.join(['None', *names])})")
        gen.check_limit()
        return gen.named(f"{impl}({', '.join(names)})")
    result = gen.named(f"{impl}({', '.join(names)})")
    gen.dynamic_cost(f"{gen.constant(overload.cost)}({', '.join([result, *names])})")
    gen.check_limit()
    return result


def _chosen(gen: Generator, expr: Call, args: list[Expr]) -> str:
    """A call whose overload the values decide; what it costs comes with the result."""
    if any(overload.id == "add_list" for overload in expr.overloads):
        semantics = next((arg.type.semantics for arg in args if arg.type.semantics is not None), None)
        if semantics is not None:
            raise gen.unsupported
    if gen.exact:
        return _chosen_exactly(gen, expr, args)
    run = gen.constant(_choosing(expr.function, expr.overloads))
    texts = [gen.value(arg) for arg in args]
    result, cost = gen.name(), gen.name()
    gen.emit(f"{result}, {cost} = {run}({', '.join(['L', *texts])})")
    gen.dynamic_cost(cost)
    gen.check_limit()
    return result


def _choosing(function: str, overloads: Sequence[Overload]) -> Callable[..., tuple[Value, int]]:
    pick = chooser(function, overloads)

    def run(limit: int, *values: Value) -> tuple[Value, int]:
        overload = pick(*values)
        if overload.id in _JOINS and len(values[0]) + len(values[1]) > 1000:
            raise Unsuited  # counted before it is done
        cost = 1 if overload.cost is None or overload.by_result else overload.cost(None, *values)
        if cost > limit:
            raise CostExceeded
        result = overload.impl(*values)
        if overload.by_result and overload.cost is not None:
            cost = overload.cost(result, *values)
        if overload.id == "add_list":
            cost += joined_surcharge(len(result))
        return result, cost

    return run


def _chosen_exactly(gen: Generator, expr: Call, args: list[Expr]) -> str:
    """The same; each cost is counted where it arises."""
    values = ", ".join([gen.value(arg) for arg in args])
    overload, result = gen.name(), gen.name()
    gen.emit(f"{overload} = {gen.constant(chooser(expr.function, expr.overloads))}({values})")
    gen.dynamic_cost(f"{gen.constant(_cost_before)}({overload}, {values})")
    gen.check_limit()
    gen.emit(f"{result} = {overload}.impl({values})")
    gen.dynamic_cost(f"{gen.constant(_cost_after)}({overload}, {result}, {values})")
    gen.check_limit()
    return result


def _cost_before(overload: Overload, *values: Value) -> int:
    if overload.by_result:
        return 0
    return 1 if overload.cost is None else overload.cost(None, *values)


def _cost_after(overload: Overload, result: Value, *values: Value) -> int:
    cost = overload.cost(result, *values) if overload.by_result and overload.cost is not None else 0
    return cost + joined_surcharge(len(result)) if overload.id == "add_list" else cost


def _equality(gen: Generator, expr: Call, *, negated: bool) -> str:
    left, right = expr.args
    kinds = left.type.kind, right.type.kind
    left_text, right_text = gen.value(left), gen.value(right)
    semantics = left.type.semantics or right.type.semantics
    if kinds[0] in _FIXED_SIZE or kinds[1] in _FIXED_SIZE:
        gen.cost(1)
    elif kinds == ("string", "string"):
        left_text, right_text = _text_cost(gen, left, right, left_text, right_text)
    else:
        left_text, right_text = gen.named(left_text), gen.named(right_text)
        gen.dynamic_cost(f"{gen.constant(compared)}(None, {left_text}, {right_text})")
    if semantics is not None:
        text = f"{gen.constant(semantics.equal)}({left_text}, {right_text})"
    elif "null_type" in kinds and (left_text == "None" or right_text == "None"):
        other = right_text if left_text == "None" else left_text
        return f"({other} {'!=' if negated else '=='} None)"  # not "is": it may be a literal
    elif (kinds[0] == kinds[1] and kinds[0] in _PLAIN) or "string" in kinds or "bytes" in kinds:
        return f"({left_text} {'!=' if negated else '=='} {right_text})"
    else:
        text = f"{gen.constant(equal)}({left_text}, {right_text})"
    return f"(not {text})" if negated else text


def _text_cost(gen: Generator, left: Expr, right: Expr, left_text: str, right_text: str) -> tuple[str, str]:
    """Count a comparison of strings; one of them is often a literal."""
    known, other = constant(right), left_text
    if known is NOT_CONSTANT:
        known, other = constant(left), right_text
    if known is NOT_CONSTANT:
        left_text, right_text = gen.named(left_text), gen.named(right_text)
        gen.dynamic_cost(shorter(left_text, right_text))
        return left_text, right_text
    other = gen.named(other)
    length = len(known)
    if length:
        most = ceil(length * STRING_FACTOR)
        if length <= 10:
            gen.dynamic_cost(f"({other} != '')")
        else:
            gen.dynamic_cost(f"(T[len({other})] if len({other}) < {length} else {most})")
    return (other, right_text) if constant(right) is not NOT_CONSTANT else (left_text, other)


def _matches(gen: Generator, args: list[Expr]) -> str | None:
    pattern = constant(args[1])
    if pattern is NOT_CONSTANT:
        return None
    try:
        search = gen.constant(searcher(pattern))
    except PatternError:
        return None
    text = gen.named(gen.value(args[0]))
    weight = ceil(len(pattern) * REGEX_LENGTH_FACTOR)
    gen.dynamic_cost(f"T[1 + len({text})] * {weight}" if weight > 1 else f"T[1 + len({text})]" if weight else "0")
    return f"({search}({text}) is not None)"


def _membership(gen: Generator, expr: Call, overload: Overload) -> str:
    item, container = expr.args
    known = constant(container)
    text = item.type.kind == "string"
    if overload.id == "in_map":
        form = "({0} in {1})" if text else f"{gen.constant(key_in)}({{1}}, {{0}})"
        values = gen.value(item), gen.value(container)
        gen.cost(1)
        return form.format(*values)
    if known is not NOT_CONSTANT and all(isinstance(one, bool | int | float | str) for one in known):
        if text or (item.type.kind == "int" and all(type(one) is int for one in known)):
            return f"({gen.value(item)} in {gen.constant(frozenset(known))})"
        return f"{gen.constant(contains)}({gen.constant(known)}, {gen.value(item)})"
    wanted = gen.value(item)
    items = gen.named(gen.value(container))
    gen.dynamic_cost(f"len({items})")
    return f"({wanted} in {items})" if text else f"{gen.constant(contains)}({items}, {wanted})"


def _joined_lists(gen: Generator, expr: Call, args: list[Expr]) -> str:
    semantics = next((arg.type.semantics for arg in args if arg.type.semantics is not None), None)
    join = gen.constant(semantics.add if semantics is not None else expr.overloads[0].impl)
    result = gen.named(f"{join}({gen.value(args[0])}, {gen.value(args[1])})")
    gen.cost(1)
    joined = gen.constant(joined_surcharge)
    gen.dynamic_cost(f"(0 if len({result}) <= 64 else {joined}(len({result})))")
    gen.check_limit()
    return result
