"""Authenticates the tokens of one issuer.

Source: kubernetes/apiserver ``plugin/pkg/authenticator/token/oidc`` and go-oidc's verifier (their order and texts).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from time import perf_counter
from typing import Any

from controlplane.apimachinery.user import UserInfo
from controlplane.apimachinery.validation.field import go_quoted
from controlplane.apiserver.authentication.api import BadCredentials
from controlplane.apiserver.authentication.jws import BadSignature, Unverified, VerifyingKey, unverified, verify
from controlplane.apiserver.authentication.jwt import metrics
from controlplane.apiserver.authentication.jwt.claims import user_of_claims
from controlplane.apiserver.authentication.jwt.config import JWTConfig
from controlplane.apiserver.authentication.jwt.keys import IssuerKeys
from controlplane.apiserver.authentication.tokens import quoted_list
from controlplane.base.clock import Clock
from controlplane.client.fetch import Fetcher

__all__ = ["JWTTokens"]

NOT_BEFORE_LEEWAY_SECONDS = 300.0
GOOGLE = "accounts.google.com"
"""What one issuer calls itself in old tokens, without the scheme."""


class JWTTokens:
    """See ``tokens.PlainTokens``."""

    def __init__(self, config: JWTConfig, *, clock: Clock) -> None:
        self._config, self._clock = config, clock
        self._fetcher = Fetcher(config.issuer.certificate_authority.encode())
        self._keys = IssuerKeys(config, self._fetcher, clock=clock)

    async def user_of(self, token: str) -> UserInfo | None:
        """The user; None: not a token of this issuer.

        Raises:
            BadCredentials.
        """
        said = unverified(token)
        if said is None or _issuer(said) != self._config.issuer.url:
            return None
        began, succeeded = perf_counter(), False
        try:
            await self._verify(token, said)
            user = user_of_claims(self._config, dict(said.claims))
            succeeded = True
            return user
        finally:
            metrics.record_latency(self._config.issuer.url, perf_counter() - began, succeeded=succeeded)

    async def close(self) -> None:
        """Close connections to the issuer. Idempotent."""
        await self._fetcher.close()

    async def _verify(self, token: str, said: Unverified) -> None:
        known = await self._keys.known()
        self._check_claims(said.claims)
        algorithm = said.header.get("alg")
        if algorithm not in self._config.algorithms:
            expected, got = quoted_list(self._config.algorithms), go_quoted(str(algorithm))
            raise _refused(f"oidc: id token signed with unsupported algorithm, expected {expected} got {got}")
        if _signed_by(token, said, known):
            return
        if not _signed_by(token, said, await self._keys.newer(known)):
            raise _refused("failed to verify signature: failed to verify id token signature")

    def _check_claims(self, claims: Any) -> None:
        names, sources = claims.get("_claim_names") or {}, claims.get("_claim_sources") or {}
        if not isinstance(names, dict) or not isinstance(sources, dict):
            raise _refused("oidc: failed to unmarshal claims: _claim_names and _claim_sources are not objects")
        if not all(isinstance(source, str) and source in sources for source in names.values()):
            raise _refused("oidc: source does not exist")
        audiences = claims.get("aud")
        audiences = [audiences] if isinstance(audiences, str) else audiences
        wanted = self._config.issuer.audiences
        if not isinstance(audiences, list) or not any(audience in wanted for audience in audiences):
            got = quoted_list(tuple(map(str, audiences or ()))) if isinstance(audiences, list) else "[]"
            if len(wanted) == 1:
                raise _refused(f"oidc: expected audience {go_quoted(wanted[0])} got {got}")
            raise _refused(f"oidc: expected audience in {quoted_list(tuple(sorted(wanted)))} got {got}")
        now, expires, not_before = self._clock.now(), claims.get("exp"), claims.get("nbf")
        if not isinstance(expires, (int, float)) or isinstance(expires, bool):
            raise _refused("oidc: token is expired (Token Expiry: 0001-01-01 00:00:00 +0000 UTC)")
        if expires < now:
            raise _refused(f"oidc: token is expired (Token Expiry: {_time(expires)})")
        if not_before is not None:
            if not isinstance(not_before, (int, float)):
                raise _refused("oidc: failed to unmarshal claims: nbf is not a time")
            if now + NOT_BEFORE_LEEWAY_SECONDS < not_before:
                raise _refused(f"oidc: current time {_time(now)} before the nbf (not before) time: {_time(not_before)}")


def _issuer(said: Unverified) -> str:
    return f"https://{GOOGLE}" if said.issuer == GOOGLE else said.issuer


def _signed_by(token: str, said: Unverified, keys: Sequence[VerifyingKey]) -> bool:
    for key in keys:
        if said.key_id and key.key_id != said.key_id:
            continue
        try:
            verify(token, key)
        except BadSignature:
            continue
        return True
    return False


def _refused(why: str) -> BadCredentials:
    return BadCredentials(f"oidc: verify token: {why}")


def _time(seconds: float) -> str:
    """As Go prints a time."""
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} +0000 UTC"
    except (OverflowError, ValueError, OSError):
        return f"{seconds:g} s"
