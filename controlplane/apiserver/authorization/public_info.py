"""Health and version are for everybody, also without credentials: GET on exactly these paths.

Source: Kubernetes' bootstrap role ``system:public-info-viewer``, which serves where roles are off too.
"""

from __future__ import annotations

from controlplane.apimachinery.user import UserInfo
from controlplane.apiserver.authorization.api import Attributes, Decision
from controlplane.apiserver.authorization.rules import PathRule, Rules

__all__ = ["PUBLIC_PATHS", "PublicInfoAuthorizer"]

PUBLIC_PATHS = frozenset({"/healthz", "/livez", "/readyz", "/version", "/version/"})

_RULES = Rules(paths=(PathRule(("get",), tuple(sorted(PUBLIC_PATHS))),))
_ALLOW = (Decision.ALLOW, "")
_NO_OPINION = (Decision.NO_OPINION, "")


class PublicInfoAuthorizer:
    """Allows ``get`` on ``PUBLIC_PATHS``."""

    __slots__ = ()

    async def authorize(self, attributes: Attributes) -> tuple[Decision, str]:
        public = not attributes.is_resource and attributes.path in PUBLIC_PATHS and attributes.verb == "get"
        return _ALLOW if public else _NO_OPINION

    async def rules_for(self, _user: UserInfo, _namespace: str) -> Rules:
        """See ``RuleResolver``."""
        return _RULES
