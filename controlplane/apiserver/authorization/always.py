"""The modes AlwaysAllow and AlwaysDeny.

Source: kubernetes/apiserver ``pkg/authorization/authorizerfactory`` (its text).
"""

from __future__ import annotations

from controlplane.apimachinery.user import UserInfo
from controlplane.apiserver.authorization.api import Attributes, Decision
from controlplane.apiserver.authorization.rules import EVERYTHING, Rules

__all__ = ["AlwaysAllow", "AlwaysDeny"]

_ALLOW = (Decision.ALLOW, "")
_FORBIDDEN = (Decision.NO_OPINION, "Everything is forbidden.")


class AlwaysAllow:
    """Everybody may do everything. For experiments on a machine of one's own."""

    __slots__ = ()

    async def authorize(self, _attributes: Attributes) -> tuple[Decision, str]:
        return _ALLOW

    async def rules_for(self, _user: UserInfo, _namespace: str) -> Rules:
        """See ``RuleResolver``."""
        return EVERYTHING


class AlwaysDeny:
    """Allows nothing, and says so; it has no opinion rather than a veto, so others in the chain may still allow."""

    __slots__ = ()

    async def authorize(self, _attributes: Attributes) -> tuple[Decision, str]:
        return _FORBIDDEN

    async def rules_for(self, _user: UserInfo, _namespace: str) -> Rules:
        """See ``RuleResolver``."""
        return Rules()
