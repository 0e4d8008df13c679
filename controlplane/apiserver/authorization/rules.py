"""What a user may do, as rules: what authorizers that work by rules can tell.

Source: kubernetes/apiserver ``pkg/authorization/authorizer`` (RuleResolver).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol, runtime_checkable

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.policy_rule import PolicyRule
from controlplane.apimachinery.user import UserInfo

__all__ = ["EVERYTHING", "PathRule", "ResourceRule", "RuleResolver", "Rules", "aggregated", "joined", "rules_of"]


class ResourceRule(NamedTuple):
    """What is allowed on which resources; ``names`` empty: on all objects."""

    verbs: tuple[str, ...]
    groups: tuple[str, ...]
    resources: tuple[str, ...]
    names: tuple[str, ...] = ()

    def shown(self) -> Obj:
        """As a rules review has it."""
        lists = {"apiGroups": self.groups, "resources": self.resources, "resourceNames": self.names}
        return {"verbs": list(self.verbs), **{name: list(values) for name, values in lists.items() if values}}


class PathRule(NamedTuple):
    """What is allowed on which other paths."""

    verbs: tuple[str, ...]
    urls: tuple[str, ...]

    def shown(self) -> Obj:
        """As a rules review has it."""
        shown: Obj = {"verbs": list(self.verbs)}
        if self.urls:
            shown["nonResourceURLs"] = list(self.urls)
        return shown


class Rules(NamedTuple):
    """``incomplete``: there may be more. ``error``: what went wrong while they were collected."""

    resources: tuple[ResourceRule, ...] = ()
    paths: tuple[PathRule, ...] = ()
    incomplete: bool = False
    error: str = ""


EVERYTHING = Rules((ResourceRule(("*",), ("*",), ("*",)),), (PathRule(("*",), ("*",)),))


@runtime_checkable
class RuleResolver(Protocol):
    """An authorizer that works by rules."""

    async def rules_for(self, user: UserInfo, namespace: str) -> Rules:
        """What ``user`` may do in ``namespace``."""


def rules_of(rules: Iterable[PolicyRule], *, error: str = "") -> Rules:
    """Rules of roles, taken apart."""
    resources: list[ResourceRule] = []
    paths: list[PathRule] = []
    for rule in rules:
        if rule.resources:
            resources.append(ResourceRule(rule.verbs, rule.api_groups, rule.resources, rule.resource_names))
        if rule.non_resource_urls:
            paths.append(PathRule(rule.verbs, rule.non_resource_urls))
    return Rules(tuple(resources), tuple(paths), error=error)


def joined(several: Iterable[Rules]) -> Rules:
    """All rules of several resolvers."""
    found = list(several)
    return Rules(
        tuple(rule for rules in found for rule in rules.resources),
        tuple(rule for rules in found for rule in rules.paths),
        any(rules.incomplete for rules in found),
        aggregated([rules.error for rules in found if rules.error]),
    )


def aggregated(errors: Iterable[str]) -> str:
    """Errors as Go's aggregate of them prints: several in brackets, each once."""
    unique = list(dict.fromkeys(errors))
    return f"[{', '.join(unique)}]" if len(unique) > 1 else "".join(unique)
