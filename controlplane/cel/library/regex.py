"""The library of regular expressions: what is found, not only whether.

Source: kubernetes/apiserver ``pkg/cel/library/regex.go``, costs of its ``cost.go``; Go's ``regexp`` for what counts as
a further match.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import islice

from controlplane.cel.errors import CostExceeded, EvalError
from controlplane.cel.estimates import REGEX_LENGTH_FACTOR, STRING_FACTOR, Bounds, CallEstimate, Operand, fixed
from controlplane.cel.functions import NOT_CONSTANT, Function, Library, Overload
from controlplane.cel.patterns import Found, PatternError, finder
from controlplane.cel.types import INT, STRING, list_of
from controlplane.cel.values import Value

__all__ = ["REGEX"]

_MAX_MATCHES = 5000
"""Of one call: each takes eight microseconds, whatever its length; upstream has no such bound."""


def _finder(pattern: str) -> Callable[[str], Iterator[Found]]:
    try:
        return finder(pattern)
    except PatternError as error:
        raise EvalError(f"Illegal regex: {error}") from None


def _find(text: str, pattern: str) -> str:
    return _first(_finder(pattern), text)


def _first(find: Callable[[str], Iterator[Found]], text: str) -> str:
    found = next(find(text), None)
    return found.group() if found is not None else ""


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    return _all(_finder(pattern), text, limit)


def _all(find: Callable[[str], Iterator[Found]], text: str, limit: int) -> list[str]:
    """The matches from left to right, none of them empty and next to the one before; a negative limit is none."""
    if limit == 0:
        return []
    texts = list(islice(_separate(find(text)), min(limit, _MAX_MATCHES + 1) if limit > 0 else _MAX_MATCHES + 1))
    if len(texts) > _MAX_MATCHES:
        raise CostExceeded
    return texts


def _separate(matches: Iterator[Found]) -> Iterator[str]:
    end = -1
    for found in matches:
        if found.start() == found.end() == end:
            continue
        end = found.end()
        yield found.group()


def _prepared(pattern: Value) -> Callable[[str], Iterator[Found]] | None:
    if pattern is NOT_CONSTANT:
        return None
    try:
        return finder(pattern)
    except PatternError as error:
        raise EvalError(str(error)) from None


def _bind_find(_text: Value, pattern: Value) -> Callable[[str, str], str] | None:
    find = _prepared(pattern)
    return None if find is None else lambda text, _pattern: _first(find, text)


def _bind_find_all(_text: Value, pattern: Value, _limit: Value = -1) -> Callable[..., list[str]] | None:
    find = _prepared(pattern)
    return None if find is None else lambda text, _pattern, limit=-1: _all(find, text, limit)


def _cost(_result: Value, text: str, pattern: str, _limit: int = -1) -> int:
    return math.ceil((1 + len(text)) * STRING_FACTOR) * math.ceil(len(pattern) * REGEX_LENGTH_FACTOR)


def _estimate(text: Operand, pattern: Operand, _limit: Operand | None = None) -> CallEstimate:
    text_cost = text.size.plus(fixed(1)).scaled(STRING_FACTOR)
    return CallEstimate(text_cost.times(pattern.size.scaled(REGEX_LENGTH_FACTOR)), Bounds(0, text.size.most))


REGEX = Library(
    (
        Function(
            "find",
            (
                Overload(
                    "string_find_string",
                    (STRING, STRING),
                    STRING,
                    _find,
                    member=True,
                    cost=_cost,
                    estimate=_estimate,
                    bind=_bind_find,
                ),
            ),
        ),
        Function(
            "findAll",
            (
                Overload(
                    "string_find_all_string",
                    (STRING, STRING),
                    list_of(STRING),
                    _find_all,
                    member=True,
                    cost=_cost,
                    estimate=_estimate,
                    bind=_bind_find_all,
                ),
                Overload(
                    "string_find_all_string_int",
                    (STRING, STRING, INT),
                    list_of(STRING),
                    _find_all,
                    member=True,
                    cost=_cost,
                    estimate=_estimate,
                    bind=_bind_find_all,
                ),
            ),
        ),
    )
)
