"""The policy that comes with a server, and how it is merged with what is there."""

from __future__ import annotations

from copy import deepcopy

import pytest

from controlplane.apimachinery.identity import GroupResource, Obj
from controlplane.apimachinery.policy_rule import PolicyRule
from controlplane.apis.rbac.clusterrolebindings import CLUSTER_ROLE_BINDINGS
from controlplane.apis.rbac.clusterroles import CLUSTER_ROLES
from controlplane.apis.rbac.rolebindings import ROLE_BINDINGS
from controlplane.apis.rbac.roles import ROLES
from controlplane.controllers.descriptor import DISCOVERY_RULES, ControllerDescriptor
from controlplane.generic.builtin import CONTROLLERS
from controlplane.plugins.authorization.bootstrap.controllers import CONTROLLER_RULES
from controlplane.plugins.authorization.bootstrap.merge import merged_binding, merged_role, refers_elsewhere
from controlplane.plugins.authorization.bootstrap.policy import AUTOUPDATE, Binding, Role, group, rule, user
from controlplane.plugins.authorization.bootstrap.selection import bootstrap_policy
from controlplane.plugins.authorization.rbac.covers import uncovered

KINDS = {kind.kind: kind for kind in (ROLES, ROLE_BINDINGS, CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS)}


def test_every_object_is_valid_and_every_binding_has_its_role() -> None:
    policy = bootstrap_policy()
    objects = [*(role.as_object() for role in policy.roles), *(binding.as_object() for binding in policy.bindings)]
    for obj in objects:
        assert KINDS[obj["kind"]].strategy.validate(obj) == [], obj["metadata"]["name"]
    names = [(obj["kind"], obj["metadata"].get("namespace"), obj["metadata"]["name"]) for obj in objects]
    assert len(set(names)) == len(names)
    roles = {(role.namespace, role.name) for role in policy.roles}
    assert all((binding.namespace, binding.role_name) in roles for binding in policy.bindings)


@pytest.mark.parametrize("controller", [c for c in CONTROLLERS if c.account], ids=lambda c: c.name)
def test_each_controller_may_do_its_work_by_its_role(controller: ControllerDescriptor) -> None:
    policy = bootstrap_policy(accounts={controller.account: controller.rules})
    role = next(role for role in policy.roles if role.name == f"system:controller:{controller.account}")
    assert uncovered(role.rules, controller.rules) == []
    discovery = next(role for role in bootstrap_policy().roles if role.name == "system:discovery")
    assert uncovered(discovery.rules, DISCOVERY_RULES) == [], "which everybody has who is known"


def test_what_is_off_is_in_no_role() -> None:
    off = {GroupResource("", "serviceaccounts"), GroupResource("authorization.k8s.io", "localsubjectaccessreviews")}
    policy = bootstrap_policy(off=off)
    named = {resource.partition("/")[0] for role in policy.roles for rule in role.rules for resource in rule.resources}
    assert not named & {"serviceaccounts", "localsubjectaccessreviews"}
    assert "secrets" in named
    gone = {role.name for role in bootstrap_policy().roles} - {role.name for role in policy.roles}
    assert gone == set(), "each still has something"
    assert "system:node-bootstrapper" not in {
        role.name
        for role in bootstrap_policy(off={GroupResource("certificates.k8s.io", "certificatesigningrequests")}).roles
    }


def test_a_role_of_which_nothing_is_left_takes_its_bindings_along() -> None:
    csrs = GroupResource("authentication.k8s.io", "selfsubjectreviews")
    access = {GroupResource("authorization.k8s.io", f"selfsubject{kind}reviews") for kind in ("access", "rules")}
    policy = bootstrap_policy(off={csrs, *access})
    assert "system:basic-user" not in {role.name for role in policy.roles}
    assert "system:basic-user" not in {binding.name for binding in policy.bindings}
    assert "admin" in {role.name for role in policy.roles}, "an aggregated role has no rules yet"


def test_without_namespaces_there_are_cluster_roles_alone() -> None:
    policy = bootstrap_policy(in_namespaces=False)
    assert {role.namespace for role in policy.roles} == {""} == {binding.namespace for binding in policy.bindings}


