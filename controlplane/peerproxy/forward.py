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

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext, suppress
from typing import NoReturn

from controlplane.apimachinery.status import service_unavailable, too_many_requests
from controlplane.apiserver.registry.peers import Peer
from controlplane.base import logs
from controlplane.client.forward.answers import answer_headers, copy_until_gone, passed_on
from controlplane.client.forward.exchange import Answer
from controlplane.client.forward.identity import forwarded
from controlplane.client.forward.transport import REPEATABLE, ForwardTransport, NotTrusted, Unanswered
from controlplane.client.forward.upgrade import BadUpgrade, asks_for_upgrade, upgrade
from controlplane.client.request import Request, Response, Sink, StreamResponse, UpgradeResponse
from controlplane.client.webhook import Endpoint
from controlplane.peerproxy.config import PeerProxyConfig
from controlplane.peerproxy.events import WholeEvents
from controlplane.peerproxy.metrics import IN_FLIGHT, PROXY_ERRORS, PROXY_TRANSPORT, REFUSED, REROUTED, gvr_labels
from controlplane.peerproxy.trust import NOT_BELIEVED, PeerTrust, remedy_of
from controlplane.peerproxy.waits import Waits

__all__ = ["CONNECT_SECONDS", "RETRY_SECONDS", "Forwarder"]

log = logs.get(__name__)

CONNECT_SECONDS = 0.5
"""Peers are near: one that does not take a connection in this time is not there."""
RETRY_SECONDS = 1
"""After this a client may try again; a peer that comes back is heard of at once."""
_GONE = "it has gone without an answer"

_REQUESTS = IN_FLIGHT.labels_cached(("request",))
_STREAMS = IN_FLIGHT.labels_cached(("stream",))


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
    ) -> None:
        self._config, self._transport, self._trust, self._unavailable = config, transport, trust, unavailable
        self._requests: Counter[str] = Counter()
        self._streams: Counter[str] = Counter()
        self._waits = Waits()

    def gone(self, id_: str) -> None:
        """A peer has gone: no more is waited for what it was sent."""
        self._waits.gone(id_)

    async def forward(self, peer: Peer, request: Request) -> Response:
        """Answer a request with what a peer answers.

        Raises:
            APIError: 503, the peer gives no answer that can be used; 429, it has enough to do.
        """
        id_ = peer.server_id
        if self._requests[id_] >= self._config.requests or (
            request.info.long_running and self._streams[id_] >= self._config.streams
        ):
            REFUSED.labels_cached(("overload",)).inc()
            raise too_many_requests(
                f"as many requests are under way to the server that serves this ({id_}) as it may be sent at a time, "
                "please try again",
                RETRY_SECONDS,
            )
        self._requests[id_] += 1
        _REQUESTS.inc()
        waiting = self._waits.enter(id_)
        try:
            if asks_for_upgrade(request.headers):
                response = await self._upgraded(peer, request)
            else:
                target, lines = forwarded(request, to_peer=True)
                answer = await self._transport.send(
                    self._trust.current,
                    Endpoint(peer.host, peer.port),
                    request.method,
                    target,
                    lines=lines,
                    body=await request.body(),
                )
                if answer.status == 401:
                    answer.close()
                    self._fail(peer, request, "it answered 401 Unauthorized", NOT_BELIEVED)
                if request.info.verb == "watch" and answer.status == 200:
                    response = _watch(answer)
                else:
                    response = await passed_on(answer, method=request.method)
        except asyncio.CancelledError:
            if waiting.was_cause():
                self._fail(peer, request, _GONE, "", was_sent=True)
            raise
        except (Unanswered, NotTrusted, BadUpgrade, OSError) as error:
            was_sent = not isinstance(error, NotTrusted) and not (isinstance(error, Unanswered) and not error.was_sent)
            self._fail(peer, request, str(error) or "it broke off its answer", remedy_of(str(error)), was_sent=was_sent)
        finally:
            self._waits.leave(id_, waiting)
            _REQUESTS.inc(-1)
            self._requests[id_] -= 1
        if type(response) is not Response:
            self._count_while_streaming(id_, response, ends_anytime=request.info.verb == "watch")
        REROUTED.labels_cached((str(response.status), *gvr_labels(request.info))).inc()
        if response.status == 503:
            self._unavailable(id_)
        return response

    async def _upgraded(self, peer: Peer, request: Request) -> Response:
        trust, (target, lines) = self._trust.current, forwarded(request, to_peer=True)
        return await upgrade(
            request,
            Endpoint(peer.host, peer.port),
            await self._transport.context(trust),
            trust.server_name,
            target=target,
            lines=lines,
            connect_seconds=CONNECT_SECONDS,
        )

    def _fail(self, peer: Peer, request: Request, why: str, remedy: str, *, was_sent: bool = False) -> NoReturn:
        """Raises APIError. ``was_sent``: the peer may have acted on it."""
        labels = gvr_labels(request.info)
        PROXY_ERRORS.labels_cached((PROXY_TRANSPORT, *labels)).inc()
        REROUTED.labels_cached(("503", *labels)).inc()
        if remedy:
            log.error(
                "a peer cannot be called", peer=peer.server_id, host=peer.host, port=peer.port, error=why, do=remedy
            )
        else:
            log.info("a peer did not answer", peer=peer.server_id, host=peer.host, port=peer.port, error=why)
        message = f"error trying to reach the server that serves this ({peer.server_id}): {why}"
        if was_sent and request.method not in REPEATABLE:
            raise service_unavailable(f"{message}; what was asked for may have been done")
        raise service_unavailable(message, RETRY_SECONDS)

    def _count_while_streaming(self, id_: str, response: Response, *, ends_anytime: bool) -> None:
        """Count a stream from when it is begun, however it ends. ``ends_anytime``: its end is no failure."""
        if isinstance(response, StreamResponse):
            write = response.run

            async def counted(sink: Sink) -> None:
                with suppress(TimeoutError) if ends_anytime else nullcontext():
                    async with self._streaming(id_):
                        await write(sink)

            response.run = counted
        elif isinstance(response, UpgradeResponse):
            converse = response.run

            async def both_ways(incoming: AsyncIterator[bytes], sink: Sink) -> None:
                with suppress(TimeoutError):  # for whoever talked with the peer, its end is one of the connection
                    async with self._streaming(id_):
                        await converse(incoming, sink)

            response.run = both_ways

    @asynccontextmanager
    async def _streaming(self, id_: str) -> AsyncIterator[None]:
        """Raises TimeoutError: the peer has gone."""
        self._streams[id_] += 1
        _STREAMS.inc()
        try:
            async with self._waits.waiting(id_):
                yield
        finally:
            _STREAMS.inc(-1)
            self._streams[id_] -= 1


def _watch(answer: Answer) -> StreamResponse:
    """A watch, which ends after a whole event, however it ends."""
    content_type = answer.headers.get("Content-Type", "")
    is_text = "protobuf" not in content_type

    async def run(sink: Sink) -> None:
        try:
            await copy_until_gone(answer, sink, cut=WholeEvents(is_text=is_text).feed)
        except OSError as error:  # the client resumes it, as it would after this server's own end
            log.debug("a peer broke off a watch", error=error)

    return StreamResponse(run, content_type=content_type, headers=answer_headers(answer), is_text=is_text)
