"""Authentication: who makes a request, found by the first authenticator that knows its credentials.

An authenticator answers None where the request carries no credentials of its kind, and raises where it carries bad
ones: ``raise unauthorized() from BadCredentials(why)``. To the client it is always the same 401; why is for the log.
"""

from __future__ import annotations

from typing import Protocol

from controlplane.apimachinery.user import AUTHENTICATED_GROUP, UNAUTHENTICATED_GROUP, UserInfo
from controlplane.client.request import Request

__all__ = ["CREDENTIAL_ID", "Authenticator", "BadCredentials", "TokenAuthenticator", "authenticated"]

CREDENTIAL_ID = "authentication.kubernetes.io/credential-id"
"""Key of ``UserInfo.extra`` that identifies the credential used, never the credential itself."""


class BadCredentials(Exception):
    """Why credentials were refused: the cause of the 401. For logs; it holds no part of a token."""


class Authenticator(Protocol):
    """Finds who makes a request."""

    async def authenticate(self, request: Request) -> UserInfo | None:
        """The user; None: the request has no credentials of this kind.

        Raises:
            APIError: 401, the credentials are bad.
        """


class TokenAuthenticator(Protocol):
    """Finds whose a bearer token is."""

    async def authenticate_token(self, token: str) -> UserInfo | None:
        """The user; None: not a token of this kind.

        Raises:
            APIError: 401, a token of this kind that is bad (expired, forged).
        """


def authenticated(user: UserInfo) -> UserInfo:
    """The user as a member of ``system:authenticated``; unchanged if it is anonymous or says so already."""
    if AUTHENTICATED_GROUP in user.groups or UNAUTHENTICATED_GROUP in user.groups:
        return user
    return UserInfo(name=user.name, uid=user.uid, groups=(*user.groups, AUTHENTICATED_GROUP), extra=user.extra)
