"""Who a request is made as, told to the server that answers it; nothing else about it is believed there.

Source: kubernetes/client-go ``transport/round_trippers.go`` (SetAuthProxyHeaders), kubernetes/apiserver
``pkg/util/proxy`` and kubernetes/apimachinery ``pkg/util/proxy`` for what goes along.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import quote

from multidict import CIMultiDict

from controlplane.apimachinery.status import service_unavailable
from controlplane.apimachinery.user import UserInfo
from controlplane.client.forward.head import header_lines, quoted_path, version_and_host
from controlplane.client.request import KnownHeaders, Request
from controlplane.client.webhook import Endpoint

__all__ = ["MEANT_FOR", "PEER_PROXIED", "ToPeer", "asks_for_upgrade", "forwarded", "identity_headers", "to_peer"]

PEER_PROXIED = "x-kubernetes-peer-proxied"
"""Says that a server on the same store has sent a request on, so that it is sent on once. Nobody but the peer proxy
sets it."""

MEANT_FOR = "X-Controlplane-Meant-For"
"""Header of a question to a peer: its server id. Who is another one does not answer, since the answer would count as
that peer's: addresses may lead to somebody else, to the asker itself too. Kubernetes' servers do not look at it."""

_USER, _UID, _GROUP, _EXTRA = "X-Remote-User", "X-Remote-Uid", "X-Remote-Group", "X-Remote-Extra-"
_REMOTE = "x-remote-"
_CREDENTIALS = frozenset({"authorization", PEER_PROXIED, MEANT_FOR.lower()})
"""What says who sends a request, and to whom: it is not so of the next."""
_HOPS = frozenset(
    {
        *("connection", "keep-alive", "proxy-connection", "proxy-authenticate", "proxy-authorization"),
        *("te", "trailer", "transfer-encoding", "upgrade", "host", "content-length", "expect"),
    }
)
"""Headers of one connection, not of the request."""
_MADE_HERE = frozenset({"x-forwarded-uri", "audit-id"})
"""Whatever a client says in them."""
_NOT_SENT_ON = _HOPS | _CREDENTIALS | _MADE_HERE
_NOT_TOLD = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]|^[ \t]|[ \t]\Z")
"""What does not come through in a header's value as it is."""
_NAME_SAFE = "!#$&'*+-.^_`|~"
"""What a header's name may have beside letters and digits; ``%`` is the escape itself."""


def asks_for_upgrade(headers: Mapping[str, str]) -> bool:
    return "upgrade" in headers.get("Connection", "").lower() and bool(headers.get("Upgrade"))


def identity_headers(user: UserInfo) -> CIMultiDict[str]:
    """The headers that say who somebody is.

    Raises:
        APIError: 503: headers cannot say it, so that whoever reads them would take him for another.
    """
    told = (user.name, user.uid, *user.groups, *(value for values in user.extra.values() for value in values))
    untold = next(filter(_NOT_TOLD.search, told), None)
    if untold is not None:
        raise service_unavailable(
            f"the server that serves this cannot be told who asks: in {untold!r} are control characters, or spaces at "
            "an end"
        )
    headers: CIMultiDict[str] = CIMultiDict({_USER: user.name})
    if user.uid:
        headers[_UID] = user.uid
    for group in user.groups:
        headers.add(_GROUP, group)
    for key, values in user.extra.items():
        for value in values:
            headers.add(_extra_name(key), value)
    return headers


def forwarded(request: Request, *, to_peer: bool = False) -> tuple[str, bytes]:
    """A request as the answering server gets it: its target, and its headers, one a line, without credentials and what
    belongs to the connection, with who makes it and where it came from. ``to_peer``: with the mark of the peer proxy,
    and without what only repeats the target. What differs from request to request comes last: a server that knows the
    rest need not read it again.

    Raises:
        APIError: see ``identity_headers``.
    """
    path, audit_id = quoted_path(request.path), request.audit_id
    lines = _common_lines(request, PEER_PROXIED if to_peer else "")
    if not to_peer:
        lines += b"X-Forwarded-Uri: %b\r\n" % path.encode()
    if audit_id:
        lines += header_lines([("Audit-Id", audit_id)])
    return f"{path}?{request.query_string}" if request.query_string else path, lines


class ToPeer(NamedTuple):
    """What goes to ``endpoint`` of all requests with the same headers by ``user`` from ``remote``, after the target:
    ``rest``, which the Audit-Id follows. ``plain``: they have no body, and ask for no other protocol."""

    user: UserInfo
    remote: str
    endpoint: Endpoint
    rest: str
    plain: bool


def to_peer(request: Request, endpoint: Endpoint) -> ToPeer:
    """See there; made once for headers that a connection sends again. No others are plain: whether there is a body may
    not be told from them.

    Raises:
        APIError: see ``identity_headers``.
    """
    headers, user, remote = request.headers, request.user, request.remote
    if type(headers) is not KnownHeaders:
        return _NOT_PLAIN
    note: ToPeer | None = headers.notes.get(ToPeer)
    if note is None or note.user is not user or note.remote is not remote or note.endpoint is not endpoint:
        note = headers.notes[ToPeer] = _to_peer(request, endpoint)
    return note


def _to_peer(request: Request, endpoint: Endpoint) -> ToPeer:
    rest = version_and_host(endpoint) + _common_lines(request, PEER_PROXIED).decode("utf-8", "surrogateescape")
    headers = request.headers
    plain = not (asks_for_upgrade(headers) or "Content-Length" in headers or "Transfer-Encoding" in headers)
    return ToPeer(request.user, request.remote, endpoint, rest, plain)


_NOT_PLAIN = ToPeer(UserInfo(name=""), "", Endpoint("", 0), "", plain=False)


def _common_lines(request: Request, mark: str) -> bytes:
    user = request.user
    who = (user.name, user.uid, user.groups, tuple(user.extra.items()))
    return _known_lines(tuple(request.headers.items()), request.remote, who, mark)


@lru_cache(maxsize=256)
def _known_lines(
    sent: tuple[tuple[str, str], ...],
    remote: str,
    who: tuple[str, str, tuple[str, ...], tuple[tuple[str, tuple[str, ...]], ...]],
    mark: str,
) -> bytes:
    """What is the same in all requests that one client sends alike. ``mark``: a header to be set to ``true``."""
    name, uid, groups, extra = who
    headers: CIMultiDict[str] = CIMultiDict()
    given = CIMultiDict(sent)
    named = _named_hops(given)
    for header, value in sent:
        lower = header.lower()
        if not (lower in _NOT_SENT_ON or lower in named or lower.startswith(_REMOTE)):
            headers.add(header, value)
    if remote:
        address = remote.rpartition(":")[0].strip("[]") or remote
        before = ", ".join(headers.popall("X-Forwarded-For", []))
        headers["X-Forwarded-For"] = f"{before}, {address}" if before else address
    headers["X-Forwarded-Host"] = given.get("Host", "")
    headers["X-Forwarded-Proto"] = "https"
    headers.extend(identity_headers(UserInfo(name=name, uid=uid, groups=groups, extra=dict(extra))))
    if mark:
        headers[mark] = "true"
    return header_lines(headers.items())


@lru_cache(maxsize=256)
def _extra_name(key: str) -> str:
    return _EXTRA + quote(key, safe=_NAME_SAFE)


def _named_hops(headers: Mapping[str, str]) -> frozenset[str]:
    """Further headers that the sender says are the connection's."""
    named = headers.get("Connection")
    return frozenset(name.strip().lower() for name in named.split(",")) if named else frozenset()
