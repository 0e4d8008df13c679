"""From source to something that evaluates: parse, check, compile on first use.

environment = Environment([STANDARD], variables={"self": map_of(STRING, DYN)})
program = compile_expression("self.a + self.b > 3", environment)
program.evaluate({"self": {"a": 1, "b": 4}})   # True
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from controlplane.cel.ast import Expr
from controlplane.cel.check.checker import check
from controlplane.cel.check.validators import validate
from controlplane.cel.codegen.program import Failed, generate
from controlplane.cel.codegen.writer import ERRORS, Unsuited
from controlplane.cel.environment import Environment
from controlplane.cel.errors import CompileError, CostExceeded, EvalError
from controlplane.cel.evaluate.constants import ProgramError, fold_all
from controlplane.cel.evaluate.plan import Plan, plan
from controlplane.cel.syntax.parser import parse
from controlplane.cel.types import Type
from controlplane.cel.values import Value

__all__ = ["CompileError", "CostExceeded", "EvalError", "Program", "ProgramError", "compile_expression"]

NO_LIMIT = 2**63
STEPWISE_LIMIT = 100_000
"""What an expression that cannot be compiled may cost: evaluated step by step it takes a microsecond a unit. Beyond it
the error is that the limit was exceeded."""
RETOLD_LIMIT = 10_000
"""What an evaluation that failed may have cost to be done again step by step, for the error's exact words."""


class Program:
    """A checked expression. Evaluating is safe from any number of threads, and never changes the values given."""

    __slots__ = ("_exact", "_fast", "_plan", "environment", "expr", "source")

    def __init__(self, source: str, expr: Expr, environment: Environment) -> None:
        self.source = source
        self.expr = expr
        self.environment = environment
        self._plan: Plan | None = None
        self._fast: Callable[..., tuple[Value, int]] | None = None
        self._exact: Callable[..., tuple[Value, int]] | None = None

    @property
    def type(self) -> Type:
        """The type of its value."""
        return self.expr.type

    def evaluate(self, variables: Mapping[str, Value], *, limit: int = NO_LIMIT) -> Value:
        """The value, of variables by name.

        Raises:
            EvalError: there is none.
            CostExceeded: it would cost more than ``limit``.
        """
        return self.run(limit, *(variables[name] for name in self.environment.variables))[0]

    def run(self, limit: int, *values: Value) -> tuple[Value, int]:
        """The value and what it cost, of the variables' values in the environment's order.

        Raises:
            EvalError: there is no value.
            CostExceeded: it would cost more than ``limit``.
        """
        fast = self._fast or self.function
        try:
            return fast(limit, *values)
        except (*ERRORS, Unsuited):  # an error: which, or is it absorbed?
            pass
        except RecursionError:  # a value is nested deeper than Python goes
            raise CostExceeded from None
        return self._run_exactly(limit, *values)

    def _run_exactly(self, limit: int, *values: Value) -> tuple[Value, int]:
        try:
            return self.exact(limit, *values)
        except Failed as failed:
            error, cost = failed.error, failed.cost
        except Unsuited:
            return self._run_stepwise(limit, *values)
        except RecursionError:
            raise CostExceeded from None
        if cost <= RETOLD_LIMIT:
            return self.plan.run(limit, *values)
        told = error if isinstance(error, EvalError) else EvalError(_told(error))
        told.cost = cost
        raise told from None

    def _run_stepwise(self, limit: int, *values: Value) -> tuple[Value, int]:
        return self.plan.run(min(limit, STEPWISE_LIMIT), *values)

    @property
    def function(self) -> Callable[..., tuple[Value, int]]:
        """The compiled function ``(limit, *values) -> (value, cost)``; an error of any kind means: ask ``exact``."""
        if self._fast is None:
            self._fast = generate(self.expr, self.environment) or self._run_stepwise
        return self._fast

    @property
    def exact(self) -> Callable[..., tuple[Value, int]]:
        """The compiled function that absorbs errors as the language does; it raises ``Failed`` or ``Unsuited``."""
        if self._exact is None:
            self._exact = generate(self.expr, self.environment, exact=True) or self._run_stepwise
        return self._exact

    @property
    def plan(self) -> Plan:
        """The same step by step: slower, and exact about errors."""
        if self._plan is None:
            self._plan = plan(self.expr, self.environment)
        return self._plan


def _told(error: Exception) -> str:
    """An error of compiled code, nearly in cel-go's words."""
    match error:
        case KeyError():
            return f"no such key: {error.args[0]}"
        case IndexError():
            return "index out of bounds"
        case _:
            return "no such overload"


def compile_expression(source: str, environment: Environment) -> Program:
    """Parse and check an expression.

    Raises:
        CompileError: with cel-go's text.
        ProgramError: a constant part has no value.
    """
    expr = check(parse(source, environment.macros), environment, source)
    if environment.homogeneous_literals:
        validate(expr, source)
        fold_all(expr)
    return Program(source, expr, environment)
