"""Client certificates: the common name is the user, the organisations are its groups.

A leaf is read and judged once and then known by its bytes; its dates are looked at on every request, so a connection
does not outlive its certificate, and after a change of the pool every leaf is judged anew.

Source: kubernetes/apiserver ``pkg/authentication/request/x509``.
"""

from __future__ import annotations

import asyncio
import time
from hashlib import sha256
from typing import NamedTuple

from controlplane.apimachinery.status import unauthorized
from controlplane.apimachinery.user import UserInfo
from controlplane.apiserver.authentication.api import CREDENTIAL_ID, BadCredentials, authenticated
from controlplane.apiserver.authentication.metrics import CERTIFICATE_EXPIRATION
from controlplane.apiserver.authentication.pool import CAPool
from controlplane.base.clock import Clock
from controlplane.base.tls.der import COMMON_NAME, ORGANIZATION, Certificate, read_certificate
from controlplane.client.request import Request

__all__ = ["UID_ATTRIBUTE", "X509Authenticator"]

UID_ATTRIBUTE = "1.3.6.1.4.1.57683.2"
"""The subject attribute that carries a user's uid."""

KNOWN_LIMIT = 4096
"""Leaves that are remembered, about 1.5 KB each; when full, all are forgotten and judged anew as they come."""


class _Known(NamedTuple):
    not_before: float
    not_after: float
    user: UserInfo | None


class X509Authenticator:
    """Authenticates by the connection's client certificate. ``set_pool`` may be called while it serves."""

    __slots__ = ("_known", "_now", "_observe", "_pool")

    def __init__(self, pool: CAPool, *, clock: Clock | None = None) -> None:
        self._pool = pool
        self._now = clock.now if clock is not None else time.time
        self._known: dict[bytes, _Known] = {}
        self._observe = CERTIFICATE_EXPIRATION.observe

    def set_pool(self, pool: CAPool) -> None:
        """Believe other CAs from now on. Pass a pool that is not ``whole``: connections that are open were verified
        under the old one."""
        if pool != self._pool:
            self._pool = pool
            self._known = {}

    async def authenticate(self, request: Request) -> UserInfo | None:
        """The user; None: no certificate, or one without a common name.

        Raises:
            APIError: 401: not of this pool, not valid now, or its uid cannot be read.
        """
        peer = request.peer
        der = peer.der() if peer is not None else None
        if der is None:
            return None
        known = self._known.get(der) or await self._judge(der)
        now = self._now()
        self._observe(known.not_after - now)
        if not known.not_before <= now <= known.not_after:
            raise unauthorized() from BadCredentials("client certificate has expired or is not yet valid")
        return known.user

    async def _judge(self, der: bytes) -> _Known:
        try:
            certificate = read_certificate(der)
        except ValueError as error:
            raise unauthorized() from BadCredentials(f"client certificate cannot be read: {error}")
        pool = self._pool
        if not pool.whole and not await asyncio.to_thread(pool.signed, der):
            raise unauthorized() from BadCredentials(
                f"client certificate {certificate.serial} is not signed by a CA of the client CA file"
            )
        if pool is not self._pool:  # changed meanwhile: the verdict is of the old one
            return await self._judge(der)
        if len(self._known) >= KNOWN_LIMIT:
            self._known = {}
        known = self._known[der] = _Known(certificate.not_before, certificate.not_after, _user(certificate, der))
        return known


def _user(certificate: Certificate, der: bytes) -> UserInfo | None:
    names = [name for name in certificate.values(COMMON_NAME) if name is not None]
    if not names or not names[-1]:
        return None
    return authenticated(
        UserInfo(
            name=names[-1],
            uid=_uid(certificate),
            groups=tuple(group for group in certificate.values(ORGANIZATION) if group is not None),
            extra={CREDENTIAL_ID: (f"X509SHA256={sha256(der).hexdigest()}",)},
        )
    )


def _uid(certificate: Certificate) -> str:
    match certificate.values(UID_ATTRIBUTE):
        case []:
            return ""
        case [str() as uid] if uid:
            return uid
        case [None]:
            raise unauthorized() from BadCredentials("client certificate: its uid is not a text")
        case [_]:
            raise unauthorized() from BadCredentials("client certificate: its uid is empty")
        case uids:
            raise unauthorized() from BadCredentials(
                f"client certificate: it has {len(uids)} uids where one is allowed"
            )
