"""The header that says that a peer has sent a request on: believed of a peer, taken out of everybody else's requests.

Who names a user beside it and is not believed is refused: it is a peer whose certificate is not accepted, and would
otherwise act as whoever its certificate names, or somebody who would like to be one.

Source: KEP-4020; upstream believes the header of every client.
"""

from __future__ import annotations

from collections.abc import Awaitable

from multidict import CIMultiDict, CIMultiDictProxy, istr

from controlplane.apimachinery.status import unauthorized
from controlplane.apiserver.authentication.front_proxy import BY_FRONT_PROXY
from controlplane.apiserver.filters.authentication import NAMED_ITSELF
from controlplane.apiserver.filters.chain import Filter
from controlplane.apiserver.registry.peers import FROM_PEER
from controlplane.base import logs
from controlplane.base.clock import Clock
from controlplane.client.forward.identity import PEER_PROXIED
from controlplane.client.request import Handler, KnownHeaders, Request, Response

__all__ = ["MARK", "mark_filter"]

MARK = "peer-mark"
"""The filter's name; its place is after authentication."""
QUIET_SECONDS = 60.0
"""Between two lines about refused requests, whose number is not ours to choose."""

_HEADER = istr(PEER_PROXIED)

log = logs.get(__name__)


def mark_filter(clock: Clock) -> Filter:
    """The filter."""
    return Filter(MARK, lambda following, _config: with_peer_mark(following, clock=clock))


def with_peer_mark(following: Handler, *, clock: Clock) -> Handler:
    """Set ``request.values[FROM_PEER]`` on what a peer has sent on; answer 401 to who only says that it is one."""
    quiet_until = 0.0

    def tell(request: Request) -> None:
        nonlocal quiet_until
        now = clock.monotonic()
        if now >= quiet_until:
            quiet_until = now + QUIET_SECONDS
            log.error(
                "a request says that a peer has sent it, and is not by a peer's certificate",
                source=request.remote,
                do="if it is a peer: its --proxy-client-cert-file must be signed by this server's "
                "--requestheader-client-ca-file, and named in --requestheader-allowed-names if there are any",
            )

    def handle(request: Request) -> Awaitable[Response]:
        headers = request.headers
        if _HEADER not in headers:
            return following(request)
        if type(headers) is KnownHeaders:
            request.headers = headers.notes.get(MARK) or headers.notes.setdefault(MARK, KnownHeaders(_without(headers)))
        else:
            request.headers = _without(headers)
        if BY_FRONT_PROXY in request.values:
            request.values[FROM_PEER] = True
        elif NAMED_ITSELF in request.values:
            tell(request)
            raise unauthorized()
        return following(request)

    return handle


def _without(headers: CIMultiDict[str] | CIMultiDictProxy[str]) -> CIMultiDict[str]:
    kept = CIMultiDict(headers)
    kept.popall(_HEADER)
    return kept
