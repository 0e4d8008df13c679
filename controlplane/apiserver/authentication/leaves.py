"""The certificates that clients show, judged by one authenticator's own pool of authorities.

A leaf is read and judged once and then known by its bytes; its dates are looked at on every request, so a connection
does not outlive its certificate, and after a change of the pool every leaf is judged anew.

Source: kubernetes/apiserver ``pkg/authentication/request/x509`` (Authenticator and Verifier).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from controlplane.apimachinery.status import unauthorized
from controlplane.apiserver.authentication.api import BadCredentials
from controlplane.apiserver.authentication.pool import CAPool
from controlplane.base.clock import Clock
from controlplane.base.tls.der import Certificate, read_certificate
from controlplane.client.request import Request

__all__ = ["Leaf", "Leaves"]

KNOWN_LIMIT = 4096
"""Leaves that are remembered, about 1.5 KB each; when full, all are forgotten and judged anew as they come."""

T = TypeVar("T")


class Leaf(NamedTuple, Generic[T]):
    """A certificate of the pool; dates in seconds since 1970. ``meaning``: what the authenticator reads in it."""

    not_before: float
    not_after: float
    meaning: T


class Leaves(Generic[T]):
    """``read`` gives a certificate's meaning from what it says and its bytes, once; it may raise APIError.
    ``authority`` is the pool's name in errors."""

    __slots__ = ("_authority", "_known", "_now", "_pool", "_read")

    def __init__(
        self, pool: CAPool, read: Callable[[Certificate, bytes], T], authority: str, *, clock: Clock | None = None
    ) -> None:
        self._pool, self._authority = pool, authority
        self._read: Callable[[Certificate, bytes], T] = read
        self._now = clock.now if clock is not None else time.time
        self._known: dict[bytes, Leaf[T]] = {}

    def set_pool(self, pool: CAPool) -> None:
        """Believe other CAs from now on."""
        if pool != self._pool:
            self._pool = pool
            self._known = {}

    def known(self, request: Request, *, observe: Callable[[float], None]) -> Leaf[T] | None:
        """As ``of``, if the certificate has been judged, means something and is valid; else None, and nothing has been
        done."""
        peer = request.peer
        der = peer.der() if peer is not None else None
        known = self._known.get(der) if der is not None else None
        if known is None or known.meaning is None:
            return None
        now = self._now()
        if not known.not_before <= now <= known.not_after:
            return None
        observe(known.not_after - now)
        return known

    async def of(self, request: Request, *, observe: Callable[[float], None] | None = None) -> Leaf[T] | None:
        """The certificate of the request's connection; None: it has none. ``observe`` is told how many seconds it has
        left.

        Raises:
            APIError: 401: not of this pool, not valid now, or not readable.
        """
        peer = request.peer
        der = peer.der() if peer is not None else None
        if der is None:
            return None
        known = self._known.get(der) or await self._judge(der)
        now = self._now()
        if observe is not None:
            observe(known.not_after - now)
        if not known.not_before <= now <= known.not_after:
            raise unauthorized() from BadCredentials("client certificate has expired or is not yet valid")
        return known

    async def _judge(self, der: bytes) -> Leaf[T]:
        try:
            certificate = read_certificate(der)
        except ValueError as error:
            raise unauthorized() from BadCredentials(f"client certificate cannot be read: {error}")
        pool = self._pool
        if not pool.whole and not await asyncio.to_thread(pool.signed, der):
            raise unauthorized() from BadCredentials(
                f"client certificate {certificate.serial} is not signed by a CA of the {self._authority}"
            )
        if pool is not self._pool:  # changed meanwhile: the verdict is of the old one
            return await self._judge(der)
        if len(self._known) >= KNOWN_LIMIT:
            self._known = {}
        known = self._known[der] = Leaf(certificate.not_before, certificate.not_after, self._read(certificate, der))
        return known
