"""Who may be whom: what is asked of the authorizer, in which order, and what is told of a refusal."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from multidict import CIMultiDict

from controlplane.apimachinery.status import APIError
from controlplane.apimachinery.user import UserInfo
from controlplane.apiserver.authorization.api import Attributes, Decision
from controlplane.apiserver.filters.impersonation import IMPERSONATION, Impersonation, with_impersonation
from controlplane.client.request import Handler, Request, Response
from tests.aio import run as run_coroutine
from tests.unit.apiserver.filters.harness import answering, request

ROBOT = UserInfo(
    name="system:serviceaccount:ns:robot",
    groups=("system:authenticated",),
    extra={"authentication.kubernetes.io/node-name": ("n1",), "authentication.kubernetes.io/pod-name": ("p",)},
)
CONFIGMAP = ("get", "configmaps", "a")


class Rules:
    """Allows what is listed, as (verb, resource or subresource's name, name); ``asked`` is what it was asked."""

    def __init__(self, *allowed: tuple[str, str, str]) -> None:
        self.allowed = set(allowed)
        self.asked: list[tuple[str, str, str]] = []

    async def authorize(self, attributes: Attributes) -> tuple[Decision, str]:
        resource = "/".join(part for part in (attributes.resource, attributes.subresource) if part)
        question = (attributes.verb, resource, attributes.name)
        self.asked.append(question)
        return (Decision.ALLOW, "") if question in self.allowed else (Decision.NO_OPINION, "")


def run(handle: Handler, made: Request) -> Response:
    async def handled() -> Response:
        return await handle(made)

    return run_coroutine(handled())


def filtered(rules: Rules) -> tuple[Handler, list[Request]]:
    seen: list[Request] = []
    return with_impersonation(answering(seen=seen), authorizer=rules), seen


def asking(*headers: tuple[str, str], user: UserInfo = ROBOT) -> Request:
    made = request(user=user)
    made.headers = CIMultiDict([("Accept", "*/*"), *(("Impersonate-" + name, value) for name, value in headers)])
    return made


def impersonated(rules: Rules, *headers: tuple[str, str]) -> Request:
    handle, seen = filtered(rules)
    run(handle, asking(*headers))
    return seen[0]


def refusal(rules: Rules, *headers: tuple[str, str]) -> str:
    handle, seen = filtered(rules)
    with pytest.raises(APIError) as caught:
        run(handle, asking(*headers))
    assert seen == []
    return caught.value.message


LEGACY = (("impersonate", "users", "jane"), ("impersonate", "groups", "dev"), ("impersonate", "userextras/team", "red"))


def test_legacy_impersonation_asks_for_each_part() -> None:
    rules = Rules(*LEGACY, ("impersonate", "uids", "7"))
    made = impersonated(rules, ("User", "jane"), ("Group", "dev"), ("Uid", "7"), ("Extra-Team", "red"))
    assert made.user == UserInfo(name="jane", uid="7", groups=("dev", "system:authenticated"), extra={"team": ("red",)})
    assert made.values[IMPERSONATION] == Impersonation(ROBOT, "")
    assert list(made.headers) == ["Accept"]
    assert rules.asked[0] == ("impersonate-on:user-info:get", "configmaps", "a")


@pytest.mark.parametrize(
    ("headers", "allowed", "groups"),
    [
        pytest.param(
            (("User", "jane"),),
            [("impersonate-on:user-info:get", "configmaps", "a"), ("impersonate:user-info", "users", "jane")],
            ("system:authenticated",),
            id="user",
        ),
        pytest.param(
            (("User", "system:anonymous"),),
            [
                ("impersonate-on:user-info:get", "configmaps", "a"),
                ("impersonate:user-info", "users", "system:anonymous"),
            ],
            ("system:unauthenticated",),
            id="anonymous",
        ),
        pytest.param(
            (("User", "system:serviceaccount:other:bot"),),
            [
                ("impersonate-on:serviceaccount:get", "configmaps", "a"),
                ("impersonate:serviceaccount", "serviceaccounts", "bot"),
            ],
            ("system:serviceaccounts", "system:serviceaccounts:other", "system:authenticated"),
            id="service account",
        ),
        pytest.param(
            (("User", "system:node:n2"),),
            [("impersonate-on:arbitrary-node:get", "configmaps", "a"), ("impersonate:arbitrary-node", "nodes", "n2")],
            ("system:nodes", "system:authenticated"),
            id="any node",
        ),
        pytest.param(
            (("User", "system:node:n1"),),
            [("impersonate-on:associated-node:get", "configmaps", "a"), ("impersonate:associated-node", "nodes", "*")],
            ("system:nodes", "system:authenticated"),
            id="the node of one's own token",
        ),
        pytest.param(
            (("User", "jane"), *(("Group", f"g{i}") for i in range(4))),
            [
                ("impersonate-on:user-info:get", "configmaps", "a"),
                ("impersonate:user-info", "users", "jane"),
                ("impersonate:user-info", "groups", "*"),
            ],
            ("g0", "g1", "g2", "g3", "system:authenticated"),
            id="many groups at once",
        ),
    ],
)
def test_constrained_impersonation(
    headers: Sequence[tuple[str, str]], allowed: Sequence[tuple[str, str, str]], groups: tuple[str, ...]
) -> None:
    rules = Rules(*allowed)
    made = impersonated(rules, *headers)
    assert made.user.groups == groups
    assert made.values[IMPERSONATION].constraint == allowed[-1][0]
    for missing in allowed:
        refusal(Rules(*(rule for rule in allowed if rule != missing)), *headers)


CONSTRAINED = (("impersonate-on:user-info:get", "configmaps", "a"), ("impersonate:user-info", "users", "jane"))


@pytest.mark.parametrize(
    ("headers", "why"),
    [
        ((("Group", "system:masters"),), "impersonating the system:masters group is not allowed"),
        ((("Group", ""),), "impersonating the empty string group is not allowed"),
        ((("Extra-Team", "red"),), "impersonating an invalid key in extra is not allowed: extra.key: Invalid value"),
        ((("Extra-Acme.com%2fTeam", ""),), "impersonating the empty string value in extra is not allowed"),
    ],
)
def test_what_constrained_impersonation_allows_nobody(headers: Sequence[tuple[str, str]], why: str) -> None:
    assert why in refusal(Rules(*CONSTRAINED), ("User", "jane"), *headers)


def test_the_mode_that_was_allowed_last_is_tried_first_and_its_refusal_is_told() -> None:
    rules = Rules(*LEGACY)
    handle, _ = filtered(rules)
    run(handle, asking(("User", "jane")))
    rules.asked.clear()
    run(handle, asking(("User", "jane")))
    assert rules.asked == [("impersonate", "users", "jane")]
    with pytest.raises(APIError) as caught:
        run(handle, asking(("User", "john")))
    assert caught.value.message.startswith('users "john" is forbidden')


def test_an_authorizer_that_fails_allows_nothing() -> None:
    class Broken:
        async def authorize(self, _: Attributes) -> tuple[Decision, str]:
            raise OSError("no webhook")

    with pytest.raises(APIError) as caught:
        run(with_impersonation(answering(), authorizer=Broken()), asking(("User", "jane")))
    assert caught.value.code == 403
    assert caught.value.message.endswith("no webhook")
