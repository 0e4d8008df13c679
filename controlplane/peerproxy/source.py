"""The peer proxy as a server takes it in: a source of resources that other servers on the same store serve.

What cannot be served here goes to a live peer that can, picked at random; to another one only if that has done nothing,
as one that has just been killed. And it goes on once: a request that a peer has sent on is answered here or not at all,
whatever that peer believes, so there are no loops. Nobody is told that something is not there as long as a peer lives
that has not said what it serves.

Peers and their addresses are those of the peer records, which nobody but servers can write.

Source: KEP-4020, and the role of kubernetes/apiserver ``pkg/util/peerproxy``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from http import HTTPStatus

from controlplane.apimachinery.identity import GroupResource, GroupVersion
from controlplane.apimachinery.status import APIError, service_unavailable
from controlplane.apiserver.registry.peers import FROM_PEER, NOT_ALL_HEARD, Elsewhere, Peer, PeerResources
from controlplane.apiserver.registry.sources import SourceDescriptor, SourceHook, SourceHost, SourceServices
from controlplane.apiserver.registry.table import ResourceTable
from controlplane.client.forward.head import quoted_path
from controlplane.client.forward.identity import MEANT_FOR
from controlplane.client.forward.transport import ForwardTransport
from controlplane.client.request import Request, Response
from controlplane.client.request_info import RequestInfo
from controlplane.peerproxy.cache import Heard, PeerCache
from controlplane.peerproxy.config import PeerProxyConfig
from controlplane.peerproxy.everybodys import Everybodys
from controlplane.peerproxy.fetch import PeerFetch
from controlplane.peerproxy.forward import CONNECT_SECONDS, RETRY_SECONDS, Forwarder, Route, Undone
from controlplane.peerproxy.metrics import ENDPOINT_RESOLUTION, PROXY_ERRORS, REFUSED, Rerouted, gvr_labels
from controlplane.peerproxy.stale import as_stale
from controlplane.peerproxy.trust import PeerTrust

__all__ = ["NAME", "PeerSource", "peer_source"]

NAME = "peers"
DEAD_SECONDS = 15
"""A peer's machine that does not acknowledge for so long has gone: the time after which its record ends, too."""
SEVERAL_SECONDS = 1.0
"""After this no further peer is tried for one request."""
FIRST_HEARING_SECONDS = 2.0
"""How long readiness, and a request for something unknown, waits for peers that have not been asked once."""


_REMEMBERED_ROUTES = 4096
_REMEMBERED_CHARACTERS = 512
"""Of a path."""


def peer_source(config: PeerProxyConfig) -> SourceDescriptor:
    """The source, to be added to a config's."""
    return SourceDescriptor(NAME, (), lambda services: PeerSource(config, services))


