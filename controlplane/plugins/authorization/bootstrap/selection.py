"""The policy of one server: what is off there is in no role, and a role of which nothing is left is gone."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from controlplane.apimachinery.identity import GroupResource
from controlplane.apimachinery.policy_rule import ALL, PolicyRule
from controlplane.plugins.authorization.bootstrap import namespaced
from controlplane.plugins.authorization.bootstrap.controllers import (
    CONTROLLER_RULES,
    controller_binding,
    controller_role,
)
from controlplane.plugins.authorization.bootstrap.policy import Policy, Role
from controlplane.plugins.authorization.bootstrap.roles import CLUSTER_BINDINGS, CLUSTER_ROLES
from controlplane.plugins.authorization.rbac.covers import uncovered

__all__ = ["bootstrap_policy"]


def bootstrap_policy(
    *,
    off: Collection[GroupResource] = (),
    accounts: Mapping[str, tuple[PolicyRule, ...]] | None = None,
    in_namespaces: bool = True,
) -> Policy:
    """The roles and bindings that a server makes.

    Args:
        off: resources that it could have and has not.
        accounts: what the controllers that run need, by their accounts: those that Kubernetes does not know get a role,
            and the roles of others get what they lack (Kubernetes' controllers read as the manager that they are in).
        in_namespaces: whether there are roles in namespaces.
    """
    controllers = dict(CONTROLLER_RULES)
    for name, needed in (accounts or {}).items():
        given = controllers.get(name, ())
        controllers[name] = (*given, *(rule for rule in needed if uncovered(given, [rule])))
    roles = [*CLUSTER_ROLES, *(controller_role(name, rules) for name, rules in controllers.items())]
    bindings = [*CLUSTER_BINDINGS, *map(controller_binding, controllers)]
    if in_namespaces:
        roles += namespaced.ROLES
        bindings += namespaced.BINDINGS
    left = [role for role in (_without(role, off) for role in roles) if role.rules or role.aggregates]
    there = {(role.namespace, role.name) for role in left}
    return Policy(
        tuple(left), tuple(binding for binding in bindings if (binding.namespace, binding.role_name) in there)
    )


def _without(role: Role, off: Collection[GroupResource]) -> Role:
    if not off:
        return role
    rules = (_narrowed(rule, off) for rule in role.rules)
    return role._replace(rules=tuple(rule for rule in rules if rule.resources or rule.non_resource_urls))


def _narrowed(rule: PolicyRule, off: Collection[GroupResource]) -> PolicyRule:
    """The rule without the resources that are off in all of its groups that have them."""

    def is_off(resource: str) -> bool:
        name = resource.partition("/")[0]
        return ALL not in rule.api_groups and any(GroupResource(group, name) in off for group in rule.api_groups)

    return rule._replace(resources=tuple(resource for resource in rule.resources if not is_off(resource)))
