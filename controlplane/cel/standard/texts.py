"""Functions of strings that the language itself has.

Source: google/cel-go ``common/stdlib/standard.go``; regular expressions are RE2's, linear whatever the text.
"""

from __future__ import annotations

from collections.abc import Callable

from controlplane.cel.errors import EvalError
from controlplane.cel.functions import NOT_CONSTANT, Function, Overload
from controlplane.cel.patterns import PatternError, searcher
from controlplane.cel.standard import costs
from controlplane.cel.types import BOOL, STRING
from controlplane.cel.values import Value

__all__ = ["FUNCTIONS", "matches"]


def matches(text: str, pattern: str) -> bool:
    """Whether the pattern is found in the text.

    Raises:
        EvalError: the pattern is no regular expression.
    """
    try:
        return bool(searcher(pattern)(text))
    except PatternError as error:
        raise EvalError(str(error)) from None


def _bind_pattern(text: object, pattern: object) -> Callable[[str, Value], bool] | None:
    del text
    if pattern is NOT_CONSTANT or not isinstance(pattern, str):
        return None
    try:
        search = searcher(pattern)
    except PatternError as error:
        raise EvalError(str(error)) from None
    return lambda given, _: bool(search(given))


FUNCTIONS: tuple[Function, ...] = (
    Function(
        "contains",
        (
            Overload(
                "contains_string",
                (STRING, STRING),
                BOOL,
                lambda text, part: part in text,
                member=True,
                cost=costs.contained,
                estimate=costs.contained_estimate,
            ),
        ),
    ),
    Function(
        "endsWith",
        (
            Overload(
                "ends_with_string",
                (STRING, STRING),
                BOOL,
                str.endswith,
                member=True,
                cost=costs.traversed,
                estimate=costs.prefix_estimate,
            ),
        ),
    ),
    Function(
        "startsWith",
        (
            Overload(
                "starts_with_string",
                (STRING, STRING),
                BOOL,
                str.startswith,
                member=True,
                cost=costs.traversed,
                estimate=costs.prefix_estimate,
            ),
        ),
    ),
    Function(
        "matches",
        (
            Overload("matches", (STRING, STRING), BOOL, matches, bind=_bind_pattern),
            Overload(
                "matches_string",
                (STRING, STRING),
                BOOL,
                matches,
                member=True,
                cost=costs.matched,
                estimate=costs.matched_estimate,
                bind=_bind_pattern,
            ),
        ),
    ),
)
