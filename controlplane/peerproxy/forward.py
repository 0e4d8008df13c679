"""One request sent on to one peer, and its answer sent back.

The user goes along in identity headers, under this server's proxy certificate. What fails on the way is 503 with
Retry-After and never another answer: nobody may take a peer that cannot be reached for something that is not there.
A write that was sent and lost its answer is 503 without it: clients repeat by themselves what says when to, and it may
have been done.

A peer gets a bounded number of requests at a time. A watch whose peer goes ends as one whose server goes: between two
events, for the client to resume it. A peer has gone, too, when its record has: one that is stopped or hangs keeps its
connections and never answers.

Source: the role of kubernetes/apiserver ``pkg/util/peerproxy/peerproxy_handler.go``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple
from weakref import WeakSet

from controlplane.apimachinery.status import APIError, service_unavailable, too_many_requests
from controlplane.apiserver.registry.peers import Peer
from controlplane.base import logs
from controlplane.base.clock import Clock
from controlplane.client.forward.answers import copy_until_gone, passed_on, passed_on_whole
from controlplane.client.forward.exchange import Answer
from controlplane.client.forward.identity import asks_for_upgrade, forwarded, to_peer
from controlplane.client.forward.pool import Pool
from controlplane.client.forward.transport import REPEATABLE, ForwardTransport, NotTrusted, Unanswered
from controlplane.client.forward.upgrade import BadUpgrade, upgrade
from controlplane.client.request import Request, Response, Sink, StreamResponse, UpgradeResponse
from controlplane.client.webhook import Endpoint
from controlplane.peerproxy.config import PeerProxyConfig
from controlplane.peerproxy.events import WholeEvents
from controlplane.peerproxy.metrics import IN_FLIGHT, PROXY_ERRORS, PROXY_TRANSPORT, REFUSED, Rerouted, gvr_labels
from controlplane.peerproxy.trust import PeerTrust, remedy_of
from controlplane.peerproxy.waits import Waits

__all__ = ["CONNECT_SECONDS", "RETRY_SECONDS", "Forwarder", "Route", "Undone"]

log = logs.get(__name__)

CONNECT_SECONDS = 0.5
"""Peers are near: one that does not take a connection in this time is not there."""
RETRY_SECONDS = 1
"""After this a client may try again; a peer that comes back is heard of at once."""
SHUNNED_SECONDS = 5.0
"""So long a peer that took no connection is not asked before others; one that was killed has a record for longer."""
GONE = "it has gone without an answer"


class Undone(Exception):
    """A peer gives no answer, and nothing has been done, or may be done again: another may be asked."""


class Route(NamedTuple):
    """How requests of a verb for a path are answered: by one of the peers ``able``, unless ``definition`` (a key) is in
    the store, which would make what they ask for everybody's. ``path``: as it is sent."""

    able: tuple[str, ...]
    definition: bytes | None
    path: str
    rerouted: Rerouted


class _Way:
    """The way to one peer: how many ordinary requests and streams are under way to it, its connections (None: none are
    known), and how long it is shunned."""

    __slots__ = ("endpoint", "peer", "pool", "requests", "shunned_until", "streams")

    def __init__(self, peer: Peer) -> None:
        self.peer, self.endpoint = peer, Endpoint(peer.host, peer.port)
        self.requests = self.streams = 0
        self.shunned_until = 0.0
        self.pool: Pool | None = None

    def leads_to(self, peer: Peer) -> None:
        """From now on, as the peer is elsewhere."""
        self.peer, self.endpoint, self.pool, self.shunned_until = peer, Endpoint(peer.host, peer.port), None, 0.0


