"""The keys of one issuer: found by its OpenID configuration, fetched, and fetched again when a token names another.

Nothing is asked before the first token. Whoever comes while keys are fetched waits for that fetch.

Source: go-oidc's RemoteKeySet, as kubernetes/apiserver ``plugin/pkg/authenticator/token/oidc`` uses it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from controlplane.apiserver.authentication.api import BadCredentials
from controlplane.apiserver.authentication.jws import VerifyingKey, prepare
from controlplane.apiserver.authentication.jwt import metrics
from controlplane.apiserver.authentication.jwt.config import JWTConfig
from controlplane.base import logs
from controlplane.base.clock import Clock
from controlplane.client.fetch import Fetcher, FetchError

__all__ = ["IssuerKeys"]

log = logs.get(__name__)

WELL_KNOWN = "/.well-known/openid-configuration"
RETRY_SECONDS = 10.0
"""After a failure to find the keys, as upstream."""
REFETCHES, REFETCH_SECONDS = 5, 10.0
"""Tokens that nobody has signed must not make us ask their alleged issuer all the time: so often in such a time."""

_CURVES = {"P-256": "ES256", "P-384": "ES384", "P-521": "ES512"}


class IssuerKeys:
    """Close ``fetcher``, which is the caller's."""

    def __init__(self, config: JWTConfig, fetcher: Fetcher, *, clock: Clock) -> None:
        self._config, self._fetcher, self._clock = config, fetcher, clock
        self._jwks_uri = ""
        self._keys: tuple[VerifyingKey, ...] = ()
        self._failed_at: float | None = None
        self._refetched: deque[float] = deque(maxlen=REFETCHES)
        self._lock = asyncio.Lock()
        self._fetches = 0

    async def known(self) -> Sequence[VerifyingKey]:
        """The keys as they are known.

        Raises:
            BadCredentials: none could be found yet.
        """
        if self._jwks_uri:
            return self._keys
        async with self._lock:
            if not self._jwks_uri:
                await self._discover()
        return self._keys

    async def newer(self, seen: Sequence[VerifyingKey]) -> Sequence[VerifyingKey]:
        """The keys, fetched anew unless somebody has done so since ``seen`` were the known ones, or it was often."""
        async with self._lock:
            now = self._clock.monotonic()
            often = len(self._refetched) == REFETCHES and now - self._refetched[0] < REFETCH_SECONDS
            if self._keys is seen and not often:
                self._refetched.append(now)
                try:
                    self._keys = await self._fetch()
                except FetchError as error:
                    log.warning("keys of a token issuer cannot be fetched", issuer=self._config.issuer.url, error=error)
        return self._keys

    async def _discover(self) -> None:
        issuer, now = self._config.issuer, self._clock.monotonic()
        if self._failed_at is not None and now - self._failed_at < RETRY_SECONDS:
            raise BadCredentials("oidc: authenticator not initialized")
        try:
            url = issuer.discovery_url or issuer.url.rstrip("/") + WELL_KNOWN
            document, _ = await self._fetcher.json(url)
            self._jwks_uri = _jwks_uri(document, issuer.url)
            self._keys = await self._fetch()
        except FetchError as error:
            self._failed_at, self._jwks_uri = now, ""
            log.warning("token issuer cannot be used yet", issuer=issuer.url, error=error)
            raise BadCredentials("oidc: authenticator not initialized") from error

    async def _fetch(self) -> tuple[VerifyingKey, ...]:
        issuer = self._config.issuer.url
        try:
            document, raw = await self._fetcher.json(self._jwks_uri)
            keys = await asyncio.to_thread(_keys, document, self._config.algorithms)
        except FetchError:
            metrics.record_fetch(issuer, self._clock.now(), key_set="")
            raise
        metrics.record_fetch(issuer, self._clock.now(), key_set=sha256(raw).hexdigest())
        return keys


def _jwks_uri(document: Any, issuer: str) -> str:
    if not isinstance(document, dict):
        raise FetchError("the OpenID configuration is not an object")
    named, uri = document.get("issuer"), document.get("jwks_uri")
    if named != issuer:
        raise FetchError(
            f'oidc: issuer URL provided to client ("{issuer}") did not match the issuer URL returned by provider '
            f'("{named}")'
        )
    if not isinstance(uri, str) or not uri.startswith("https://"):
        raise FetchError("the OpenID configuration has no jwks_uri with https")
    return uri


def _keys(document: Any, algorithms: Sequence[str]) -> tuple[VerifyingKey, ...]:
    """The keys of a JWK set that may sign; what we do not know is not for us."""
    from jwt import PyJWK
    from jwt.exceptions import PyJWTError

    prepare()
    entries = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(entries, list):
        raise FetchError("the key set has no keys")
    keys: list[VerifyingKey] = []
    for entry in entries:
        allowed = tuple(name for name in _algorithms_of(entry) if name in algorithms)
        if not allowed:
            continue
        try:
            key = PyJWK.from_dict(entry, algorithm=allowed[0]).key
        except (PyJWTError, ValueError, TypeError, KeyError) as error:
            log.warning("a key of a token issuer cannot be read", key_id=str(entry.get("kid")), error=error)
            continue
        key_id = entry.get("kid")
        keys.append(VerifyingKey(key_id if isinstance(key_id, str) else "", key, allowed))
    return tuple(keys)


def _algorithms_of(entry: Any) -> tuple[str, ...]:
    """What a key of a set may have signed with."""
    if not isinstance(entry, dict) or entry.get("use", "sig") != "sig":
        return ()
    if entry.get("kty") == "RSA":
        return ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
    curve = _CURVES.get(str(entry.get("crv")))
    return (curve,) if entry.get("kty") == "EC" and curve is not None else ()
