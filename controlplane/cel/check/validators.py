"""What Kubernetes checks beyond types: literals that are no duration, moment, pattern or format; lists of mixed types.

Source: google/cel-go ``cel/validator.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from controlplane.cel.ast import Call, Comprehension, Const, Expr, ListExpr, MapExpr, Select, StructExpr
from controlplane.cel.check.formats import format_problem
from controlplane.cel.errors import EvalError, Issues
from controlplane.cel.patterns import PatternError, searcher
from controlplane.cel.timestamps import parse_duration, parse_timestamp, timestamp_of_seconds
from controlplane.cel.types import Type
from controlplane.cel.values import Value

__all__ = ["children", "validate", "walk"]


def children(expr: Expr) -> list[Expr]:
    """The nodes right below one."""
    match expr:
        case Select():
            return [expr.operand]
        case Call():
            return expr.args if expr.target is None else [expr.target, *expr.args]
        case ListExpr():
            return expr.items
        case MapExpr():
            return [part for entry in expr.entries for part in (entry.key, entry.value)]
        case StructExpr():
            return [field.value for field in expr.fields]
        case Comprehension():
            return [expr.iter_range, expr.init, expr.condition, expr.step, expr.result]
        case _:
            return []


def walk(expr: Expr) -> Iterator[Expr]:
    """The node and all below it, in no order that matters."""
    pending = [expr]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(children(node))


def validate(expr: Expr, source: str) -> None:
    """Look at a checked tree.

    Raises:
        CompileError.
    """
    issues = Issues(source)
    pending = [(expr, False)]
    while pending:
        node, formatted = pending.pop()
        match node:
            case Call(function="duration" | "timestamp" | "matches"):
                _literal(node, issues)
            case Call(function="format"):
                formatted = True
                problem = format_problem(node)
                if problem is not None:
                    issues.add(*problem)
            case _ if formatted:  # what is formatted may be of any types
                pass
            case ListExpr():
                _alike(node.items, [index in node.optional for index in range(len(node.items))], issues)
            case MapExpr():
                _alike([entry.key for entry in node.entries], [False] * len(node.entries), issues)
                _alike([entry.value for entry in node.entries], [entry.optional for entry in node.entries], issues)
            case _:
                pass
        pending.extend((child, formatted) for child in children(node))
    if issues:
        raise issues.error()


_READERS: dict[tuple[str, type], Callable[[Any], object]] = {
    ("duration", str): parse_duration,
    ("timestamp", str): parse_timestamp,
    ("timestamp", int): timestamp_of_seconds,
    ("matches", str): searcher,
}


def _parses(read: Callable[[Any], object], given: Value) -> bool:
    try:
        return read(given) is not None
    except (EvalError, PatternError):
        return False


def _literal(call: Call, issues: Issues) -> None:
    argument = call.args[0] if call.args else None
    if not isinstance(argument, Const):
        return
    read = _READERS.get((call.function, type(argument.value)))
    if read is not None and not _parses(read, argument.value):
        issues.add(argument.position, f"invalid {call.function} argument")


def _alike(items: list[Expr], optional: list[bool], issues: Issues) -> None:
    first: Type | None = None
    for item, unwrap in zip(items, optional, strict=True):
        found = item.type.params[0] if unwrap and item.type.params else item.type
        if first is None:
            first = found
        elif found != first:
            issues.add(item.position, f"expected type '{first}' but found '{found}'")
            return