class PeerSource:
    """See ``registry.sources.Source``.

    Raises:
        OSError: a file cannot be read.
    """

    settles: frozenset[GroupResource] = frozenset()

    def __init__(self, config: PeerProxyConfig, services: SourceServices) -> None:
        self._config, self._tables, self._peers = config, services.tables, services.peers
        self._clock, self._random = services.registry.clock, services.registry.random
        self._trust = PeerTrust(config.ca_file)
        self._transport = ForwardTransport(
            cert_file=config.proxy_cert_file,
            key_file=config.proxy_key_file,
            connect_seconds=CONNECT_SECONDS,
            dead_seconds=DEAD_SECONDS,
        )
        self._forwarder = Forwarder(
            config, self._transport, self._trust, unavailable=self._ask_again, clock=self._clock
        )
        self._everybodys = Everybodys(services.mirror, services.tables)
        self._left_out = self._everybodys.names()
        self._routes: dict[tuple[str, str], Route] = {}
        """By verb and path, of the current table."""
        self._looking: asyncio.Handle | None = None
        fetch = PeerFetch(self._transport, self._trust, self._tables, self._everybodys, whole=config.whole)
        self._cache = PeerCache(
            self._peers, fetch, changed=self._show, clock=self._clock, on_failure=services.on_failure
        )
        self._show()
        self._stops = (self._tables.subscribe(self._look_at), self._peers.follow(self._follow))

    def hooks(self) -> Sequence[tuple[str, SourceHook]]:
        return (
            ("local-discovery-cache-sync", _at_once),
            ("peer-discovery-workers", self._begin),
            ("mixed-version-proxy-handler", self._wait),
        )

    async def catch_up(self, request: Request) -> bool:
        """Wait a moment for peers that have just come; who is still not heard then is nobody's absence.

        A peer is answered at once: it sees what this server serves itself, and two that start together would each wait
        for the other before answering.

        Raises:
            APIError: 421: the peer has asked for another server.
        """
        if FROM_PEER in request.values:
            if request.headers.get(MEANT_FOR, self._peers.own_id) != self._peers.own_id:
                raise APIError(HTTPStatus.MISDIRECTED_REQUEST, "MisdirectedRequest", "this is another server")
        elif self._cache.unheard():
            await self._first_hearing()
        return True

    async def settled(self) -> None:
        """Nothing follows from writes."""

    async def close(self) -> None:
        if self._looking is not None:
            self._looking.cancel()
        for stop in self._stops:
            stop()
        await self._cache.close()
        await self._transport.close()

    def answer(self, request: Request) -> Awaitable[Response] | None:
        """The answer of a peer to what cannot be served here; None: all peers have been heard, and none serves it.

        Raises:
            APIError: 503: a peer has sent it on; not all have been heard. Waiting for it: the one picked gives none.
        """
        if FROM_PEER in request.values:
            REFUSED.labels_cached(("proxied",)).inc()
            raise service_unavailable(
                "another server has sent this request on, and this server does not serve it either", RETRY_SECONDS
            )
        info = request.info
        route = self._routes.get((info.verb, info.path)) or self._route(info)
        if route is None or (route.definition and self._everybodys.is_defined(route.definition)):
            return None
        able = route.able
        if len(able) != 1:
            return self._by_any(request, route)
        peer = self._peers.peers.get(able[0])
        if peer is None:
            raise _unresolved(route)
        return self._forwarder.forward(peer, request, route)

    async def _by_any(self, request: Request, route: Route) -> Response:
        """The answer of a random one of several peers; of another where that one does nothing, as one that was killed
        and has a record yet. Those that took no connection a moment ago come last.

        Raises:
            APIError: see ``answer``.
        """
        peers = [peer for id_ in route.able if (peer := self._peers.peers.get(id_)) is not None]
        self._random.shuffle(peers)
        peers.sort(key=self._forwarder.shuns)
        last_at = self._clock.monotonic() + SEVERAL_SECONDS
        for left, peer in zip(range(len(peers) - 1, -1, -1), peers, strict=True):
            with suppress(Undone):
                others = left > 0 and self._clock.monotonic() < last_at
                return await self._forwarder.forward(peer, request, route, others=others)
        raise _unresolved(route)

    def _route(self, info: RequestInfo) -> Route | None:
        """Who answers, as the table has it; None: nobody.

        Raises:
            APIError: 503: not all peers have been heard.
        """
        table = self._tables.current
        elsewhere = table.elsewhere
        if elsewhere is None or GroupVersion(info.group, info.version) in table.remotes:
            return None
        able, definition = elsewhere.able(info), self._everybodys.definition_key(info.group, info.resource)
        if not able:
            if self._cache.unheard() and not (definition and self._everybodys.is_defined(definition)):
                REFUSED.labels_cached(("unsynced",)).inc()
                raise service_unavailable(NOT_ALL_HEARD, RETRY_SECONDS)
            return None
        route = Route(able, definition, quoted_path(info.path), Rerouted(gvr_labels(info)))
        if len(info.path) <= _REMEMBERED_CHARACTERS:
            if len(self._routes) >= _REMEMBERED_ROUTES:
                self._routes.clear()
            self._routes[info.verb, info.path] = route
        return route

    def _ask_again(self, id_: str) -> None:
        """A peer that cannot serve may not serve any more what it did."""
        self._cache.ask_again(id_)

    async def _begin(self, host: SourceHost) -> None:
        host.start(self._transport.follow_certificate(self._clock), name="peer-proxy-client-certificate")
        host.start(self._trust.follow(self._clock, self._trust_anew), name="peer-authorities")
        self._cache.begin()

    async def _wait(self, _host: SourceHost) -> None:
        """So that a server that is ready shows what its peers serve, as far as they answer."""
        await self._first_hearing()

    async def _first_hearing(self) -> None:
        try:
            async with asyncio.timeout(FIRST_HEARING_SECONDS):
                await self._cache.tried()
        except TimeoutError:
            return

    def _trust_anew(self) -> None:
        """Connections to peers that proved themselves otherwise are not used again."""
        self._transport.forget(frozenset({self._trust.current}))

    def _follow(self, old: Peer | None, new: Peer | None) -> None:
        """Whoever waits for a process that has gone waits in vain, though its connections may be there still."""
        if old is not None and (new is None or new.holder != old.holder):
            self._forwarder.gone(old)

    def _show(self) -> None:
        """Put what has been heard into the table."""
        self._left_out = self._everybodys.names()
        servers = {id_: self._resources(heard) for id_, heard in sorted(self._cache.heard.items())}
        elsewhere = Elsewhere(
            own_id=self._peers.own_id,
            servers=servers,
            answer=self.answer,
            whole=self._config.whole,
            all_heard=lambda: not self._cache.unheard(),
        )
        self._tables.swap(self._tables.current.with_elsewhere(elsewhere), complete=self._tables.complete)

    def _resources(self, heard: Heard) -> PeerResources:
        groups = self._everybodys.left_out(heard.groups)
        shown = groups if heard.current else as_stale(groups)
        return PeerResources.of(shown, legacy=heard.legacy, openapi=heard.openapi)

    def _look_at(self, _table: ResourceTable) -> None:
        """What is everybody's may have changed; the table is not swapped while it is being swapped."""
        self._routes.clear()
        if self._cache.heard and self._looking is None:
            self._looking = asyncio.get_running_loop().call_soon(self._look_again)

    def _look_again(self) -> None:
        self._looking = None
        if self._everybodys.names() != self._left_out:
            self._show()


def _unresolved(route: Route) -> APIError:
    """Peers that serve something have just gone, and the table is about to show it."""
    PROXY_ERRORS.labels_cached((ENDPOINT_RESOLUTION, *route.rerouted.labels)).inc()
    return service_unavailable("Error getting ip and port info of the remote server while proxying", RETRY_SECONDS)


async def _at_once(_host: SourceHost) -> None:
    """What upstream reads from its own discovery here, the table has from the start."""
