"""What goes wrong with an expression: while it is compiled, while it is evaluated, or because it costs too much."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from operator import itemgetter

__all__ = ["CompileError", "CostExceeded", "EvalError", "Issue", "Issues"]

MAX_ISSUES = 100
"""Issues that are printed; the others are counted. cel-go's number."""
_SNIPPET_CHARS = 16384
"""A longer line of the source is not printed below the issue. cel-go's number."""


class EvalError(Exception):
    """An evaluation has no value. ``&&``, ``||``, ``all`` and ``exists`` may absorb it, as the language says.

    The message is cel-go's, without position. ``cost`` is what the evaluation had cost until then, if it is known.
    """

    cost: int = 0


class CostExceeded(Exception):
    """The evaluation was cut off at its cost limit. Never absorbed: not an EvalError on purpose."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


@dataclass(frozen=True, slots=True)
class Issue:
    """One complaint of the parser or the checker. ``line`` counts from 1, ``column`` from 0, in code points."""

    message: str
    line: int
    column: int


class Issues:
    """The issues of one source, by offset; lines and columns are found when they are shown."""

    __slots__ = ("_found", "source")

    def __init__(self, source: str) -> None:
        self.source = source
        self._found: list[tuple[int, str]] = []

    def __bool__(self) -> bool:
        return bool(self._found)

    def add(self, position: int, message: str) -> None:
        """Record one; a position below 0 means none in particular."""
        self._found.append((position, message))

    def error(self) -> CompileError:
        """All of them, in the order of the source."""
        starts = [0, *(found.end() for found in re.finditer("\n", self.source))]
        issues = []
        for position, message in sorted(self._found[:MAX_ISSUES], key=itemgetter(0)):
            line = bisect_right(starts, position)
            issues.append(
                Issue(message, line, position - starts[line - 1]) if position >= 0 else Issue(message, -1, -1)
            )
        return CompileError(issues, self.source, more=len(self._found) - len(issues))


class CompileError(ValueError):
    """The expression is not accepted.

    The message has one paragraph for each issue, in the order of the source, as cel-go prints them:
    ``ERROR: <input>:1:5: message``, the line of the source, and a caret below the place.
    """

    def __init__(self, issues: list[Issue], source: str, *, more: int = 0) -> None:
        self.issues = tuple(issues)
        lines = source.split("\n")
        shown = [_shown(issue, lines) for issue in issues]
        if more:
            shown.append(f"{more} more errors were truncated")
        super().__init__("\n".join(shown))


def _shown(issue: Issue, lines: list[str]) -> str:
    where = f"ERROR: <input>:{issue.line}:{issue.column + 1}: {issue.message}"
    if not 0 < issue.line <= len(lines) or len(lines[issue.line - 1]) > _SNIPPET_CHARS:
        return where
    line = lines[issue.line - 1].replace("\t", " ")
    dots = "".join(_marks(char, ".", "\uff0e") for char in line[: issue.column])
    caret = _marks(line[issue.column], "^", "\uff3e") if issue.column < len(line) else "^"
    return f"{where}\n | {line}\n | {dots}{caret}"


def _marks(char: str, narrow: str, wide: str) -> str:
    return wide if ord(char) > 0x7F else narrow
