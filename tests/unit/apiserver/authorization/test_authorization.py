"""Who may do what where there are no roles: masters everything, everybody health and version, nobody else anything."""

from __future__ import annotations

import pytest

from controlplane.apimachinery.user import ANONYMOUS, UserInfo
from controlplane.apiserver.authorization.always import AlwaysAllow, AlwaysDeny
from controlplane.apiserver.authorization.api import Attributes, Authorizer, Decision, DeniedByFailure, attributes_of
from controlplane.apiserver.authorization.masters import MastersAuthorizer
from controlplane.apiserver.authorization.metrics import DECISIONS
from controlplane.apiserver.authorization.public_info import PublicInfoAuthorizer
from controlplane.apiserver.authorization.union import UnionAuthorizer
from controlplane.client.request_info import parse_request_info
from tests.aio import run

ADMIN = UserInfo(name="admin", groups=("system:masters", "system:authenticated"))
ALICE = UserInfo(name="alice", groups=("dev", "system:authenticated"))
CHAIN = UnionAuthorizer([("masters", MastersAuthorizer()), ("public-info", PublicInfoAuthorizer())])


def decide(authorizer: Authorizer, user: UserInfo, method: str, path: str) -> tuple[Decision, str]:
    return run(authorizer.authorize(attributes_of(user, parse_request_info(method, path))))


@pytest.mark.parametrize(
    ("user", "method", "path", "decision"),
    [
        (ADMIN, "DELETE", "/api/v1/namespaces/a/configmaps", Decision.ALLOW),
        (ADMIN, "POST", "/anything", Decision.ALLOW),
        (ALICE, "GET", "/api/v1/namespaces", Decision.NO_OPINION),
        (ALICE, "GET", "/api", Decision.NO_OPINION),
        *[
            (user, "GET", path, Decision.ALLOW)
            for user in (ALICE, ANONYMOUS)
            for path in ("/healthz", "/livez", "/readyz", "/version", "/version/")
        ],
        *[
            (ANONYMOUS, method, path, Decision.NO_OPINION)
            for method, path in [
                ("HEAD", "/healthz"),
                ("POST", "/healthz"),
                ("GET", "/healthz/"),
                ("GET", "/healthz/ping"),
                ("GET", "/livez/ping"),
                ("GET", "/metrics"),
                ("GET", "/"),
                ("GET", "/openapi/v2"),
                ("GET", "/api/v1/healthz"),
            ]
        ],
    ],
)
def test_the_chain(user: UserInfo, method: str, path: str, decision: Decision) -> None:
    assert decide(CHAIN, user, method, path) == (decision, "")


def test_attributes_are_the_requests() -> None:
    info = parse_request_info(
        "GET", "/apis/apps/v1/namespaces/a/deployments", "fieldSelector=metadata.name%3Dx&labelSelector=a%3Db"
    )
    assert attributes_of(ALICE, info) == Attributes(
        user=ALICE,
        verb="list",
        is_resource=True,
        group="apps",
        version="v1",
        resource="deployments",
        namespace="a",
        name="x",
        path="/apis/apps/v1/namespaces/a/deployments",
        field_selector="metadata.name=x",
        label_selector="a=b",
    )


def test_always() -> None:
    assert decide(AlwaysAllow(), ANONYMOUS, "DELETE", "/api/v1/nodes") == (Decision.ALLOW, "")
    assert decide(AlwaysDeny(), ADMIN, "GET", "/api") == (Decision.NO_OPINION, "Everything is forbidden.")


class Fixed:
    def __init__(self, decision: Decision, reason: str = "") -> None:
        self._answer = (decision, reason)

    async def authorize(self, _attributes: Attributes) -> tuple[Decision, str]:
        return self._answer


class Failing:
    async def authorize(self, _attributes: Attributes) -> tuple[Decision, str]:
        raise ConnectionError("webhook down")


