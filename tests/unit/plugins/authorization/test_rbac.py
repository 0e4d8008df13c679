"""Decisions of the mode RBAC, from the objects in a mirror."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.apimachinery.identity import Key, Obj
from controlplane.apimachinery.user import UserInfo
from controlplane.apis.rbac.clusterroles import CLUSTER_ROLES
from controlplane.apiserver.authorization.api import Attributes, Decision
from controlplane.plugins.authorization.rbac.authorizer import RBACAuthorizer
from controlplane.plugins.authorization.rbac.bindings import RoleRef
from controlplane.storage.api import Entry
from tests.aio import run
from tests.unit.plugins.authorization.objects import (
    READ_CONFIGMAPS,
    account,
    binding,
    group,
    indexed,
    remove,
    role,
    store,
    user,
)

KIM = UserInfo(name="kim", groups=("dev", "system:authenticated"))


def asks(who: UserInfo = KIM, verb: str = "get", resource: str = "configmaps", **more: Any) -> Attributes:
    return Attributes(who, verb, resource=resource, **more)


def decide(objects: list[Obj], question: Attributes) -> tuple[Decision, str]:
    async def scenario() -> tuple[Decision, str]:
        async with indexed(*objects) as (_, index):
            authorizer = RBACAuthorizer(index)
            answer = await authorizer.authorize(question)
            assert await authorizer.authorize(question) == answer, "the same when it is remembered"
            return answer

    return run(scenario())


EVERYWHERE = [role("reader", READ_CONFIGMAPS), binding("b", "reader", user("kim"))]
IN_A = [role("reader", READ_CONFIGMAPS, namespace="a"), binding("b", "reader", user("kim"), namespace="a")]
LOCAL = [role("reader", READ_CONFIGMAPS), binding("b", "reader", user("kim"), namespace="a", kind="ClusterRole")]


@pytest.mark.parametrize(
    ("objects", "question", "source"),
    [
        pytest.param(
            EVERYWHERE,
            asks(namespace="x"),
            'ClusterRoleBinding "b" of ClusterRole "reader" to User "kim"',
            id="everywhere",
        ),
        pytest.param(EVERYWHERE, asks(verb="watch"), "", id="another verb"),
        pytest.param(EVERYWHERE, asks(resource="secrets"), "", id="another resource"),
        pytest.param(EVERYWHERE, asks(group="x"), "", id="another group"),
        pytest.param(EVERYWHERE, asks(subresource="status"), "", id="a subresource is not the resource"),
        pytest.param(EVERYWHERE, asks(UserInfo(name="lee")), "", id="another user"),
        pytest.param(
            IN_A, asks(namespace="a"), 'RoleBinding "b/a" of Role "reader" to User "kim"', id="in a namespace"
        ),
        pytest.param(IN_A, asks(namespace="b"), "", id="in another namespace"),
        pytest.param(IN_A, asks(), "", id="in a namespace is not everywhere"),
        pytest.param(
            LOCAL,
            asks(namespace="a"),
            'RoleBinding "b/a" of ClusterRole "reader" to User "kim"',
            id="a cluster role in a namespace",
        ),
        pytest.param(
            [role("reader", READ_CONFIGMAPS), binding("b", "reader", user("lee"), group("dev"), user("kim"))],
            asks(),
            'ClusterRoleBinding "b" of ClusterRole "reader" to Group "dev"',
            id="the first subject that fits is named",
        ),
        pytest.param(
            [
                role("reader", READ_CONFIGMAPS),
                binding("b", "reader", account("bot"), namespace="a", kind="ClusterRole"),
            ],
            asks(UserInfo(name="system:serviceaccount:a:bot"), namespace="a"),
            'RoleBinding "b/a" of ClusterRole "reader" to ServiceAccount "bot/a"',
            id="an account of the binding's namespace",
        ),
        pytest.param(
            [role("reader", READ_CONFIGMAPS), binding("b", "reader", account("bot", "other"))],
            asks(UserInfo(name="system:serviceaccount:other:bot"), namespace="a"),
            'ClusterRoleBinding "b" of ClusterRole "reader" to ServiceAccount "bot/other"',
            id="an account of another namespace",
        ),
        pytest.param(
            [role("reader", READ_CONFIGMAPS), binding("b", "reader", account("bot"))],
            asks(UserInfo(name="system:serviceaccount::bot")),
            "",
            id="an account of no namespace is nobody",
        ),
        pytest.param(
            [
                role("named", {**READ_CONFIGMAPS, "resourceNames": ["one"]}),
                role("reader", READ_CONFIGMAPS),
                binding("a", "named", user("kim")),
                binding("b", "reader", user("kim")),
            ],
            asks(name="one"),
            'ClusterRoleBinding "a" of ClusterRole "named" to User "kim"',
            id="the first rule that fits is named: by name",
        ),
        pytest.param(
            [
                role("named", {**READ_CONFIGMAPS, "resourceNames": ["one"]}),
                role("reader", READ_CONFIGMAPS),
                binding("a", "named", user("kim")),
                binding("b", "reader", user("kim")),
            ],
            asks(name="two"),
            'ClusterRoleBinding "b" of ClusterRole "reader" to User "kim"',
            id="the first rule that fits is named: whatever name",
        ),
        pytest.param(
            [role("named", {**READ_CONFIGMAPS, "resourceNames": ["one"]}), binding("a", "named", user("kim"))],
            asks(),
            "",
            id="names are not for requests without one",
        ),
        pytest.param(
            [role("r", {"nonResourceURLs": ["/logs/*"], "verbs": ["get"]}), binding("b", "r", group("dev"))],
            asks(resource="", is_resource=False, path="/logs/a/b"),
            'ClusterRoleBinding "b" of ClusterRole "r" to Group "dev"',
            id="a path",
        ),
        pytest.param(
            [role("r", {"nonResourceURLs": ["/logs/*"], "verbs": ["get"]}), binding("b", "r", group("dev"))],
            asks(resource="", is_resource=False, path="/logs"),
            "",
            id="another path",
        ),
        pytest.param(
            [
                role("r", {"apiGroups": ["certificates.k8s.io"], "resources": ["signers"], "verbs": ["approve"]}),
                binding("b", "r", user("kim")),
            ],
            asks(verb="approve", group="certificates.k8s.io", resource="signers", name="example.org/*"),
            'ClusterRoleBinding "b" of ClusterRole "r" to User "kim"',
            id="a verb on a resource that nobody serves",
        ),
    ],
)
def test_who_may_what(objects: list[Obj], question: Attributes, source: str) -> None:
    allowed = (Decision.ALLOW, f"RBAC: allowed by {source}")
    assert decide(objects, question) == (allowed if source else (Decision.NO_OPINION, ""))


def test_a_role_that_is_missing_is_told_once_to_whom_nothing_else_allows_it() -> None:
    dangling = [
        binding("b", "gone", user("kim")),
        binding("c", "gone", group("dev")),
        binding("d", "gone", user("kim"), namespace="a"),
    ]
    assert decide(dangling, asks(namespace="b")) == (
        Decision.NO_OPINION,
        'RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found',
    )
    texts = [f'{kind}.rbac.authorization.k8s.io "gone" not found' for kind in ("clusterrole", "role")]
    assert decide(dangling, asks(namespace="a")) == (Decision.NO_OPINION, f"RBAC: [{', '.join(texts)}]")
    assert decide([*dangling, *EVERYWHERE[:1], binding("z", "reader", user("kim"))], asks())[0] is Decision.ALLOW


def test_the_next_decision_after_a_change_knows_it() -> None:
    async def scenario() -> None:
        async with indexed() as (mirror, index):
            authorizer = RBACAuthorizer(index)

            async def allowed() -> bool:
                return (await authorizer.authorize(asks()))[0] is Decision.ALLOW

            assert not await allowed()
            await store(mirror, EVERYWHERE[1])
            assert not await allowed()
            await store(mirror, EVERYWHERE[0])
            assert await allowed()
            await remove(mirror, EVERYWHERE[1])
            assert not await allowed()
            await store(mirror, binding("c", "reader", group("dev")))
            assert await allowed()

            async def widen(obj: Obj, _entry: Entry) -> Obj:
                return {**obj, "rules": []}

            await mirror.storage(CLUSTER_ROLES).update(Key("", "reader"), widen, version="v1")
            assert await mirror.fresh(None)
            assert not await allowed()

    run(scenario())


def test_what_cannot_be_read_gives_nobody_anything_and_stops_nobody_else() -> None:
    broken = binding("a", "reader", {"kind": "User"}, user("kim"))
    mixed = role("mixed", READ_CONFIGMAPS)
    mixed["rules"] = 7
    assert decide([broken, mixed, *EVERYWHERE], asks())[0] is Decision.ALLOW
    assert decide([broken, EVERYWHERE[0]], asks()) == (Decision.NO_OPINION, "")


def test_rules_are_listed_in_the_order_in_which_they_are_asked() -> None:
    async def scenario() -> None:
        async with indexed(
            *IN_A, *LOCAL[:1], binding("c", "reader", group("dev")), binding("d", "gone", user("kim"))
        ) as (
            _,
            index,
        ):
            found = await RBACAuthorizer(index).rules_for(KIM, "a")
            assert [rule.resources for rule in found.resources] == [("configmaps",), ("configmaps",)]
            assert (found.incomplete, found.error) == (False, 'clusterrole.rbac.authorization.k8s.io "gone" not found')
            assert len((await RBACAuthorizer(index).rules_for(KIM, "other")).resources) == 1

    run(scenario())


def test_decisions_are_not_remembered_without_end() -> None:
    async def scenario() -> None:
        async with indexed(*EVERYWHERE) as (_, index):
            authorizer = RBACAuthorizer(index)
            for number in range(20_000):
                await authorizer.authorize(asks(namespace=str(number)))
            assert 0 < len(index.decisions()) <= 16_384
            await authorizer.authorize(asks(resource="", is_resource=False, path="/" + "x" * 1000))
            assert not any("/xxx" in str(key) for key in index.decisions())

    run(scenario())


def test_changes_that_nobody_asks_about_are_taken_up_when_they_are_many() -> None:
    """Whoever asks first would wait for all of them."""

    async def main() -> None:
        async with indexed() as (mirror, index):
            roles = mirror.storage(CLUSTER_ROLES)
            for number in range(450):
                await roles.create(Key("", f"r{number}"), role(f"r{number}", READ_CONFIGMAPS))
            assert await mirror.fresh(None)
            assert len(index._pending) < 200
            known = [index.rules(RoleRef("ClusterRole", Key("", f"r{number}"))) for number in range(450)]
            assert all(rules is not None and rules[0].verbs == ("get", "list") for rules in known)

    run(main())
