"""What a user may do in a namespace, as a list of rules: for those who show it, not for those who decide.

Source: kubernetes/apiserver ``pkg/authorization/authorizer/rule.go`` and ``pkg/authorization/union`` (RuleResolver).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from controlplane.apimachinery.policy_rule import ALL, PolicyRule
from controlplane.apimachinery.user import UserInfo

__all__ = ["EVERYTHING", "RuleResolver", "UnionRules", "UserRules"]

EVERYTHING = (PolicyRule((ALL,), (ALL,), (ALL,)), PolicyRule((ALL,), non_resource_urls=(ALL,)))


class UserRules(NamedTuple):
    """The rules of one user in one namespace. ``incomplete``: more may be allowed, or less; ``error``: what could not
    be found out, ``""`` if nothing."""

    rules: tuple[PolicyRule, ...]
    incomplete: bool = False
    error: str = ""


class RuleResolver(Protocol):
    """An authorizer that can list its rules."""

    def rules_for(self, user: UserInfo, namespace: str) -> UserRules:
        """What it allows the user in the namespace and everywhere."""


class UnionRules:
    """The rules of several, in order."""

    __slots__ = ("_resolvers",)

    def __init__(self, resolvers: Sequence[RuleResolver]) -> None:
        self._resolvers = tuple(resolvers)

    def rules_for(self, user: UserInfo, namespace: str) -> UserRules:
        found = [resolver.rules_for(user, namespace) for resolver in self._resolvers]
        errors = [rules.error for rules in found if rules.error]
        return UserRules(
            tuple(rule for rules in found for rule in rules.rules),
            any(rules.incomplete for rules in found),
            errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]" if errors else "",
        )
