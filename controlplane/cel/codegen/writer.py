"""Python source in the making: lines, names, constants, and the cost that is known so far but not yet added.

Expressions are passed on as text and used once; what is used twice is given a name first. Everything is pure, so the
order in which it is computed is free, as long as nothing runs that the language would not run.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import ceil

from controlplane.cel.errors import CostExceeded, EvalError
from controlplane.cel.estimates import STRING_FACTOR
from controlplane.cel.values import Value

__all__ = ["ERRORS", "TABLE", "Unsuited", "Unsupported", "Writer"]

TABLE = tuple(ceil(length * STRING_FACTOR) for length in range(4096))
"""The cost of walking a string, by its length. Longer ones are evaluated step by step (the IndexError leads there)."""

_MAX_INLINE = 240
"""Characters of one expression before it is given a name: Python's parser nests only so deep."""
_MAX_INDENT = 60
_MAX_LOOPS = 15


class Unsupported(Exception):
    """This expression is evaluated step by step."""


class Unsuited(Exception):
    """Compiled code met a value of a kind that it does not handle: evaluate step by step."""


ERRORS = (EvalError, LookupError, TypeError, AttributeError, ValueError, ArithmeticError)
"""What compiled code raises where the language has an error."""


MAX_ABSORBED = 50_000
"""Errors that one evaluation may absorb: each takes a microsecond, and costs as little as two units."""


class _Costs:
    """``TABLE`` without end, for code that absorbs errors."""

    __slots__ = ()

    def __getitem__(self, length: int) -> int:
        return TABLE[length] if length < len(TABLE) else ceil(length * STRING_FACTOR)


def _fail(message: str = "integer overflow") -> Value:
    raise EvalError(message)


class Writer:
    """Collects the body of one function.

    ``exact``: every node gets a line of its own, and its cost is counted before or after it as the language has it, so
    that what an error leaves behind is exact. Else only the sum at the end is.
    """

    def __init__(self, *, exact: bool = False) -> None:
        self.exact = exact
        self.lines: list[str] = []
        self.indent = 1
        self.loops = 0
        self.pending = 0
        self.counting = False
        self._names = 0
        self.constants: dict[str, Value] = {
            "T": _Costs() if exact else TABLE,
            "X": CostExceeded,
            "E": ERRORS,
            "fail": _fail,
        }
        self._known: dict[tuple[int, str], str] = {}

    def emit(self, line: str) -> None:
        """Add one line."""
        self.lines.append(f"{' ' * self.indent}{line}")

    def name(self) -> str:
        """A new local name."""
        self._names += 1
        return f"t{self._names}"

    def named(self, text: str) -> str:
        """A name for the expression; itself if it is one."""
        if text.isidentifier():
            return text
        name = self.name()
        self.emit(f"{name} = {text}")
        return name

    def short(self, text: str) -> str:
        """The expression, or a name for it if it has become long, or its errors must not move."""
        if self.exact:
            text = self.named(text)
            self.flush()
            return text
        return self.named(text) if len(text) > _MAX_INLINE else text

    def constant(self, value: Value) -> str:
        """A name (or a literal) for a value."""
        if value is None or value is True or value is False:
            return str(value)
        if type(value) is int or (type(value) is str and len(value) < 80):
            return repr(value)
        key = (id(value), type(value).__name__)
        if key not in self._known:
            self._known[key] = f"k{len(self.constants)}"
            self.constants[self._known[key]] = value
        return self._known[key]

    def cost(self, amount: int) -> None:
        """Count what is known now; it is added before this block ends."""
        self.pending += amount

    def dynamic_cost(self, text: str) -> None:
        """Count what the text yields, together with what is pending."""
        self.counting = True
        self.emit(f"c += {text} + {self.pending}" if self.pending else f"c += {text}")
        self.pending = 0

    def flush(self) -> None:
        """Add what is pending."""
        if self.pending:
            self.counting = True
            self.emit(f"c += {self.pending}")
            self.pending = 0

    def before(self) -> None:
        """What is pending is to be counted before what comes now, even if that fails."""
        if self.exact:
            self.flush()

    def caught(self, error: str, *, first: bool) -> None:
        """After a ``try``: keep the error, be it the first or the last one."""
        self.counting = True
        with self.block("except E as x:"):
            self.emit("n += 1")
            self.emit(f"if n > {MAX_ABSORBED}: raise X from None")
            kept = "x.with_traceback(None)"  # else it would hold every frame that it has passed
            self.emit(f"{error} = {error} or {kept}" if first else f"{error} = {kept}")

    def check_limit(self) -> None:
        """Stop if the limit is exceeded."""
        self.flush()
        self.counting = True
        self.emit("if c > L: raise X")

    @contextmanager
    def block(self, head: str, *, loop: bool = False, nested: bool = False) -> Iterator[None]:
        """An indented block with a cost of its own; a loop, or another that Python nests only so deep."""
        loop = loop or nested
        outer, self.pending = self.pending, 0
        self.emit(head)
        self.indent += 1
        self.loops += loop
        if self.indent > _MAX_INDENT or self.loops > _MAX_LOOPS:
            raise Unsupported
        start = len(self.lines)
        yield
        self.flush()
        if len(self.lines) == start:
            self.emit("pass")
        self.indent -= 1
        self.loops -= loop
        self.pending = outer
