"""The compiled function of an expression."""

from __future__ import annotations

from collections.abc import Callable

from controlplane.cel.ast import Expr
from controlplane.cel.codegen.generator import Generator
from controlplane.cel.codegen.writer import Unsupported
from controlplane.cel.environment import Environment
from controlplane.cel.values import Value

__all__ = ["generate", "source_of"]

Function = Callable[..., tuple[Value, int]]


def source_of(expr: Expr, environment: Environment) -> tuple[str, dict[str, Value]] | None:
    """``def program(L, v0, v1, ...)`` as Python source, and the constants it uses; None if it cannot be made."""
    writer = Generator(environment)
    try:
        result = writer.value(expr)
    except (Unsupported, RecursionError):
        return None
    static = writer.pending
    head = f"def program({', '.join(['L', *writer.parameters.values()])}):"
    if writer.counting:
        body = [" c = 0", *writer.lines, f" c += {static}", " if c > L: raise X", f" return {result}, c"]
    else:
        body = [f" if L < {static}: raise X", *writer.lines, f" return {result}, {static}"]
    return "\n".join([head, *body]), writer.constants


def generate(expr: Expr, environment: Environment) -> Function | None:
    """Compile a checked expression; None if it must be evaluated step by step."""
    made = source_of(expr, environment)
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
