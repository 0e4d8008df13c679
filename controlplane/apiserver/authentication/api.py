"""Authentication: who makes a request, found by the first authenticator that knows its credentials.

An authenticator answers None where the request carries no credentials of its kind, and raises where it carries bad
ones: ``raise unauthorized() from BadCredentials(why)``. To the client it is always the same 401; why is for the log.

Tokens are asked about with audiences: for whom they must be good. The API server has audiences of its own; a token
review names others. What knows nothing of audiences knows tokens for the API server alone (``ForOwnAudiences``).
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable

from controlplane.apimachinery.user import AUTHENTICATED_GROUP, UNAUTHENTICATED_GROUP, UserInfo
from controlplane.client.request import Request

__all__ = [
    "CREDENTIAL_ID",
    "Audiences",
    "Authenticator",
    "BadCredentials",
    "KnowsAtOnce",
    "TokenAuthenticator",
    "TokenIdentity",
    "authenticated",
]

CREDENTIAL_ID = "authentication.kubernetes.io/credential-id"
"""Key of ``UserInfo.extra`` that identifies the credential used, never the credential itself."""

Audiences = tuple[str, ...]


class BadCredentials(Exception):
    """Why credentials were refused: the cause of the 401. For logs and token reviews; it holds no part of a token.

    ``reasons``: one from each authenticator that knew better than to pass the token on.
    """

    def __init__(self, *reasons: str) -> None:
        self.reasons = tuple(dict.fromkeys(reasons))
        super().__init__(self.reasons[0] if len(self.reasons) == 1 else f"[{', '.join(self.reasons)}]")


class TokenIdentity(NamedTuple):
    """Whose a token is. ``audiences``: those that were asked for and for whom it is good. ``warnings``: for whoever
    used it."""

    user: UserInfo
    audiences: Audiences
    warnings: tuple[str, ...] = ()


class Authenticator(Protocol):
    """Finds who makes a request."""

    async def authenticate(self, request: Request) -> UserInfo | None:
        """The user; None: the request has no credentials of this kind.

        Raises:
            APIError: 401, the credentials are bad.
        """


@runtime_checkable
class KnowsAtOnce(Protocol):
    """An authenticator that need not wait for whom it has seen before."""

    def known(self, request: Request) -> UserInfo | None:
        """Whom ``authenticate`` would find; None: it must be asked."""


class TokenAuthenticator(Protocol):
    """Finds whose a bearer token is."""

    async def authenticate_token(self, token: str, audiences: Audiences) -> TokenIdentity | None:
        """Whose it is; None: not a token of this kind.

        Args:
            audiences: it must be good for one of these; never empty.

        Raises:
            BadCredentials: a token of this kind that is bad (expired, forged, meant for others).
        """


def authenticated(user: UserInfo) -> UserInfo:
    """The user as a member of ``system:authenticated``; unchanged if it is anonymous or says so already."""
    if AUTHENTICATED_GROUP in user.groups or UNAUTHENTICATED_GROUP in user.groups:
        return user
    return UserInfo(name=user.name, uid=user.uid, groups=(*user.groups, AUTHENTICATED_GROUP), extra=user.extra)
