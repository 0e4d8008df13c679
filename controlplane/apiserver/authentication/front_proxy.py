"""Front proxies: who has authenticated a user for us says in headers who it is, and proves by a client certificate
that it is the proxy. Its authority is another than that of users' certificates, so that no user can be a proxy.

Source: kubernetes/apiserver ``pkg/authentication/request/headerrequest``.
"""

from __future__ import annotations

from multidict import CIMultiDict, CIMultiDictProxy

from controlplane.apimachinery.status import unauthorized
from controlplane.apimachinery.user import UserInfo
from controlplane.apiserver.authentication.api import BadCredentials, authenticated
from controlplane.apiserver.authentication.extra_keys import extra_key
from controlplane.apiserver.authentication.leaves import Leaves
from controlplane.apiserver.authentication.pool import CAPool
from controlplane.base.clock import Clock
from controlplane.base.tls.der import COMMON_NAME, Certificate
from controlplane.base.values import dataclass
from controlplane.client.request import KnownHeaders, Request

__all__ = ["BY_FRONT_PROXY", "STANDARD_HEADERS", "FrontProxyAuthenticator", "IdentityHeaders"]

BY_FRONT_PROXY = "by-front-proxy"
"""Key of ``Request.values``: set where a front proxy, by its certificate, has said who makes the request."""

Headers = CIMultiDict[str] | CIMultiDictProxy[str]

_NOT_READ = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityHeaders:
    """The headers that a proxy sends; their names in any case. Of names and uids the first that says something counts,
    of groups and extra all."""

    username: tuple[str, ...] = ()
    uid: tuple[str, ...] = ()
    group: tuple[str, ...] = ()
    extra_prefix: tuple[str, ...] = ()


STANDARD_HEADERS = IdentityHeaders(
    username=("X-Remote-User",), uid=("X-Remote-Uid",), group=("X-Remote-Group",), extra_prefix=("X-Remote-Extra-",)
)
"""What proxies send by convention. They are taken out of every request, whoever sent them."""


class FrontProxyAuthenticator:
    """Believes who shows a certificate of the pool, called one of ``allowed_names`` (empty: anything)."""

    __slots__ = ("_allowed", "_headers", "_leaves")

    def __init__(
        self, pool: CAPool, headers: IdentityHeaders, allowed_names: tuple[str, ...], *, clock: Clock | None = None
    ) -> None:
        self._headers, self._allowed = headers, frozenset(allowed_names)
        self._leaves = Leaves(pool, _common_name, "request header client CA file", clock=clock)

    def set_pool(self, pool: CAPool) -> None:
        """Believe other CAs from now on."""
        self._leaves.set_pool(pool)

    async def authenticate(self, request: Request) -> UserInfo | None:
        """The user that the proxy names; None: there is no certificate, or no user is named.

        Raises:
            APIError: 401: the certificate is not a proxy's.
        """
        headers = request.headers
        user: UserInfo | None
        if type(headers) is KnownHeaders:
            user = headers.notes.get(self, _NOT_READ)
            if user is _NOT_READ:
                user = headers.notes[self] = self._user(headers)
        else:
            user = self._user(headers)
        if user is None:
            return None
        leaf = await self._leaves.of(request)
        if leaf is None:
            return None
        if self._allowed and leaf.meaning not in self._allowed:
            raise unauthorized() from BadCredentials(f"x509: subject with cn={leaf.meaning} is not in the allowed list")
        request.values[BY_FRONT_PROXY] = True
        return user

    def _user(self, headers: Headers) -> UserInfo | None:
        """Who is named, by whomever."""
        name = _first(headers, self._headers.username)
        if not name:
            return None
        return authenticated(
            UserInfo(
                name=name,
                uid=_first(headers, self._headers.uid),
                groups=tuple(value for one in self._headers.group for value in headers.getall(one, []) if value),
                extra=_extra(headers, self._headers.extra_prefix),
            )
        )


def _common_name(certificate: Certificate, _der: bytes) -> str:
    names = [name for name in certificate.values(COMMON_NAME) if name is not None]
    return names[-1] if names else ""


def _first(headers: Headers, names: tuple[str, ...]) -> str:
    return next((value for name in names if (value := headers.get(name, ""))), "")


def _extra(headers: Headers, prefixes: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    extra: dict[str, tuple[str, ...]] = {}
    for prefix in map(str.lower, prefixes):
        for name, value in headers.items():
            lower = name.lower()
            if lower.startswith(prefix):
                key = extra_key(lower[len(prefix) :])
                extra[key] = (*extra.get(key, ()), value)
    return extra
