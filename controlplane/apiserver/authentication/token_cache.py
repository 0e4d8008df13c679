"""Remembers for a short time what others have said of tokens: issuers and webhooks are not asked for every request.

Tokens are known by a keyed hash. Whoever asks for a token that is being asked about waits for that answer. What is
remembered may be older than a revocation by ``success_seconds`` and no more.

Source: kubernetes/apiserver ``pkg/authentication/token/cache``.
"""

from __future__ import annotations

import asyncio
from time import perf_counter
from typing import NamedTuple

from controlplane.apiserver.authentication.api import Audiences, BadCredentials, TokenAuthenticator, TokenIdentity
from controlplane.apiserver.authentication.metrics import (
    TOKEN_CACHE_ACTIVE_FETCHES,
    TOKEN_CACHE_FETCHES,
    TOKEN_CACHE_HIT,
    TOKEN_CACHE_MISS,
    TOKEN_CACHE_SECONDS,
)
from controlplane.apiserver.authentication.tokens import TokenDigest
from controlplane.base.clock import Clock

__all__ = ["CachedTokens"]

ENTRIES_LIMIT = 32_768
"""About 1 KB each; when full, all are forgotten."""
FETCH_SECONDS = 30.0
"""For one answer, whoever waits for it."""

_IN_FLIGHT = TOKEN_CACHE_ACTIVE_FETCHES.labels_cached(("in_flight",))
_BLOCKED = TOKEN_CACHE_ACTIVE_FETCHES.labels_cached(("blocked",))

Key = tuple[bytes, Audiences]


class _Entry(NamedTuple):
    until: float
    identity: TokenIdentity | None


class CachedTokens:
    """See ``api.TokenAuthenticator``. ``failure_seconds``: how long it is remembered that a token is not known; errors
    are never remembered."""

    __slots__ = ("_clock", "_digest", "_entries", "_failure_seconds", "_running", "_success_seconds", "_tokens")

    def __init__(
        self, tokens: TokenAuthenticator, *, success_seconds: float, failure_seconds: float = 0.0, clock: Clock
    ) -> None:
        self._tokens, self._clock = tokens, clock
        self._success_seconds, self._failure_seconds = success_seconds, failure_seconds
        self._digest = TokenDigest()
        self._entries: dict[Key, _Entry] = {}
        self._running: dict[Key, asyncio.Future[TokenIdentity | None]] = {}

    async def authenticate_token(self, token: str, audiences: Audiences) -> TokenIdentity | None:
        began, key = perf_counter(), (self._digest(token), audiences)
        entry = self._entries.get(key)
        if entry is not None and self._clock.monotonic() < entry.until:
            TOKEN_CACHE_HIT.inc()
            TOKEN_CACHE_SECONDS.labels_cached(("hit",)).observe(perf_counter() - began)
            return entry.identity
        TOKEN_CACHE_MISS.inc()
        _BLOCKED.inc()
        try:
            return await self._shared(key, token)
        finally:
            _BLOCKED.inc(-1)
            TOKEN_CACHE_SECONDS.labels_cached(("miss",)).observe(perf_counter() - began)

    def forget(self) -> None:
        """Ask anew from now on (others decide now)."""
        self._entries = {}

    async def _shared(self, key: Key, token: str) -> TokenIdentity | None:
        while (running := self._running.get(key)) is not None:
            await asyncio.wait([running])
            if not running.cancelled():
                return running.result()
        future = self._running[key] = asyncio.get_running_loop().create_future()
        try:
            identity = await self._fetch(key, token)
        except BadCredentials as error:
            future.set_exception(error)
            future.exception()  # nobody may be waiting for it
            raise
        except BaseException:
            future.cancel()  # who waits asks for himself
            raise
        finally:
            del self._running[key]
        future.set_result(identity)
        return identity

    async def _fetch(self, key: Key, token: str) -> TokenIdentity | None:
        _IN_FLIGHT.inc()
        entries, result = self._entries, "error"
        try:
            async with asyncio.timeout(FETCH_SECONDS):
                identity = await self._tokens.authenticate_token(token, key[1])
            result = "ok"
        except TimeoutError as error:
            raise BadCredentials("context deadline exceeded") from error
        finally:
            _IN_FLIGHT.inc(-1)
            TOKEN_CACHE_FETCHES.labels_cached((result,)).inc()
        seconds = self._success_seconds if identity is not None else self._failure_seconds
        if seconds > 0:
            if len(entries) >= ENTRIES_LIMIT:
                entries.clear()
            entries[key] = _Entry(self._clock.monotonic() + seconds, identity)
        return identity
