from typing import Any

import pytest

from controlplane.cel.environment import Environment
from controlplane.cel.errors import CostExceeded, EvalError
from controlplane.cel.library.authz import Authorizer, Check, Decision, ServiceAccount
from controlplane.cel.library.kubernetes import libraries
from controlplane.cel.program import compile_expression
from controlplane.cel.standard.library import STANDARD
from controlplane.cel.types import object_type

ENVIRONMENT = Environment(
    [STANDARD, *libraries()], variables={"authorizer": object_type("kubernetes.authorization.Authorizer")}
)


def evaluate(expression: str, decision: Decision | None = None) -> tuple[Any, int, list[Check]]:
    """The value, its cost, and what was asked."""
    asked: list[Check] = []

    def decide(check: Check) -> Decision:
        asked.append(check)
        return decision or Decision(allowed=True)

    value, cost = compile_expression(expression, ENVIRONMENT).run(1_000_000, Authorizer(decide))
    return value, cost, asked


@pytest.mark.parametrize(
    ("expression", "check"),
    [
        pytest.param(
            "authorizer.path('/metrics').check('get').allowed()", Check(None, "get", path="/metrics"), id="path"
        ),
        pytest.param(
            "authorizer.group('apps').resource('deployments').subresource('scale').namespace('n').name('x')"
            ".check('update').allowed()",
            Check(None, "update", "", True, "apps", "deployments", "scale", "n", "x"),
            id="resource",
        ),
        pytest.param(
            "authorizer.serviceAccount('n', 'robot').group('').resource('pods').check('list').allowed()",
            Check(ServiceAccount("n", "robot"), "list", "", True, "", "pods"),
            id="account",
        ),
        pytest.param(
            "authorizer.group('').resource('pods').fieldSelector('a=b').labelSelector('c').check('list').allowed()",
            Check(None, "list", "", True, "", "pods", field_selector="a=b", label_selector="c"),
            id="selectors",
        ),
    ],
)
def test_what_is_asked(expression: str, check: Check) -> None:
    assert evaluate(expression)[::2] == (True, [check])


def test_what_a_decision_tells() -> None:
    ask = "authorizer.path('/x').check('get')"
    told = Decision(allowed=False, reason="r", error="e")
    assert evaluate(f"[{ask}.reason(), {ask}.error()]", told)[0] == ["r", "e"]
    assert evaluate(f"{ask}.errored()", told)[0] is True
    assert evaluate(f"{ask}.errored()")[0] is False


def test_an_expression_can_afford_two_checks() -> None:
    ask = "authorizer.path('/x').check('get').allowed()"
    assert evaluate(ask)[1] == 350_003
    assert evaluate(f"{ask} && {ask}")[0] is True
    with pytest.raises(CostExceeded):
        evaluate(f"{ask} && {ask} && {ask}")


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("authorizer.path(' ').check('get').allowed()", "path must not be empty"),
        ("authorizer.group('').resource('').check('get').allowed()", "resource must not be empty"),
        ("authorizer.serviceAccount('n', 'No').path('/').check('get').allowed()", "Invalid service account name"),
        ("authorizer.serviceAccount('a.b', 'x').path('/').check('get').allowed()", "Invalid service account namespace"),
    ],
)
def test_what_cannot_be_asked(expression: str, message: str) -> None:
    with pytest.raises(EvalError, match=message):
        evaluate(expression)
