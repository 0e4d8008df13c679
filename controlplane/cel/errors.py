"""What goes wrong with an expression: while it is compiled, while it is evaluated, or because it costs too much."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CompileError", "CostExceeded", "EvalError", "Issue"]

MAX_ISSUES = 100
"""Issues that are printed; the others are counted. cel-go's number."""
_SNIPPET_CHARS = 16384
"""A longer line of the source is not printed below the issue. cel-go's number."""


class EvalError(Exception):
    """An evaluation has no value. ``&&``, ``||``, ``all`` and ``exists`` may absorb it, as the language says.

    The message is cel-go's, without position.
    """


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


class CompileError(ValueError):
    """The expression is not accepted.

    The message has one paragraph for each issue, in the order of the source, as cel-go prints them:
    ``ERROR: <input>:1:5: message``, the line of the source, and a caret below the place.
    """

    def __init__(self, issues: list[Issue], source: str, *, description: str = "<input>") -> None:
        self.issues = tuple(issues)
        lines = source.split("\n")
        kept = sorted(issues[:MAX_ISSUES], key=lambda issue: (issue.line, issue.column))
        shown = [_shown(issue, lines, description) for issue in kept]
        if len(issues) > MAX_ISSUES:
            shown.append(f"{len(issues) - MAX_ISSUES} more errors were truncated")
        super().__init__("\n".join(shown))


def _shown(issue: Issue, lines: list[str], description: str) -> str:
    where = f"ERROR: {description}:{issue.line}:{issue.column + 1}: {issue.message}"
    if not 0 < issue.line <= len(lines) or len(lines[issue.line - 1]) > _SNIPPET_CHARS:
        return where
    line = lines[issue.line - 1].replace("\t", " ")
    dots = "".join(_marks(char, ".", "\uff0e") for char in line[: issue.column])
    caret = _marks(line[issue.column], "^", "\uff3e") if issue.column < len(line) else "^"
    return f"{where}\n | {line}\n | {dots}{caret}"


def _marks(char: str, narrow: str, wide: str) -> str:
    return wide if ord(char) > 0x7F else narrow
