"""Authenticates service account tokens.

A token's signature is checked once and remembered by the token's digest; its times, its account and what it is bound
to are looked at on every request, so a token ends in the moment in which the server learns that its account does: at
once on the embedded store, and on etcd as soon as the mirror has the deletion.

Source: kubernetes' ``pkg/serviceaccount/jwt.go`` (its texts).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from controlplane.apimachinery.service_accounts import groups_of, username_of
from controlplane.apimachinery.user import AUTHENTICATED_GROUP, UserInfo
from controlplane.apiserver.authentication.api import CREDENTIAL_ID, Audiences, BadCredentials, TokenIdentity
from controlplane.apiserver.authentication.jws import BadSignature, Unverified, unverified, verify
from controlplane.apiserver.authentication.metrics import TOKEN_CACHE_HIT, TOKEN_CACHE_MISS
from controlplane.apiserver.authentication.serviceaccounts.bound import UNREADABLE, check_bound
from controlplane.apiserver.authentication.serviceaccounts.claims import LEGACY_ISSUER, Bound
from controlplane.apiserver.authentication.serviceaccounts.config import ServiceAccountConfig
from controlplane.apiserver.authentication.serviceaccounts.issuer import TokenIssuer
from controlplane.apiserver.authentication.serviceaccounts.keys import KeyFileError
from controlplane.apiserver.authentication.serviceaccounts.legacy import (
    LegacyClaims,
    MarkUsed,
    check_legacy,
    legacy_claims,
)
from controlplane.apiserver.authentication.serviceaccounts.metrics import LEGACY_TOKENS
from controlplane.apiserver.authentication.serviceaccounts.objects import LiveObjects
from controlplane.apiserver.authentication.tokens import TokenDigest, common_audiences, quoted_list
from controlplane.base import logs

__all__ = ["ServiceAccountTokens"]

log = logs.get(__name__)

KNOWN_LIMIT = 16_384
"""Tokens that are remembered, about 2 KB each; when full, all are forgotten and verified anew as they come."""


class _Signed(NamedTuple):
    """A token whose signature is good: ``bound``, or else ``legacy``."""

    claims: dict[str, Any]
    audiences: tuple[str, ...]
    bound: Bound | None
    legacy: LegacyClaims | None
    user: UserInfo


class ServiceAccountTokens:
    """See ``api.TokenAuthenticator``."""

    __slots__ = ("_config", "_digest", "_issuer", "_issuers", "_known", "_mark_used", "_now", "_objects")

    def __init__(
        self,
        config: ServiceAccountConfig,
        issuer: TokenIssuer,
        objects: LiveObjects,
        *,
        now: Callable[[], float],
        mark_used: MarkUsed,
    ) -> None:
        self._mark_used = mark_used
        self._config, self._issuer, self._objects, self._now = config, issuer, objects, now
        self._issuers = frozenset((*config.issuers, LEGACY_ISSUER))
        self._known: dict[bytes, _Signed] = {}
        self._digest = TokenDigest()

    async def authenticate_token(self, token: str, audiences: Audiences) -> TokenIdentity | None:
        if token.count(".") != 2:
            return None
        digest = self._digest(token)
        signed = self._known.get(digest)
        if signed is None:
            said = unverified(token)
            if said is None or said.issuer not in self._issuers:
                return None
            TOKEN_CACHE_MISS.inc()
            signed = await self._verified(token, said)
            if len(self._known) >= KNOWN_LIMIT:
                self._known = {}
            self._known[digest] = signed
        else:
            TOKEN_CACHE_HIT.inc()
        common = common_audiences(signed.audiences, audiences)
        if not common:
            has, wanted = quoted_list(signed.audiences), quoted_list(audiences)
            raise BadCredentials(f"token audiences {has} is invalid for the target audiences {wanted}")
        if signed.bound is not None:
            await check_bound(signed.bound, signed.claims, self._objects, self._now)
            return TokenIdentity(signed.user, common)
        assert signed.legacy is not None
        LEGACY_TOKENS.inc()
        if not self._config.lookup:
            return TokenIdentity(signed.user, common)
        warnings = await check_legacy(token, signed.legacy, self._objects, now=self._now(), mark_used=self._mark_used)
        return TokenIdentity(signed.user, common, warnings)

    async def _verified(self, token: str, said: Unverified) -> _Signed:
        """Raises BadCredentials: not signed with a key of ours, or it does not say what it must."""
        try:
            keys = await self._issuer.keys()
        except KeyFileError as error:
            log.warning("keys of service account tokens cannot be read", error=error)
            raise BadCredentials("the keys of service account tokens cannot be read") from error
        candidates = keys.named(said.key_id)
        if not candidates:
            raise BadCredentials("invalid signature, no keys found")
        reasons: list[str] = []
        for key in candidates:
            try:
                verify(token, key)
            except BadSignature as error:
                reasons.append(str(error))
                continue
            return self._read(said)
        raise BadCredentials(*reasons)

    def _read(self, said: Unverified) -> _Signed:
        claims = dict(said.claims)
        audiences = _audiences(claims.get("aud")) or self._config.own_audiences
        if said.issuer == LEGACY_ISSUER:
            legacy = legacy_claims(claims)
            namespace, name, uid, _ = legacy
            return _Signed(claims, audiences, None, legacy, _user(namespace, name, uid, ""))
        try:
            bound = Bound.read(claims)
        except ValueError as error:
            raise BadCredentials(UNREADABLE) from error
        token_id = claims.get("jti")
        user = _user(bound.namespace, *bound.account, token_id if isinstance(token_id, str) else "")
        return _Signed(claims, audiences, bound, None, user)


def _user(namespace: str, name: str, uid: str, token_id: str) -> UserInfo:
    return UserInfo(
        name=username_of(namespace, name),
        uid=uid,
        groups=(*groups_of(namespace), AUTHENTICATED_GROUP),
        extra={CREDENTIAL_ID: (f"JTI={token_id}",)} if token_id else {},
    )


def _audiences(claim: Any) -> tuple[str, ...]:
    values = [claim] if isinstance(claim, str) else claim
    if values is None:
        return ()
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise BadCredentials(UNREADABLE)
    return tuple(values)
