"""Nobody gives away what they do not have: the guards of roles and bindings.

Who writes a role must be allowed all that it allows, or the verb ``escalate`` on it; who binds one all that the role
allows, or the verb ``bind`` on the role. Members of ``system:masters`` may do both.

Source: kubernetes ``pkg/registry/rbac/*/policybased`` and ``pkg/registry/rbac/escalation_check.go`` (order and texts).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controlplane.apimachinery.identity import GroupResource, Obj
from controlplane.apimachinery.policy_rule import ALL, PolicyRule
from controlplane.apimachinery.status import forbidden, not_found, timeout, unknown_error
from controlplane.apimachinery.user import MASTERS_GROUP
from controlplane.apimachinery.validation.field import go_quoted
from controlplane.apis.rbac.clusterrolebindings import CLUSTER_ROLE_BINDINGS
from controlplane.apis.rbac.clusterroles import CLUSTER_ROLES
from controlplane.apis.rbac.rolebindings import ROLE_BINDINGS
from controlplane.apis.rbac.roles import ROLES
from controlplane.apis.rbac.rules import GROUP
from controlplane.apiserver.admission.api import Attributes, Guard
from controlplane.apiserver.authorization.api import Attributes as Question
from controlplane.apiserver.authorization.api import Authorizer, Decision
from controlplane.apiserver.authorization.rules import aggregated
from controlplane.base import logs
from controlplane.plugins.authorization.rbac.bindings import CLUSTER_ROLE, ROLE, role_ref
from controlplane.plugins.authorization.rbac.covers import described, quoted_list, uncovered
from controlplane.plugins.authorization.rbac.index import RoleIndex

__all__ = ["EscalationGuards"]

log = logs.get(__name__)

_EVERYTHING = (PolicyRule((ALL,), (ALL,), (ALL,)), PolicyRule((ALL,), non_resource_urls=(ALL,)))
_RESOURCE = {ROLE: ROLES.plural, CLUSTER_ROLE: CLUSTER_ROLES.plural}


class EscalationGuards:
    """``index`` knows what users have been given; ``authorizer`` decides on the verbs."""

    def __init__(self, index: RoleIndex, authorizer: Authorizer) -> None:
        self._index, self._authorizer = index, authorizer

    def guards(self) -> Mapping[GroupResource, Guard]:
        """The guard of each kind."""
        return {
            **dict.fromkeys((ROLES.gr, CLUSTER_ROLES.gr), self._guard_role),
            **dict.fromkeys((ROLE_BINDINGS.gr, CLUSTER_ROLE_BINDINGS.gr), self._guard_binding),
        }

    async def _guard_role(self, a: Attributes, request_name: str) -> None:
        assert a.obj is not None
        if MASTERS_GROUP in a.user.groups or await self._may(a, "escalate", a.resource.resource, request_name):
            return
        if _changes_upkeep_alone(a.obj, a.old):
            return
        await self._be_current()
        self._require_all(a, tuple(map(PolicyRule.of_object, a.obj.get("rules") or ())))
        # an aggregated role takes in any rules, and holds others off from taking them out
        if (_is_aggregated(a.obj) or _is_aggregated(a.old or {})) and self._missing(a, _EVERYTHING):
            raise forbidden(a.resource.gr, a.name, "must have cluster-admin privileges to use the aggregationRule")

    async def _guard_binding(self, a: Attributes, _request_name: str) -> None:
        assert a.obj is not None
        if MASTERS_GROUP in a.user.groups or _changes_upkeep_alone(a.obj, a.old):
            return
        reference = a.obj["roleRef"]
        resource = _RESOURCE.get(reference["kind"])
        if resource is None:
            raise unknown_error(f"unsupported role reference kind: {go_quoted(reference['kind'])}")
        if await self._may(a, "bind", resource, reference["name"], group=reference["apiGroup"]):
            return
        await self._be_current()
        rules = self._index.rules(role_ref(reference, a.namespace))
        if rules is None:
            raise not_found(a.resource.gr, reference["name"])
        self._require_all(a, rules)

    async def _be_current(self) -> None:
        """A role that was just made, perhaps elsewhere, is not to be taken for missing, nor a right for held."""
        if not await self._index.fresh():
            raise timeout("the roles could not be proved current", 1)

    async def _may(self, a: Attributes, verb: str, resource: str, name: str, *, group: str = GROUP) -> bool:
        question = Question(
            user=a.user,
            verb=verb,
            group=group,
            version="*",
            resource=resource,
            namespace=a.namespace,
            name=name,
        )
        try:
            decision, _ = await self._authorizer.authorize(question)
        except Exception as error:  # noqa: BLE001  # whatever kept it from deciding, nothing is allowed
            log.warning("cannot authorize", verb=verb, resource=resource, error=error)
            return False
        return decision is Decision.ALLOW

    def _require_all(self, a: Attributes, wanted: tuple[PolicyRule, ...]) -> None:
        missing = self._missing(a, wanted)
        if not missing:
            return
        who = f"user {go_quoted(a.user.name)} (groups={quoted_list(a.user.groups)})"
        why = f"{who} is attempting to grant RBAC permissions not currently held:\n{described(missing)}"
        unresolved = [
            f"{a.resource.gr} {go_quoted(given.role.key.name)} not found"
            for given in self._index.given(a.user, a.namespace)
            if given.rules is None
        ]
        if unresolved:
            why += f"; resolution errors: [{aggregated(unresolved)}]"
        raise forbidden(a.resource.gr, a.name, why)

    def _missing(self, a: Attributes, wanted: tuple[PolicyRule, ...]) -> list[PolicyRule]:
        owned = [rule for given in self._index.given(a.user, a.namespace) for rule in given.rules or ()]
        return uncovered(owned, wanted)


def _is_aggregated(role: Obj) -> bool:
    return bool((role.get("aggregationRule") or {}).get("clusterRoleSelectors"))


_UPKEEP = frozenset({"ownerReferences", "finalizers", "managedFields"})


def _changes_upkeep_alone(obj: Obj, old: Obj | None) -> bool:
    """Whether an update changes nothing but what garbage collection changes."""
    return old is not None and _without_upkeep(obj) == _without_upkeep(old)


def _without_upkeep(obj: Obj) -> dict[str, Any]:
    return {**obj, "metadata": {key: value for key, value in obj["metadata"].items() if key not in _UPKEEP}}
