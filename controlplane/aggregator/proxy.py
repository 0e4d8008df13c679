"""Requests for what another server serves: sent on as they are, the answers sent back as they come.

Source: the behaviour and the texts of kubernetes/kube-aggregator ``pkg/apiserver/handler_proxy.go`` and
kubernetes/apimachinery ``pkg/util/proxy``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from controlplane.aggregator.identity import forwarded_headers
from controlplane.aggregator.registration import Registration
from controlplane.aggregator.transport import BackendTransport, NotResolved, NotTrusted, Unanswered, target_of
from controlplane.apiserver.filters.labels import resource_labels
from controlplane.apiserver.filters.metrics import TERMINATIONS
from controlplane.apiserver.filters.plain import plain_error
from controlplane.base.streams import Chunk
from controlplane.base.tasks import TaskGroup
from controlplane.client.request import Request, Response, Sink, StreamResponse

if TYPE_CHECKING:
    from aiohttp import ClientResponse

__all__ = ["Proxy"]

DISCOVERY_SECONDS = 5.0
"""For a version's list of resources, which others wait for."""
WHOLE_BYTES = 64 * 1024
"""Answers that are known to be no larger are read whole; others are passed on as they come."""
UNSENT_BYTES = 256 * 1024
"""What may wait for a client that reads slowly."""

_COMPONENT = "aggregator"
_UNAVAILABLE = "service unavailable"
_REDIRECTED = "the backend attempted to redirect this request, which is not permitted"
_NOT_PASSED_ON = frozenset(
    {
        *("connection", "keep-alive", "proxy-authenticate", "trailer", "transfer-encoding", "upgrade"),
        *("content-length", "content-type", "date", "audit-id"),
    }
)
"""Headers of an answer that are made here, or are the connection's."""


class Proxy:
    """Sends requests on. ``unreachable`` hears which API service's server did not answer."""

    def __init__(
        self, transport: BackendTransport, *, reject_redirects: bool, unreachable: Callable[[str], None]
    ) -> None:
        self._transport, self._reject_redirects, self._unreachable = transport, reject_redirects, unreachable

    async def forward(self, registration: Registration, request: Request) -> Response:
        """Answer a request with what the registered service answers."""
        backend = registration.backend
        assert backend is not None
        if not registration.available:
            return _refused(request, 503, _UNAVAILABLE)
        try:
            endpoint = await self._transport.resolve(backend)
        except NotResolved:
            return _refused(request, 503, _UNAVAILABLE)
        target, headers = target_of(request.path, request.query_string), forwarded_headers(request)
        limit = DISCOVERY_SECONDS if _is_discovery(request) else None
        try:
            async with asyncio.timeout(limit):
                body = await request.body()
                answer = await self._transport.send(
                    backend, endpoint, request.method, target, headers=headers, body=body
                )
        except NotTrusted as error:
            return _refused(request, 500, str(error))
        except Unanswered as error:
            self._unreachable(registration.name)
            return _refused(request, 503, f"error trying to reach service: {error}")
        except TimeoutError:
            self._unreachable(registration.name)
            return _refused(request, 503, "error trying to reach service: context deadline exceeded")
        if self._reject_redirects and 300 <= answer.status < 400 and answer.headers.get("Location"):
            answer.close()
            return Response(502, _REDIRECTED.encode(), content_type="text/plain; charset=utf-8")
        return await _passed_on(request, answer)


def _refused(request: Request, status: int, text: str) -> Response:
    labels = resource_labels(request)
    TERMINATIONS.labels_cached((*labels[:-1], _COMPONENT, str(status))).inc()
    return plain_error(status, text)


def _is_discovery(request: Request) -> bool:
    return not request.info.is_resource and len(request.path.strip("/").split("/")) == 3


async def _passed_on(request: Request, answer: ClientResponse) -> Response:
    content_type = answer.headers.get("Content-Type", "")
    headers = [
        (name, value)
        for name, value in answer.headers.items()
        if name.lower() not in _NOT_PASSED_ON and not name.lower().startswith("access-control-")
    ]
    length = answer.content_length
    if request.method == "HEAD" or answer.status in {204, 304} or (length is not None and length <= WHOLE_BYTES):
        async with answer:
            body = await answer.read()
        return Response(answer.status, body, content_type=content_type, headers=headers)

    async def run(sink: Sink) -> None:
        await _copy_until_gone(answer, sink)

    return StreamResponse(run, status=answer.status, content_type=content_type, headers=headers)


async def _copy_until_gone(answer: ClientResponse, sink: Sink) -> None:
    """Copy an answer's body, until it ends or the client has gone.

    Raises:
        ClientError, OSError: the other server broke off, so what came is not whole.
    """
    try:
        async with TaskGroup("proxied") as group:
            copying = group.start(_copy(answer, sink), name="copy")
            gone = group.start(sink.until_closed(), name="gone")
            await asyncio.wait({copying, gone}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        answer.close()


async def _copy(answer: ClientResponse, sink: Sink) -> None:
    async for piece in answer.content.iter_any():
        sink.write(Chunk(piece))
        if sink.buffered_bytes() > UNSENT_BYTES:
            drained = asyncio.Event()
            sink.on_drain(drained.set)
            await drained.wait()
