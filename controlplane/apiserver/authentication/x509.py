"""Client certificates: the common name is the user, the organisations are its groups.

Source: kubernetes/apiserver ``pkg/authentication/request/x509``.
"""

from __future__ import annotations

from hashlib import sha256

from controlplane.apimachinery.status import unauthorized
from controlplane.apimachinery.user import UserInfo
from controlplane.apiserver.authentication.api import CREDENTIAL_ID, BadCredentials, authenticated
from controlplane.apiserver.authentication.leaves import Leaves
from controlplane.apiserver.authentication.metrics import CERTIFICATE_EXPIRATION
from controlplane.apiserver.authentication.pool import CAPool
from controlplane.base.clock import Clock
from controlplane.base.tls.der import COMMON_NAME, ORGANIZATION, Certificate
from controlplane.client.request import Request

__all__ = ["UID_ATTRIBUTE", "X509Authenticator"]

UID_ATTRIBUTE = "1.3.6.1.4.1.57683.2"
"""The subject attribute that carries a user's uid."""


class X509Authenticator:
    """Authenticates by the connection's client certificate. ``set_pool`` may be called while it serves."""

    __slots__ = ("_leaves", "_observe")

    def __init__(self, pool: CAPool, *, clock: Clock | None = None) -> None:
        self._leaves = Leaves(pool, _user, "client CA file", clock=clock)
        self._observe = CERTIFICATE_EXPIRATION.observe

    def set_pool(self, pool: CAPool) -> None:
        """Believe other CAs from now on. Pass a pool that is not ``whole``: connections that are open were verified
        under the old one."""
        self._leaves.set_pool(pool)

    def known(self, request: Request) -> UserInfo | None:
        """See ``KnowsAtOnce``."""
        leaf = self._leaves.known(request, observe=self._observe)
        return leaf.meaning if leaf is not None else None

    async def authenticate(self, request: Request) -> UserInfo | None:
        """The user; None: no certificate, or one without a common name.

        Raises:
            APIError: 401: not of this pool, not valid now, or its uid cannot be read.
        """
        leaf = await self._leaves.of(request, observe=self._observe)
        return leaf.meaning if leaf is not None else None


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