ALLOW, DENY = Fixed(Decision.ALLOW, "because"), Fixed(Decision.DENY, "never")


@pytest.mark.parametrize(
    ("chain", "answer"),
    [
        pytest.param([ALLOW, DENY], (Decision.ALLOW, "because"), id="first allows"),
        pytest.param([DENY, ALLOW], (Decision.DENY, "never"), id="first denies"),
        pytest.param([AlwaysDeny(), ALLOW], (Decision.ALLOW, "because"), id="no opinion is passed over"),
        pytest.param([Failing(), ALLOW], (Decision.ALLOW, "because"), id="a failure is passed over"),
        pytest.param([Failing(), DENY], (Decision.DENY, "never"), id="a failure is passed over, denied"),
        pytest.param(
            [AlwaysDeny(), Fixed(Decision.NO_OPINION), Fixed(Decision.NO_OPINION, "no rule")],
            (Decision.NO_OPINION, "Everything is forbidden.\nno rule"),
            id="reasons are joined",
        ),
        pytest.param([], (Decision.NO_OPINION, ""), id="nobody"),
    ],
)
def test_union(chain: list[Authorizer], answer: tuple[Decision, str]) -> None:
    union = UnionAuthorizer([(str(number), authorizer) for number, authorizer in enumerate(chain)])
    assert decide(union, ALICE, "GET", "/api") == answer


def test_only_the_first_says_of_whom_it_allows_all() -> None:
    assert CHAIN.allows_all(ADMIN)
    assert not CHAIN.allows_all(ALICE)
    masters = ("masters", MastersAuthorizer())
    assert not UnionAuthorizer([("deny", AlwaysDeny()), masters]).allows_all(ADMIN)
    assert not UnionAuthorizer([masters], {"masters": "Masters"}).allows_all(ADMIN), "its decisions are to be counted"


def test_a_failure_that_nobody_overrules_is_raised() -> None:
    union = UnionAuthorizer([("webhook", Failing()), ("deny", AlwaysDeny())])
    with pytest.raises(ConnectionError, match="webhook down"):
        decide(union, ALICE, "GET", "/api")


@pytest.mark.parametrize("names", [["a", "a"], [""]])
def test_authorizers_have_names_of_their_own(names: list[str]) -> None:
    with pytest.raises(ValueError, match="authorizers must have names of their own"):
        UnionAuthorizer([(name, AlwaysAllow()) for name in names])


def test_terminal_decisions_are_counted_of_those_that_are_configured() -> None:
    class Denies:
        async def authorize(self, attributes: Attributes) -> tuple[Decision, str]:
            decision = Decision.DENY if attributes.path == "/no" else Decision.NO_OPINION
            return decision, ""

    class Fails:
        async def authorize(self, attributes: Attributes) -> tuple[Decision, str]:
            raise DeniedByFailure(attributes.path)

    def counted() -> list[float]:
        labels = (
            ("Webhook", "hook", "denied"),
            ("AlwaysAllow", "alwaysallow", "allowed"),
            ("Webhook", "last", "denied"),
        )
        return [DECISIONS.labels_cached(label).value for label in labels]

    before = counted()
    chain = UnionAuthorizer(
        [("masters", MastersAuthorizer()), ("hook", Denies()), ("alwaysallow", AlwaysAllow())],
        {"hook": "Webhook", "alwaysallow": "AlwaysAllow"},
    )
    decide(chain, ADMIN, "GET", "/no")  # by one that nobody configured
    decide(chain, ALICE, "GET", "/no")
    decide(chain, ALICE, "GET", "/yes")
    decide(chain, ALICE, "GET", "/yes")
    with pytest.raises(DeniedByFailure):
        decide(UnionAuthorizer([("last", Fails())], {"last": "Webhook"}), ALICE, "GET", "/yes")
    assert [after - was for was, after in zip(before, counted(), strict=True)] == [1, 2, 1]