class Forwarder:
    """Sends requests to peers, each of which proves itself by ``trust``. ``unavailable`` hears which peer, by its id,
    has answered 503."""

    def __init__(
        self,
        config: PeerProxyConfig,
        transport: ForwardTransport,
        trust: PeerTrust,
        *,
        unavailable: Callable[[str], None],
        clock: Clock,
    ) -> None:
        self._transport, self._trust, self._unavailable, self._clock = transport, trust, unavailable, clock
        self._most_requests, self._most_streams = config.requests, config.streams
        self._ways: dict[str, _Way] = {}
        self._waits = Waits()
        _FORWARDERS.add(self)

    def under_way(self) -> tuple[int, int]:
        """Ordinary requests and streams, to all peers."""
        ways = self._ways.values()
        return sum(way.requests for way in ways), sum(way.streams for way in ways)

    def gone(self, peer: Peer) -> None:
        """A peer has gone: no more is waited for what it was sent."""
        self._transport.leave(Endpoint(peer.host, peer.port), GONE)
        self._waits.gone(peer.server_id)

    def shuns(self, peer: Peer) -> bool:
        """Whether a peer took no connection when it was last asked, a moment ago."""
        way = self._ways.get(peer.server_id)
        return way is not None and way.peer is peer and self._clock.monotonic() < way.shunned_until

    async def forward(self, peer: Peer, request: Request, route: Route, *, others: bool = False) -> Response:
        """Answer a request with what a peer answers. ``others``: another can be asked where this one does nothing.

        Raises:
            Undone: only if there are others.
            APIError: 503, the peer gives no answer that can be used; 429, it has enough to do.
        """
        info, way = request.info, self._ways.get(peer.server_id)
        if way is None or way.peer is not peer:
            way = self._way(peer)
        if way.requests >= self._most_requests or (info.long_running and way.streams >= self._most_streams):
            if others:
                raise Undone
            REFUSED.labels_cached(("overload",)).inc()
            raise too_many_requests(
                f"as many requests are under way to the server that serves this ({peer.server_id}) as it may be sent "
                "at a time, please try again",
                RETRY_SECONDS,
            )
        way.requests += 1
        try:
            said, pool, query, audit_id = (
                to_peer(request, way.endpoint),
                way.pool,
                request.query_string,
                request.audit_id,
            )
            target = f"{route.path}?{query}" if query else route.path
            is_plain = said.plain and audit_id and (target + audit_id).isprintable()
            if is_plain and pool is not None and not pool.retired:
                sent = f"{request.method} {target} {said.rest}Audit-Id: {audit_id}\r\n\r\n"
                answer = await self._transport.exchange(
                    self._trust.current, way.endpoint, request.method, sent.encode("utf-8", "surrogateescape"), pool
                )
                whole = answer.whole
                if whole is not None and answer.head.status != 401:
                    response = passed_on_whole(answer, whole)
                else:
                    response = await self._passed_on(way, answer, request)
            elif asks_for_upgrade(request.headers):
                response = await self._upgraded(way, request)
            else:
                response = await self._passed_on(way, await self._asked(way, request), request)
        except (Unanswered, NotTrusted, BadUpgrade, OSError) as error:
            is_unreached = isinstance(error, Unanswered) and not error.was_sent
            if is_unreached:
                way.shunned_until = self._clock.monotonic() + SHUNNED_SECONDS
            was_sent = not isinstance(error, NotTrusted) and not is_unreached
            failure = self._failure(
                peer, request, str(error) or "it broke off its answer", remedy_of(str(error)), was_sent=was_sent
            )
            if others and failure.retry_after_seconds:
                raise Undone from error
            route.rerouted.inc(503)
            raise failure from error
        finally:
            way.requests -= 1
        route.rerouted.inc(response.status)
        if response.status == 503:
            self._unavailable(peer.server_id)
        return response

    def _way(self, peer: Peer) -> _Way:
        way = self._ways.get(peer.server_id)
        if way is None:
            way = self._ways[peer.server_id] = _Way(peer)
        else:
            way.leads_to(peer)
        return way

    async def _asked(self, way: _Way, request: Request) -> Answer:
        """Send a request, whatever it is, and whether there are connections.

        Raises:
            Unanswered. NotTrusted. OSError.
        """
        trust, (target, lines), body = self._trust.current, forwarded(request, to_peer=True), await request.body()
        way.pool = await self._transport.pool(trust, way.endpoint)
        return await self._transport.send(trust, way.endpoint, request.method, target, lines=lines, body=body)

    async def _passed_on(self, way: _Way, answer: Answer, request: Request) -> Response:
        """What is not just passed on: an answer of which more is to come, or that is not for whoever has asked.

        Raises:
            Unanswered. OSError.
        """
        if answer.head.status == 401:
            answer.close()
            raise Unanswered("it answered 401 Unauthorized")
        if answer.whole is not None:
            return passed_on_whole(answer, answer.whole)
        is_encoded = "Content-Encoding" in answer.headers  # events cannot be told apart then
        if request.info.verb == "watch" and answer.head.status == 200 and not is_encoded:
            response: Response = _watch(answer)
        else:
            response = await passed_on(answer, method=request.method)
        if isinstance(response, StreamResponse):
            write = response.run

            async def counted(sink: Sink) -> None:
                with _counted(way):
                    await write(sink)

            response.run = counted
        return response

    async def _upgraded(self, way: _Way, request: Request) -> Response:
        """Raises Unanswered, NotTrusted, BadUpgrade."""
        trust, (target, lines) = self._trust.current, forwarded(request, to_peer=True)
        try:
            async with self._waits.waiting(way.peer.server_id):
                response = await upgrade(
                    request,
                    way.endpoint,
                    await self._transport.context(trust),
                    trust.server_name,
                    target=target,
                    lines=lines,
                    connect_seconds=CONNECT_SECONDS,
                )
        except TimeoutError:
            raise Unanswered(GONE, was_sent=True) from None
        if response.status == 401:
            raise Unanswered("it answered 401 Unauthorized")
        if isinstance(response, UpgradeResponse):
            converse = response.run

            async def both_ways(incoming: AsyncIterator[bytes], sink: Sink) -> None:
                with _counted(way), suppress(TimeoutError):  # for whoever talked with the peer, it is a line that ends
                    async with self._waits.waiting(way.peer.server_id):
                        await converse(incoming, sink)

            response.run = both_ways
        return response

    def _failure(self, peer: Peer, request: Request, why: str, remedy: str, *, was_sent: bool) -> APIError:
        """What is told of a peer that gave no answer. ``was_sent``: it may have acted on the request."""
        PROXY_ERRORS.labels_cached((PROXY_TRANSPORT, *gvr_labels(request.info))).inc()
        if remedy:
            log.error(
                "a peer cannot be called", peer=peer.server_id, host=peer.host, port=peer.port, error=why, do=remedy
            )
        else:
            log.info("a peer did not answer", peer=peer.server_id, host=peer.host, port=peer.port, error=why)
        message = f"error trying to reach the server that serves this ({peer.server_id}): {why}"
        if was_sent and request.method not in REPEATABLE:
            return service_unavailable(f"{message}; what was asked for may have been done")
        return service_unavailable(message, RETRY_SECONDS)


@contextmanager
def _counted(way: _Way) -> Iterator[None]:
    way.streams += 1
    try:
        yield
    finally:
        way.streams -= 1


_FORWARDERS: WeakSet[Forwarder] = WeakSet()
"""Of the process: metrics are of a process."""
IN_FLIGHT.labels_cached(("request",)).read_from(lambda: sum(one.under_way()[0] for one in _FORWARDERS))
IN_FLIGHT.labels_cached(("stream",)).read_from(lambda: sum(one.under_way()[1] for one in _FORWARDERS))


def _watch(answer: Answer) -> StreamResponse:
    """A watch, which ends after a whole event, however it ends."""
    status, content_type, headers = answer.head.passed_on
    is_text = "protobuf" not in content_type

    async def run(sink: Sink) -> None:
        try:
            await copy_until_gone(answer, sink, cut=WholeEvents(is_text=is_text).feed)
        except OSError as error:  # the client resumes it, as it would after this server's own end
            log.debug("a peer broke off a watch", error=error)

    return StreamResponse(run, status=status, content_type=content_type, headers=[*headers], is_text=is_text)
