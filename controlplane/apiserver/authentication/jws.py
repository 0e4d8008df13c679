"""Signed tokens (JWS, compact form): taken apart, their signatures checked, and made.

Nothing is believed of a token before ``verify``; ``unverified`` only tells whose business it is. Which algorithms may
be used with a key is decided by the key, never by the token.

Source: RFC 7515, 7518, 7519; the texts of go-jose, which Kubernetes shows.
"""

from __future__ import annotations

import binascii
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from controlplane.base.values import dataclass

if TYPE_CHECKING:
    from jwt import PyJWS

__all__ = [
    "BAD_SIGNATURE",
    "TOKEN_LIMIT_BYTES",
    "BadSignature",
    "Unverified",
    "VerifyingKey",
    "base64url",
    "prepare",
    "sign",
    "unverified",
    "verify",
]

BAD_SIGNATURE = "go-jose/go-jose: error in cryptographic primitive"
TOKEN_LIMIT_BYTES = 64 * 1024
"""No header that we accept is longer."""


class BadSignature(Exception):
    """The token was not signed with the key, or not in a way that the key allows."""


class Unverified(NamedTuple):
    """What a token says of itself. Anybody may have written it."""

    header: Mapping[str, Any]
    claims: Mapping[str, Any]

    @property
    def key_id(self) -> str:
        value = self.header.get("kid")
        return value if isinstance(value, str) else ""

    @property
    def issuer(self) -> str:
        value = self.claims.get("iss")
        return value if isinstance(value, str) else ""


@dataclass(frozen=True, slots=True)
class VerifyingKey:
    """``key`` is a public key of ``cryptography``; ``algorithms``: what it may have signed with."""

    key_id: str
    key: Any
    algorithms: tuple[str, ...]


def unverified(token: str) -> Unverified | None:
    """Take a token apart; None: not a signed token in compact form. About 5 µs."""
    parts = token.split(".")
    if len(parts) != 3 or len(token) > TOKEN_LIMIT_BYTES:
        return None
    try:
        header, claims = (json.loads(_decoded(part), parse_constant=_no_number) for part in parts[:2])
    except (ValueError, binascii.Error, RecursionError):
        return None
    if not isinstance(header, dict) or not isinstance(claims, dict):
        return None
    return Unverified(header, claims)


def verify(token: str, key: VerifyingKey) -> None:
    """Check the signature; 50 to 100 µs once ``prepare`` was called.

    Raises:
        BadSignature.
    """
    from jwt.exceptions import InvalidTokenError

    try:
        _library().decode(token, key.key, algorithms=list(key.algorithms))
    except (InvalidTokenError, TypeError, ValueError) as error:
        raise BadSignature(BAD_SIGNATURE) from error


def prepare() -> None:
    """Import what checks and makes signatures: 50 to 100 ms, so not on the loop."""
    _library()


def sign(claims: Mapping[str, Any], key: Any, *, algorithm: str, key_id: str) -> str:
    """A token with these claims; ``key`` is a private key of ``cryptography``."""
    payload = json.dumps(claims, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    return _library().encode(payload, key, algorithm=algorithm, headers={"kid": key_id, "typ": None})


def base64url(raw: bytes) -> str:
    """Base64url without padding."""
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


@cache
def _library() -> PyJWS:
    from jwt import PyJWS

    return PyJWS()


def _no_number(text: str) -> None:
    """JSON has neither NaN nor infinity, and no time is one."""
    raise ValueError(text)


def _decoded(part: str) -> bytes:
    if "=" in part:
        raise ValueError("base64url without padding is due")
    return urlsafe_b64decode(part + "=" * (-len(part) % 4))
