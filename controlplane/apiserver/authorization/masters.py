"""``system:masters`` may do everything; nobody can take that away. First in every chain."""

from __future__ import annotations

from controlplane.apimachinery.user import MASTERS_GROUP, UserInfo
from controlplane.apiserver.authorization.api import Attributes, Decision
from controlplane.apiserver.authorization.rules import EVERYTHING, Rules

__all__ = ["ListedMastersAuthorizer", "MastersAuthorizer"]

_ALLOW = (Decision.ALLOW, "")
_NO_OPINION = (Decision.NO_OPINION, "")


class MastersAuthorizer:
    """Allows members of the group everything."""

    __slots__ = ()

    def allows_all(self, user: UserInfo) -> bool:
        """See ``AllowsAll``."""
        return MASTERS_GROUP in user.groups

    async def authorize(self, attributes: Attributes) -> tuple[Decision, str]:
        return _ALLOW if MASTERS_GROUP in attributes.user.groups else _NO_OPINION


class ListedMastersAuthorizer(MastersAuthorizer):
    """The same where no other authorizer lists what they may do: roles do it by a binding."""

    __slots__ = ()

    async def rules_for(self, user: UserInfo, _namespace: str) -> Rules:
        """See ``RuleResolver``."""
        return EVERYTHING if MASTERS_GROUP in user.groups else Rules()
