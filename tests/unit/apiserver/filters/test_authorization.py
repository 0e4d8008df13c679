"""What is not allowed is refused, and what cannot be decided is no answer of ours."""

from __future__ import annotations

import pytest

from controlplane.apimachinery.status import APIError
from controlplane.apiserver.authorization.api import Attributes, Decision
from controlplane.apiserver.filters.authorization import with_authorization
from controlplane.client.request import Response
from tests.aio import run
from tests.unit.apiserver.filters.harness import answering, request


class Answers:
    """Decides always the same."""

    def __init__(self, decision: Decision, reason: str = "", error: Exception | None = None) -> None:
        self._answer, self._error = (decision, reason), error

    async def authorize(self, _: Attributes) -> tuple[Decision, str]:
        if self._error is not None:
            raise self._error
        return self._answer


def ask(authorizer: Answers) -> Response:
    async def scenario() -> Response:
        return await with_authorization(answering(), authorizer=authorizer)(request())

    return run(scenario())


def test_allowed() -> None:
    assert ask(Answers(Decision.ALLOW)).status == 200


@pytest.mark.parametrize("decision", [Decision.DENY, Decision.NO_OPINION])
def test_forbidden(decision: Decision) -> None:
    with pytest.raises(APIError) as caught:
        ask(Answers(decision, "not today"))
    assert caught.value.code == 403
    assert caught.value.message == (
        'configmaps "a" is forbidden: User "alice" cannot get resource "configmaps" in API group "" '
        'in the namespace "ns": not today'
    )


def test_authorizer_that_fails_allows_nothing() -> None:
    response = ask(Answers(Decision.ALLOW, error=RuntimeError("webhook <down>")))
    assert response.status == 500
    assert response.content().endswith(b"webhook &lt;down&gt;\n")
