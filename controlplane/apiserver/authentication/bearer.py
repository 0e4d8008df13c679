"""Bearer tokens: from the Authorization header, and from a websocket's subprotocol where no header can be set.

A token that nobody knows is refused; it never makes an anonymous request.

Source: kubernetes/apiserver ``pkg/authentication/request/{bearertoken,websocket}``.
"""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode

from controlplane.apimachinery.status import unauthorized
from controlplane.apimachinery.user import UserInfo
from controlplane.apiserver.authentication.api import Audiences, BadCredentials
from controlplane.apiserver.authentication.tokens import TokenUnion
from controlplane.client.request import Request

__all__ = ["BearerAuthenticator", "WebsocketBearerAuthenticator", "remove_websocket_token"]

SPACE_WARNING = "the provided Authorization header contains extra space before the bearer token, and is ignored"
WEBSOCKET_PREFIX = "base64url.bearer.authorization.k8s.io."
PROTOCOL_HEADER = "Sec-WebSocket-Protocol"


class _Tokens:
    """``tokens`` know whose they are; ``audiences`` are the API server's own."""

    __slots__ = ("_audiences", "_tokens")

    def __init__(self, tokens: TokenUnion, audiences: Audiences) -> None:
        self._tokens, self._audiences = tokens, audiences

    async def _user(self, token: str, request: Request) -> UserInfo:
        try:
            identity = await self._tokens.authenticate_token(token, self._audiences)
        except BadCredentials as error:
            raise unauthorized() from error
        request.warnings.extend(identity.warnings)
        return identity.user


class BearerAuthenticator(_Tokens):
    """``Authorization: Bearer TOKEN``. The header is the caller's to remove once a request is authenticated."""

    async def authenticate(self, request: Request) -> UserInfo | None:
        header = request.headers.get("Authorization")
        if header is None:
            return None
        scheme, *rest = header.strip().split(" ", 2)
        if not rest or scheme.lower() != "bearer":
            return None
        if not rest[0]:
            if len(rest) == 2:
                request.warnings.append(SPACE_WARNING)
            return None
        return await self._user(rest[0], request)


class WebsocketBearerAuthenticator(_Tokens):
    """A websocket request's subprotocol ``base64url.bearer.authorization.k8s.io.TOKEN`` (base64url, no padding).

    Another subprotocol must be offered too, for the server to answer with. ``remove_websocket_token`` takes the token
    out once the request is authenticated.
    """

    async def authenticate(self, request: Request) -> UserInfo | None:
        headers = request.headers
        if headers.get("Upgrade", "").lower() != "websocket" or "upgrade" not in headers.get("Connection", "").lower():
            return None
        tokens = [name for name in _protocols(request) if name.startswith(WEBSOCKET_PREFIX)]
        if not tokens:
            return None
        if len(tokens) > 1:
            raise unauthorized() from BadCredentials("multiple base64.bearer.authorization tokens specified")
        token = _decoded(tokens[0].removeprefix(WEBSOCKET_PREFIX))
        if not token:
            return None
        if len(_protocols(request)) == 1:
            raise unauthorized() from BadCredentials("missing additional subprotocol")
        return await self._user(token, request)


def remove_websocket_token(protocols: str) -> str:
    """A Sec-WebSocket-Protocol header without the subprotocol that carries a token."""
    kept = (name for part in protocols.split(",") if not (name := part.strip()).startswith(WEBSOCKET_PREFIX))
    return ",".join(kept)


def _protocols(request: Request) -> list[str]:
    headers = request.headers.getall(PROTOCOL_HEADER, [])
    return [part.strip() for header in headers for part in header.split(",")]


def _decoded(encoded: str) -> str:
    if "=" in encoded or "+" in encoded or "/" in encoded:
        raise unauthorized() from BadCredentials("invalid base64.bearer.authorization token encoding")
    try:
        return urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode()
    except UnicodeDecodeError:
        raise unauthorized() from BadCredentials("invalid base64.bearer.authorization token")
    except (binascii.Error, ValueError):
        raise unauthorized() from BadCredentials("invalid base64.bearer.authorization token encoding")
