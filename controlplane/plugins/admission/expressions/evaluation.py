"""Evaluating the expressions of one webhook or policy for one request, within its budget.

Expressions are evaluated at once, authorizers answer when they can: an expression that needs an answer that is not
there yet is begun again once it is. Each question is asked once a request.

Source: kubernetes/apiserver ``pkg/admission/plugin/cel`` (activation.go) and ``plugin/authorizer``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from controlplane.apimachinery.service_accounts import groups_of, username_of
from controlplane.apimachinery.user import AUTHENTICATED_GROUP, UserInfo
from controlplane.apis.admissionregistration.expressions import Compiled
from controlplane.apiserver.admission.api import Attributes
from controlplane.apiserver.authorization.api import Attributes as Question
from controlplane.apiserver.authorization.api import Authorizer
from controlplane.apiserver.authorization.api import Decision as Verdict
from controlplane.cel.errors import CostExceeded, EvalError
from controlplane.cel.library.authz import Authorizer as CELAuthorizer
from controlplane.cel.library.authz import Check, Decision, ResourceCheck
from controlplane.cel.values import Value

__all__ = ["BUDGET", "CONDITIONS_BUDGET", "Budget", "Evaluation", "OutOfBudget", "Outcome", "Permissions"]

CALL_LIMIT = 1_000_000
"""What one expression may cost. Upstream's figures, also the following."""
BUDGET = 10_000_000
CONDITIONS_BUDGET = 2_500_000


class OutOfBudget(Exception):
    """All expressions together have cost too much."""

    def __init__(self) -> None:
        super().__init__("validation failed due to running out of cost budget, no further validation rules will be run")


class Budget:
    """What expressions may still cost together."""

    __slots__ = ("left",)

    def __init__(self, left: int = BUDGET) -> None:
        self.left = left

    def charge(self, cost: int) -> None:
        """Take from it.

        Raises:
            OutOfBudget: there is not so much.
        """
        if cost > self.left:
            raise OutOfBudget
        self.left -= cost


class _Unanswered(BaseException):
    """A question has to be asked first. Nothing that evaluates may take it for an error of the expression."""

    def __init__(self, check: Check) -> None:
        super().__init__()
        self.check = check


class Permissions:
    """What authorizers have said about one request's user."""

    __slots__ = ("_answers", "_authorizer", "_user", "value")

    def __init__(self, authorizer: Authorizer, user: UserInfo) -> None:
        self._authorizer, self._user = authorizer, user
        self._answers: dict[Check, Decision] = {}
        self.value = CELAuthorizer(self._decide)

    def _decide(self, check: Check) -> Decision:
        known = self._answers.get(check)
        if known is None:
            raise _Unanswered(check)
        return known

    async def ask(self, check: Check) -> None:
        """Get one answer."""
        user = self._user
        if check.account is not None:
            namespace, name = check.account
            groups = (*groups_of(namespace), AUTHENTICATED_GROUP)
            user = UserInfo(name=username_of(namespace, name), groups=groups)
        if check.is_resource:
            question = Question(
                user,
                check.verb,
                group=check.group,
                version="*",
                resource=check.resource,
                subresource=check.subresource,
                namespace=check.namespace,
                name=check.name,
                field_selector=check.field_selector,
                label_selector=check.label_selector,
            )
        else:
            question = Question(user, check.verb, is_resource=False, path=check.path)
        try:
            verdict, reason = await self._authorizer.authorize(question)
        except Exception as error:  # noqa: BLE001  # expressions ask for it: authorizer...errored()
            self._answers[check] = Decision(allowed=False, error=str(error) or type(error).__name__)
            return
        self._answers[check] = Decision(verdict is Verdict.ALLOW, reason)


class Outcome(NamedTuple):
    """What an expression has given: a value, or an error."""

    value: Value = None
    error: str = ""


class Evaluation:
    """The values that one request's expressions see.

    Args:
        values: of ``object``, ``oldObject``, ``request``, ``namespaceObject`` and ``params``.
        variables: of the policy; each is evaluated when it is first used.
    """

    def __init__(
        self,
        values: Mapping[str, Value],
        permissions: Permissions,
        attributes: Attributes,
        *,
        variables: Sequence[tuple[str, Compiled]] = (),
    ) -> None:
        resource = attributes.resource
        self._permissions, self._variables_cost = permissions, 0
        self._values: dict[str, Value] = {
            "params": None,
            **values,
            "authorizer": permissions.value,
            "authorizer.requestResource": ResourceCheck(
                authorizer=permissions.value,
                group=resource.group,
                resource=resource.resource,
                subresource=attributes.subresource,
                namespace=attributes.namespace,
                name=attributes.name,
            ),
            "variables": {name: self._lazily(name, compiled) for name, compiled in variables},
        }

    async def value(self, compiled: Compiled, budget: Budget) -> Outcome:
        """Evaluate an expression; what it costs, with the variables that it is the first to use, is charged.

        Raises:
            OutOfBudget.
        """
        if compiled.program is None:
            return Outcome(error=f"compilation error: {compiled.error}")
        while True:
            try:
                return self._evaluate(compiled, budget)
            except _Unanswered as unanswered:
                await self._permissions.ask(unanswered.check)

    def _evaluate(self, compiled: Compiled, budget: Budget) -> Outcome:
        program = compiled.program
        assert program is not None
        self._variables_cost = 0
        error, value = "", None
        try:
            value, cost = program.run(CALL_LIMIT, *self._of(program.environment.variables))
        except EvalError as failure:
            error, cost = str(failure), failure.cost
        except CostExceeded as failure:
            error, cost = str(failure), CALL_LIMIT + 1
        budget.charge(self._variables_cost)
        budget.charge(cost)
        if error:
            return Outcome(error=f"expression '{compiled.source}' resulted in error: {error}")
        return Outcome(value)

    def _of(self, names: Mapping[str, Any]) -> list[Value]:
        values = self._values
        return [values[name] for name in names]

    def _lazily(self, name: str, compiled: Compiled) -> Callable[[], Value]:
        """A variable: evaluated at its first use, and not again after it has a value or an error."""
        known: list[Value] = []
        failed: list[str] = []

        def value() -> Value:
            if known:
                return known[0]
            if not failed:
                try:
                    known.append(self._variable(compiled))
                    return known[0]
                except EvalError as error:
                    failed.append(str(error))
            verb = "compile" if compiled.program is None else "evaluate"
            raise EvalError(f'composited variable "{name}" fails to {verb}: {failed[0]}')

        return value

    def _variable(self, compiled: Compiled) -> Value:
        program = compiled.program
        if program is None:
            raise EvalError(compiled.error)
        try:
            value, cost = program.run(CALL_LIMIT, *self._of(program.environment.variables))
        except EvalError as error:
            self._variables_cost += error.cost
            raise
        except CostExceeded as error:
            self._variables_cost += CALL_LIMIT + 1
            raise EvalError(str(error)) from None
        self._variables_cost += cost
        return value
