"""Find out who makes a request, then take the credentials out of it.

Nothing after this filter sees a token or a front proxy's headers, so nothing can log or forward them.

Source: kubernetes/apiserver ``pkg/endpoints/filters/authentication.go``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from time import perf_counter

from multidict import CIMultiDict, CIMultiDictProxy, istr

from controlplane.apimachinery.status import APIError, unauthorized
from controlplane.apimachinery.user import UserInfo
from controlplane.apiserver.authentication.api import Authenticator, KnowsAtOnce
from controlplane.apiserver.authentication.bearer import PROTOCOL_HEADER, remove_websocket_token
from controlplane.apiserver.authentication.front_proxy import STANDARD_HEADERS, IdentityHeaders
from controlplane.apiserver.filters import metrics
from controlplane.base import logs
from controlplane.base.metrics import CounterChild, tally
from controlplane.client.request import Handler, KnownHeaders, Request, Response

__all__ = ["NAMED_ITSELF", "with_authentication"]

NAMED_ITSELF = "named-itself"
"""Key of ``Request.values``: set where a request came with headers that say who makes it, believed or not."""

log = logs.get(__name__)

_PROTOCOLS = istr(PROTOCOL_HEADER)
_AUTHORIZATION = istr("authorization")
_STANDARD = "x-remote-"
"""Begins all standard headers of front proxies."""
_KNOWN_USERS = frozenset({"admin", "client", "kube_proxy", "kubelet", "system:serviceaccount:kube-system:default"})

Headers = CIMultiDict[str] | CIMultiDictProxy[str]

_SUCCESS = tally(
    (metrics.AUTHENTICATION_ATTEMPTS.labels_cached(("success",)),),
    (
        metrics.AUTHENTICATION_SECONDS.labels_cached(("success",)),
        metrics.FILTER_SECONDS.labels_cached(("authentication",)),
    ),
)


def with_authentication(
    following: Handler, *, authenticator: Authenticator, headers: IdentityHeaders = STANDARD_HEADERS
) -> Handler:
    """Set ``request.user``, or answer 401. The loopback client's requests come with their identity. ``headers``: what
    front proxies send, besides the standard ones."""
    strip = _stripping(headers)
    known = authenticator.known if isinstance(authenticator, KnowsAtOnce) else None

    async def handle(request: Request) -> Response:
        identity = request.identity
        if identity is not None:
            request.user = identity
            return await following(request)
        began = perf_counter()
        user = known(request) if known is not None else None
        if user is None:
            user = await found(request, began)
        _SUCCESS.note(perf_counter() - began)
        _requests_of(user.name).inc()
        request.user = user
        strip(request)
        return await following(request)

    async def found(request: Request, began: float) -> UserInfo:
        try:
            user = await authenticator.authenticate(request)
        except APIError as error:
            _failed("error", began)
            log.debug("cannot authenticate a request", error=error.__cause__ or error, source=request.remote)
            raise
        if user is None:
            _failed("failure", began)
            raise unauthorized()
        return user

    return handle


def _failed(result: str, began: float) -> None:
    metrics.AUTHENTICATION_ATTEMPTS.labels_cached((result,)).inc()
    metrics.AUTHENTICATION_SECONDS.labels_cached((result,)).observe(perf_counter() - began)


@lru_cache(maxsize=1024)
def _requests_of(name: str) -> CounterChild:
    return metrics.AUTHENTICATED_USERS.labels_cached((_user_label(name),))


def _user_label(name: str) -> str:
    """User names are not labels; a few kinds of them are."""
    if name in _KNOWN_USERS:
        return name
    return "email_id" if "@" in name else "other"


def _stripping(headers: IdentityHeaders) -> Callable[[Request], None]:
    """Makes what takes credentials and identities out of a request's headers."""
    sets = (STANDARD_HEADERS,) if headers == STANDARD_HEADERS else (STANDARD_HEADERS, headers)
    own = (*headers.username, *headers.uid, *headers.group, *headers.extra_prefix)
    named = (name.lower() for name in own if not name.lower().startswith(_STANDARD))
    others = tuple(dict.fromkeys((_PROTOCOLS.lower(), _STANDARD, *named)))

    names_of_user = frozenset(name.lower() for one in sets for name in (*one.username, *one.uid, *one.group))
    prefixes = tuple(prefix.lower() for one in sets for prefix in one.extra_prefix)

    def stripped(headers: Headers) -> tuple[Headers | None, bool]:
        """What is left, None if it is all, and whether somebody is named."""
        names = "\n".join(headers).lower()
        for mark in others:
            if mark in names:
                break
        else:
            if _AUTHORIZATION not in names:
                return None, False
            kept = headers.copy()  # a token and no more, as most requests have it
            kept.popall(_AUTHORIZATION, None)
            return kept, False
        kept, has_named = CIMultiDict(), False
        for name, value in headers.items():
            lower = name.lower()
            if lower in names_of_user or lower.startswith(prefixes):
                has_named = True
            elif lower != _AUTHORIZATION:
                kept.add(name, value)
        if _PROTOCOLS in kept:
            kept[_PROTOCOLS] = remove_websocket_token(", ".join(kept.getall(_PROTOCOLS)))
        return kept, has_named

    def strip(request: Request) -> None:
        headers = request.headers
        if type(headers) is KnownHeaders:
            found = headers.notes.get(strip)
            if found is None:
                kept, has_named = stripped(headers)
                found = headers.notes[strip] = (None if kept is None else KnownHeaders(kept), has_named)
            kept, has_named = found
        else:
            kept, has_named = stripped(headers)
        if kept is not None:
            request.headers = kept
        if has_named:
            request.values[NAMED_ITSELF] = True

    return strip
