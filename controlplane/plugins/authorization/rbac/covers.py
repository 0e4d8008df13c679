"""Whether rules allow all that other rules allow, and what is missing where they do not.

Source: kubernetes/component-helpers ``auth/rbac/validation`` (Covers) and kubernetes ``pkg/registry/rbac/validation``
(CompactRules), ``pkg/apis/rbac/v1`` (CompactString).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from controlplane.apimachinery.policy_rule import ALL, PolicyRule
from controlplane.apimachinery.validation.field import go_quoted

__all__ = ["described", "quoted_list", "uncovered"]


def uncovered(owned: Sequence[PolicyRule], wanted: Iterable[PolicyRule]) -> list[PolicyRule]:
    """The single permissions of ``wanted`` that no rule of ``owned`` allows."""
    return [
        single
        for rule in wanted
        if rule not in owned  # as it mostly is: one look instead of one a permission
        for single in _singles(rule)
        if not any(_covers(owner, single) for owner in owned)
    ]


def described(missing: Iterable[PolicyRule]) -> str:
    """Single permissions as text, a line a rule, those that differ by the verb alone together."""
    return "\n".join(sorted({_text(rule) for rule in _compacted(missing)}))


def quoted_list(values: Iterable[str]) -> str:
    """A list as Go's %q prints it."""
    return f"[{' '.join(map(go_quoted, values))}]"


def _singles(rule: PolicyRule) -> Iterator[PolicyRule]:
    """A rule as rules with one group, resource, verb and name (or none), or one path and verb."""
    names: Iterable[tuple[str, ...]] = [(name,) for name in rule.resource_names] or [()]
    for group in rule.api_groups:
        for resource in rule.resources:
            for verb in rule.verbs:
                for name in names:
                    yield PolicyRule((verb,), (group,), (resource,), name)
    for url in rule.non_resource_urls:
        for verb in rule.verbs:
            yield PolicyRule((verb,), non_resource_urls=(url,))


def _covers(owner: PolicyRule, single: PolicyRule) -> bool:
    if ALL not in owner.verbs and single.verbs[0] not in owner.verbs:
        return False
    if single.non_resource_urls:
        return _covers_path(owner.non_resource_urls, single.non_resource_urls[0])
    return (
        (ALL in owner.api_groups or single.api_groups[0] in owner.api_groups)
        and _covers_resource(owner.resources, single.resources[0])
        and (
            not owner.resource_names
            or (bool(single.resource_names) and single.resource_names[0] in owner.resource_names)
        )
    )


def _covers_resource(owned: Sequence[str], resource: str) -> bool:
    if ALL in owned or resource in owned:
        return True
    _, slash, subresource = resource.partition("/")
    return bool(slash) and f"{ALL}/{subresource}" in owned


def _covers_path(owned: Sequence[str], path: str) -> bool:
    return any(url == path or (url.endswith(ALL) and path.startswith(url.rstrip(ALL))) for url in owned)


def _compacted(rules: Iterable[PolicyRule]) -> list[PolicyRule]:
    rest: list[PolicyRule] = []
    verbs: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for rule in rules:
        if rule.resource_names or rule.non_resource_urls:
            rest.append(rule)
        else:
            verbs.setdefault((rule.api_groups, rule.resources), []).extend(rule.verbs)
    return rest + [PolicyRule(tuple(of), groups, resources) for (groups, resources), of in verbs.items()]


def _text(rule: PolicyRule) -> str:
    parts = {
        "APIGroups": rule.api_groups,
        "Resources": rule.resources,
        "NonResourceURLs": rule.non_resource_urls,
        "ResourceNames": rule.resource_names,
        "Verbs": rule.verbs,
    }
    return "{" + ", ".join(f"{name}:{quoted_list(values)}" for name, values in parts.items() if values) + "}"