def test_a_controller_of_an_embedding_program_gets_a_role_too() -> None:
    rules = (PolicyRule(("get",), ("factory.example.org",), ("widgets",)),)
    reading = (PolicyRule(("get",), ("factory.example.org",), ("widgets",)),)
    writing = (PolicyRule(("create",), ("factory.example.org",), ("widgets",)),)
    policy = bootstrap_policy(accounts={"widget-maker": rules, "namespace-controller": (*reading, *writing)})
    by_name = {role.name: role.rules for role in policy.roles}
    assert by_name["system:controller:widget-maker"] == rules
    assert by_name["system:controller:namespace-controller"] == (*CONTROLLER_RULES["namespace-controller"], *writing)


READ = rule("get list", "", "configmaps")
ROLE = Role("r", (READ,)).as_object()
AGGREGATED = Role("r", aggregates="to-r").as_object()
BINDING = Binding("b", (group("a"), user("x"))).as_object()


def changed(obj: Obj, **fields: object) -> Obj:
    """An object with other fields; ``annotations`` and ``labels`` go into its metadata."""
    new = deepcopy(obj)
    for name, value in fields.items():
        (new["metadata"] if name in ("annotations", "labels") else new)[name] = value
    return new


@pytest.mark.parametrize("as_is", [ROLE, AGGREGATED], ids=["plain", "aggregated"])
def test_a_role_that_is_as_it_should_be_is_left(as_is: Obj) -> None:
    assert merged_role(as_is, deepcopy(as_is)) is None


def test_permissions_are_added_one_by_one_and_never_taken_away() -> None:
    existing = changed(ROLE, rules=[rule("get delete", "", "configmaps secrets").as_object()])
    merged = merged_role(ROLE, existing)
    assert merged is not None
    assert merged["rules"] == [*existing["rules"], rule("list", "", "configmaps").as_object()]
    wider = changed(ROLE, rules=[rule("*", "*", "*").as_object()])
    assert merged_role(ROLE, wider) is None


def test_a_protected_object_is_left_as_it_is() -> None:
    protected = {AUTOUPDATE: "false"}
    assert merged_role(ROLE, changed(ROLE, rules=None, annotations=protected)) is None
    assert merged_binding(BINDING, changed(BINDING, subjects=None, annotations=protected)) is None
    assert not refers_elsewhere(BINDING, changed(BINDING, roleRef={"name": "other"}, annotations=protected))


def test_labels_and_annotations_are_added_and_those_there_kept() -> None:
    existing = changed(ROLE, labels={"mine": "1", "kubernetes.io/bootstrapping": "other"}, annotations=None)
    merged = merged_role(ROLE, existing)
    assert merged is not None
    assert merged["metadata"]["labels"] == {"mine": "1", "kubernetes.io/bootstrapping": "other"}
    assert merged["metadata"]["annotations"] == {AUTOUPDATE: "true"}


def test_aggregation_is_made_as_it_should_be() -> None:
    mine = {"matchLabels": {"mine": "true"}}
    existing = changed(AGGREGATED, aggregationRule={"clusterRoleSelectors": [mine]})
    merged = merged_role(AGGREGATED, existing)
    assert merged is not None
    assert merged["aggregationRule"]["clusterRoleSelectors"] == [mine, {"matchLabels": {"to-r": "true"}}]
    unwanted = merged_role(ROLE, changed(ROLE, aggregationRule={"clusterRoleSelectors": [mine]}))
    assert unwanted == ROLE


def test_subjects_are_added_and_another_role_is_told() -> None:
    merged = merged_binding(BINDING, changed(BINDING, subjects=[user("y"), user("x")]))
    assert merged is not None
    assert merged["subjects"] == [user("y"), user("x"), group("a")]
    assert merged_binding(BINDING, deepcopy(BINDING)) is None
    other = changed(BINDING, roleRef={**BINDING["roleRef"], "name": "other"})
    assert refers_elsewhere(BINDING, other)
