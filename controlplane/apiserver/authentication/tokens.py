"""Several token authenticators as one, and what they share.

Source: kubernetes/apiserver ``pkg/authentication/token/union``, ``pkg/authentication/authenticator`` (audagnostic.go).
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from hashlib import blake2b
from typing import Protocol

from controlplane.apimachinery.user import UserInfo
from controlplane.apimachinery.validation.field import go_quoted
from controlplane.apiserver.authentication.api import (
    Audiences,
    BadCredentials,
    TokenAuthenticator,
    TokenIdentity,
    authenticated,
)

__all__ = [
    "UNKNOWN_TOKEN",
    "ForOwnAudiences",
    "PlainTokens",
    "TokenDigest",
    "TokenUnion",
    "common_audiences",
    "quoted_list",
]

UNKNOWN_TOKEN = "invalid bearer token"  # noqa: S105  # what is said of one


class TokenDigest:
    """Names tokens by a hash with a key of its own, so that neither memory nor the time of a look-up tells anything of
    them."""

    __slots__ = ("_begun",)

    def __init__(self) -> None:
        self._begun = blake2b(key=secrets.token_bytes(32), digest_size=32)

    def __call__(self, token: str) -> bytes:
        digest = self._begun.copy()
        digest.update(token.encode("utf-8", "surrogatepass"))
        return digest.digest()


class TokenUnion:
    """Asks in order until one knows the token. Bad credentials do not end the search; if nobody knows the token all
    that was said of it is raised."""

    __slots__ = ("_authenticators",)

    def __init__(self, authenticators: Sequence[TokenAuthenticator]) -> None:
        self._authenticators = tuple(authenticators)

    async def authenticate_token(self, token: str, audiences: Audiences) -> TokenIdentity:
        """Whose the token is, a member of ``system:authenticated``.

        Raises:
            BadCredentials: nobody knows it.
        """
        reasons = [UNKNOWN_TOKEN]
        for authenticator in self._authenticators:
            try:
                identity = await authenticator.authenticate_token(token, audiences)
            except BadCredentials as error:
                reasons += error.reasons
                continue
            if identity is not None:
                user = authenticated(identity.user)
                return identity if user is identity.user else identity._replace(user=user)
        raise BadCredentials(*reasons)


class PlainTokens(Protocol):
    """Knows users by token, and nothing of audiences."""

    async def user_of(self, token: str) -> UserInfo | None:
        """The user; None: not a token of this kind. Raises as ``TokenAuthenticator``."""


class ForOwnAudiences:
    """Plain tokens, good for the API server's own audiences and no others."""

    __slots__ = ("_audiences", "_tokens")

    def __init__(self, tokens: PlainTokens, own: Audiences) -> None:
        self._tokens, self._audiences = tokens, own

    async def authenticate_token(self, token: str, audiences: Audiences) -> TokenIdentity | None:
        common = audiences if audiences == self._audiences else common_audiences(self._audiences, audiences)
        if not common:
            return None
        user = await self._tokens.user_of(token)
        return TokenIdentity(user, common) if user is not None else None


def common_audiences(good_for: Sequence[str], wanted: Audiences) -> Audiences:
    """Those of ``wanted`` that are in ``good_for``, in the order of ``wanted``."""
    return tuple(audience for audience in wanted if audience in good_for)


def quoted_list(texts: Sequence[str]) -> str:
    """As Go's %q of a list, in reasons."""
    return f"[{' '.join(map(go_quoted, texts))}]"
