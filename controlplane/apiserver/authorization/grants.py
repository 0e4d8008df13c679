"""What certain users may do by name, whatever else decides: the controllers that come with the server.

Where roles are served, the same rules are there as bootstrap roles; this authorizer lets controllers work without them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from controlplane.apimachinery.policy_rule import PolicyRule
from controlplane.apimachinery.user import UserInfo
from controlplane.apiserver.authorization.api import Attributes, Decision
from controlplane.apiserver.authorization.rules import Rules, rules_of

__all__ = ["GrantsAuthorizer"]

_ALLOW = (Decision.ALLOW, "")
_NO_OPINION = (Decision.NO_OPINION, "")


class GrantsAuthorizer:
    """Allows each user named in ``grants`` what its rules cover, in every namespace."""

    __slots__ = ("_grants",)

    def __init__(self, grants: Mapping[str, Sequence[PolicyRule]]) -> None:
        self._grants = {user: tuple(rules) for user, rules in grants.items()}

    async def authorize(self, attributes: Attributes) -> tuple[Decision, str]:
        rules = self._grants.get(attributes.user.name)
        if rules is None:
            return _NO_OPINION
        a = attributes
        if a.is_resource:
            allowed = any(r.allows_resource(a.verb, a.group, a.resource, a.subresource, a.name) for r in rules)
        else:
            allowed = any(r.allows_path(a.verb, a.path) for r in rules)
        return _ALLOW if allowed else _NO_OPINION

    async def rules_for(self, user: UserInfo, _namespace: str) -> Rules:
        """See ``RuleResolver``."""
        return rules_of(self._grants.get(user.name, ()))
