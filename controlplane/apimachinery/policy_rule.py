"""Policy rules: which verbs on which resources or paths. The value behind roles and behind what controllers may do.

Source: kubernetes/api ``rbac/v1`` PolicyRule, and its matching in kubernetes ``plugin/pkg/auth/authorizer/rbac``
(``*``, ``*/subresource``, a trailing ``*`` in paths).
"""

from __future__ import annotations

from typing import NamedTuple

from controlplane.apimachinery.identity import Obj

__all__ = ["ALL", "PolicyRule"]

ALL = "*"


class PolicyRule(NamedTuple):
    """One rule. A resource with a subresource is ``configmaps/status``; ``resource_names`` empty is any name."""

    verbs: tuple[str, ...]
    api_groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    resource_names: tuple[str, ...] = ()
    non_resource_urls: tuple[str, ...] = ()

    def allows_resource(self, verb: str, group: str, resource: str, subresource: str, name: str) -> bool:
        """Whether it covers this request for a resource."""
        return self.concerns_resource(verb, group, resource, subresource) and (
            not self.resource_names or name in self.resource_names
        )

    def concerns_resource(self, verb: str, group: str, resource: str, subresource: str) -> bool:
        """Whether it covers this request for some names at least."""
        return (
            self._allows_verb(verb)
            and (ALL in self.api_groups or group in self.api_groups)
            and self._names_resource(resource, subresource)
        )

    def allows_path(self, verb: str, path: str) -> bool:
        """Whether it covers this request for a path."""
        return self._allows_verb(verb) and any(
            url in (ALL, path) or (url.endswith(ALL) and path.startswith(url.rstrip(ALL)))
            for url in self.non_resource_urls
        )

    @classmethod
    def of_object(cls, rule: Obj) -> PolicyRule:
        """The rule that a role carries."""
        return cls(
            tuple(rule.get("verbs") or ()),
            tuple(rule.get("apiGroups") or ()),
            tuple(rule.get("resources") or ()),
            tuple(rule.get("resourceNames") or ()),
            tuple(rule.get("nonResourceURLs") or ()),
        )

    def as_object(self) -> Obj:
        """The rule as a role carries it."""
        fields = {
            "apiGroups": self.api_groups,
            "nonResourceURLs": self.non_resource_urls,
            "resourceNames": self.resource_names,
            "resources": self.resources,
            "verbs": self.verbs,
        }
        return {name: list(values) for name, values in fields.items() if values}

    def _allows_verb(self, verb: str) -> bool:
        return ALL in self.verbs or verb in self.verbs

    def _names_resource(self, resource: str, subresource: str) -> bool:
        wanted = f"{resource}/{subresource}" if subresource else resource
        if ALL in self.resources or wanted in self.resources:
            return True
        return bool(subresource) and f"{ALL}/{subresource}" in self.resources
