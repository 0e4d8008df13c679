"""The mode RBAC: what roles allow, to those whom bindings give them to.

A decision is remembered by everything in the question but the object's name, until a role or a binding changes: what is
remembered is the list of the rules that concern it, each with the names it is restricted to. So a question that was
asked before costs one look-up.

Source: kubernetes ``plugin/pkg/auth/authorizer/rbac/rbac.go`` (its reasons).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from controlplane.apimachinery.policy_rule import PolicyRule
from controlplane.apimachinery.user import UserInfo
from controlplane.apimachinery.validation.field import go_quoted
from controlplane.apis.rbac.rules import GROUP
from controlplane.apiserver.authorization.api import Attributes, Decision
from controlplane.apiserver.authorization.rules import Rules, aggregated, rules_of
from controlplane.plugins.authorization.rbac.bindings import RoleRef
from controlplane.plugins.authorization.rbac.index import RoleIndex

__all__ = ["RBACAuthorizer"]

_Answer = tuple[Decision, str]
_Candidates = tuple[tuple[frozenset[str] | None, _Answer], ...]
"""The answers in order, each with the names that it is for (None: any). The last is for any."""

REMEMBERED_DECISIONS = 16_384
"""About 10 MB at most. When there are more, all are forgotten: those that matter are asked again at once."""
REMEMBERED_CHARACTERS = 256
"""Of paths, which anybody may make up; longer ones are decided each time."""


class RBACAuthorizer:
    """Allows what the roles in ``index`` allow."""

    __slots__ = ("_index",)

    def __init__(self, index: RoleIndex) -> None:
        self._index = index

    async def authorize(self, attributes: Attributes) -> tuple[Decision, str]:
        a = attributes
        user = a.user
        key: Any
        if a.is_resource:
            key = (user.name, user.groups, a.namespace, a.verb, a.group, a.resource, a.subresource)
        else:
            key = (user.name, user.groups, a.verb, a.path)
        decisions = self._index.decisions()
        candidates: _Candidates | None = decisions.get(key)
        if candidates is None:
            candidates = tuple(self._candidates(a))
            if len(a.path) <= REMEMBERED_CHARACTERS:
                if len(decisions) >= REMEMBERED_DECISIONS:
                    decisions.clear()
                decisions[key] = candidates
        for names, answer in candidates:
            if names is None or a.name in names:
                return answer
        raise AssertionError("the last candidate is for any name")

    async def rules_for(self, user: UserInfo, namespace: str) -> Rules:
        """See ``RuleResolver``."""
        rules: list[PolicyRule] = []
        errors: list[str] = []
        for given in self._index.given(user, namespace):
            if given.rules is None:
                errors.append(_missing(given.role))
            else:
                rules += given.rules
        return rules_of(rules, error=aggregated(errors))

    def _candidates(self, a: Attributes) -> Iterator[tuple[frozenset[str] | None, _Answer]]:
        errors: list[str] = []
        for given in self._index.given(a.user, a.namespace):
            if given.rules is None:
                errors.append(_missing(given.role))
                continue
            for rule in given.rules:
                if _concerns(rule, a):
                    names = frozenset(rule.resource_names) if a.is_resource and rule.resource_names else None
                    yield names, (Decision.ALLOW, f"RBAC: allowed by {given.source}")
                    if names is None:
                        return
        yield None, (Decision.NO_OPINION, f"RBAC: {aggregated(errors)}" if errors else "")


def _concerns(rule: PolicyRule, a: Attributes) -> bool:
    if a.is_resource:
        return rule.concerns_resource(a.verb, a.group, a.resource, a.subresource)
    return rule.allows_path(a.verb, a.path)


def _missing(role: RoleRef) -> str:
    return f"{role.kind.lower()}.{GROUP} {go_quoted(role.key.name)} not found"
