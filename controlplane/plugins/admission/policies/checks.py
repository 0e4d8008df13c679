"""The checks of a validating policy: its expressions, and what they decide.

Source: kubernetes/apiserver ``pkg/admission/plugin/policy/validating/validator.go``.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import NamedTuple

from controlplane.apis.admissionregistration.expressions import Compiled
from controlplane.plugins.admission.expressions.conditions import Conditions, conditions_hold
from controlplane.plugins.admission.expressions.evaluation import Budget, Evaluation, OutOfBudget
from controlplane.plugins.admission.policies.index import Policy
from controlplane.plugins.admission.policies.invocation import (
    Frame,
    compiled_conditions,
    compiled_variables,
    new_compiler,
)

__all__ = ["Annotation", "Checks", "Decision", "compile_checks", "run_checks"]

_LONGEST_MESSAGE_BYTES = 5 * 1024


class _Check(NamedTuple):
    expression: Compiled
    message_expression: Compiled | None
    message: str
    reason: str


class Checks(NamedTuple):
    """A policy's expressions. ``annotations``: by key."""

    variables: Sequence[tuple[str, Compiled]]
    conditions: Conditions
    checks: Sequence[_Check]
    annotations: Sequence[tuple[str, Compiled]]
    fails_open: bool


class Decision(NamedTuple):
    """What one check says. ``denies``: the request may not be; ``error``: because it could not be told (or, if it does
    not deny, although); ``number``: which check, from 0."""

    denies: bool
    message: str = ""
    reason: str = ""
    error: bool = False
    seconds: float = 0.0
    number: int = 0


class Annotation(NamedTuple):
    """What is to be noted for the audit, or why it cannot be said."""

    key: str
    value: str = ""
    error: str = ""
    seconds: float = 0.0


def compile_checks(policy: Policy[Checks]) -> Checks:
    """Make a policy's expressions ready."""
    spec = policy.spec
    compiler = new_compiler(spec)
    variables = compiled_variables(spec, compiler)
    checks = []
    for given in spec.get("validations") or ():
        source = given.get("messageExpression") or ""
        message = compiler.message(source) if source else None
        expression = compiler.condition(given["expression"])
        checks.append(_Check(expression, message, given.get("message") or "", given.get("reason") or "Invalid"))
    return Checks(
        variables,
        compiled_conditions(spec, compiler, name=policy.name),
        checks,
        [(given["key"], compiler.annotation(given["valueExpression"])) for given in spec.get("auditAnnotations") or ()],
        policy.fails_open,
    )


async def run_checks(checks: Checks, frame: Frame) -> tuple[list[Decision], list[Annotation]]:
    """What a policy says about a request; nothing, if its conditions do not hold."""
    evaluation = frame.evaluation(checks.variables)
    holds, error = await conditions_hold(checks.conditions, evaluation, frame.attributes.operation.value)
    if error:
        return [_failed(checks, error)], []
    if not holds:
        return [], []
    try:
        decisions = await _decide(checks, evaluation)
        return decisions, await _annotate(checks, evaluation)
    except OutOfBudget as out:
        return [_failed(checks, str(out))], []


def _failed(checks: Checks, error: str, *, seconds: float = 0.0, number: int = 0) -> Decision:
    return Decision(not checks.fails_open, error, error=True, seconds=seconds, number=number)


async def _decide(checks: Checks, evaluation: Evaluation) -> list[Decision]:
    budget = Budget()
    results = []
    for check in checks.checks:
        began = perf_counter()
        results.append((await evaluation.value(check.expression, budget), perf_counter() - began))
    decisions = []
    for number, (check, ((value, error), seconds)) in enumerate(zip(checks.checks, results, strict=True)):
        if error:
            decisions.append(_failed(checks, error, seconds=seconds, number=number))
        elif value is True:
            decisions.append(Decision(denies=False, seconds=seconds, number=number))
        else:
            decisions.append(await _denied(checks, check, evaluation, budget, number=number))
    return decisions


async def _denied(checks: Checks, check: _Check, evaluation: Evaluation, budget: Budget, *, number: int) -> Decision:
    message = ""
    if check.message_expression is not None:
        try:
            value, _ = await evaluation.value(check.message_expression, budget)
        except OutOfBudget as error:
            return _failed(checks, f"failed messageExpression: {error}", number=number)
        message = _usable(value) if isinstance(value, str) else ""
    message = message or check.message.strip() or f"failed expression: {check.expression.source.strip()}"
    return Decision(denies=True, message=message, reason=check.reason, number=number)


def _usable(message: str) -> str:
    """A message, unless it is too long or has lines."""
    message = message.strip()
    return "" if len(message.encode()) > _LONGEST_MESSAGE_BYTES or "\n" in message else message


async def _annotate(checks: Checks, evaluation: Evaluation) -> list[Annotation]:
    budget = Budget()
    annotations = []
    for key, compiled in checks.annotations:
        began = perf_counter()
        value, error = await evaluation.value(compiled, budget)
        seconds = perf_counter() - began
        if error and not checks.fails_open:
            annotations.append(Annotation(key, error=error, seconds=seconds))
        elif not error and isinstance(value, str) and value.strip():
            annotations.append(Annotation(key, value.strip(), seconds=seconds))
    return annotations
