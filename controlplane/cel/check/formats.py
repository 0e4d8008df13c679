"""Formats that are literals are looked at while compiling: whether their clauses can be read and fit the arguments.

Source: google/cel-go v0.26 ``ext/formatting.go`` (stringFormatValidator).
"""

from __future__ import annotations

from collections.abc import Iterator

from controlplane.cel.ast import Call, Const, Expr, ListExpr, MapExpr
from controlplane.cel.errors import EvalError
from controlplane.cel.library.strings_format import CLAUSE_RULES, Clause, clauses_of

__all__ = ["format_problem"]

_INTEGERS = frozenset({"int", "uint"})
_KINDS = {
    "s": _INTEGERS
    | {"list", "map", "double", "bool", "string", "timestamp", "bytes", "duration", "type", "null_type", "dyn"},
    "d": _INTEGERS | {"dyn"},
    "f": frozenset({"double", "string", "dyn"}),
    "e": frozenset({"double", "string", "dyn"}),
    "b": _INTEGERS | {"bool", "dyn"},
    "x": _INTEGERS | {"string", "bytes", "dyn"},
    "o": _INTEGERS | {"dyn"},
}


def format_problem(call: Call) -> tuple[int, str] | None:
    """Where and what is wrong with ``'...'.format([...])``; None if nothing is, or if it is not written so."""
    text, arguments = call.target, call.args[0] if len(call.args) == 1 else None
    if not (isinstance(text, Const) and isinstance(text.value, str) and isinstance(arguments, ListExpr)):
        return None
    remaining = iter(arguments.items)
    used = 0
    try:
        for part in clauses_of(text.value, len(arguments.items)):
            if isinstance(part, Clause):
                used += 1
                letter = part.letter.lower()
                for item in _looked_at(letter, next(remaining)):
                    if item.type.kind not in _KINDS[letter]:
                        rule = CLAUSE_RULES[letter]
                        return item.position, f"error during formatting: {rule}, was given {item.type.name}"
    except EvalError as error:
        return call.position, str(error)
    supplied = len(arguments.items)
    if supplied > used:
        return call.position, f"too many arguments supplied to string.format (expected {used}, got {supplied})"
    return None


def _looked_at(letter: str, item: Expr) -> Iterator[Expr]:
    """The argument, and for ``%s`` what a literal list or map holds."""
    yield item
    if letter != "s":
        return
    if isinstance(item, ListExpr):
        for one in item.items:
            yield from _looked_at(letter, one)
    elif isinstance(item, MapExpr):
        for entry in item.entries:
            yield from _looked_at(letter, entry.key)
            yield from _looked_at(letter, entry.value)
