"""The compiled function of an expression."""

from __future__ import annotations

from collections.abc import Callable

from controlplane.cel.ast import Expr
from controlplane.cel.codegen.generator import Generator
from controlplane.cel.codegen.writer import Unsupported
from controlplane.cel.environment import Environment
from controlplane.cel.values import Value

__all__ = ["Failed", "generate", "source_of"]

Function = Callable[..., tuple[Value, int]]


MAX_LINES = 1500
"""A longer function takes Python over a twentieth of a second to compile."""


class Failed(Exception):
    """An exact evaluation has no value: the error, and the cost until then."""

    def __init__(self, error: Exception, cost: int) -> None:
        super().__init__()
        self.error, self.cost = error, cost


def source_of(expr: Expr, environment: Environment, *, exact: bool = False) -> tuple[str, dict[str, Value]] | None:
    """``def program(L, v0, v1, ...)`` as Python source, and the constants it uses; None if it cannot be made."""
    writer = Generator(environment, exact=exact)
    writer.indent += exact
    try:
        result = writer.value(expr)
    except (Unsupported, RecursionError):
        return None
    static = writer.pending
    head = f"def program({', '.join(['L', *writer.parameters.values()])}):"
    if len(writer.lines) > MAX_LINES:
        return None
    if exact:
        lines = writer.lines or ["  pass"]
        failed = [" except E as x: raise F(x.with_traceback(None), c) from None"]
        body = [" c = n = 0", " try:", *lines, *failed, f" c += {static}", " if c > L: raise X", f" return {result}, c"]
        writer.constants["F"] = Failed
    elif writer.counting:
        body = [" c = 0", *writer.lines, f" c += {static}", " if c > L: raise X", f" return {result}, c"]
    else:
        body = [f" if L < {static}: raise X", *writer.lines, f" return {result}, {static}"]
    return "\n".join([head, *body]), writer.constants


def generate(expr: Expr, environment: Environment, *, exact: bool = False) -> Function | None:
    """Compile a checked expression; None if it must be evaluated step by step.

    The function stops at the first error, or if it is ``exact`` absorbs errors and raises ``Failed``.
    """
    made = source_of(expr, environment, exact=exact)
    if made is None:
        return None
    source, namespace = made
    try:
        code = compile(source, "<cel>", "exec")
    except (SyntaxError, RecursionError, MemoryError):
        return None  # nested more deeply than Python's parser goes
    exec(code, namespace)  # noqa: S102  (our own text: user's strings come in as repr() and as constants)
    function: Function = namespace["program"]
    return function
