"""Requests for what another server serves: sent on as they are, the answers sent back as they come.

Source: the behaviour and the texts of kubernetes/kube-aggregator ``pkg/apiserver/handler_proxy.go`` and
kubernetes/apimachinery ``pkg/util/proxy``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from controlplane.aggregator.registration import Backend, Registration
from controlplane.aggregator.transport import BackendTransport, NotResolved
from controlplane.apiserver.filters.labels import resource_labels
from controlplane.apiserver.filters.metrics import TERMINATIONS
from controlplane.apiserver.filters.plain import plain_error
from controlplane.client.forward.answers import passed_on
from controlplane.client.forward.identity import asks_for_upgrade, forwarded
from controlplane.client.forward.transport import NotTrusted, Unanswered
from controlplane.client.forward.upgrade import BadUpgrade, upgrade
from controlplane.client.request import Request, Response
from controlplane.client.webhook import Endpoint

__all__ = ["Proxy"]

DISCOVERY_SECONDS = 5.0
"""For a version's list of resources, which others wait for."""

_COMPONENT = "aggregator"
_UNAVAILABLE = "service unavailable"
_REDIRECTED = "the backend attempted to redirect this request, which is not permitted"


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
        target, lines = forwarded(request)
        limit = DISCOVERY_SECONDS if _is_discovery(request) else None
        try:
            if asks_for_upgrade(request.headers):
                return await self._upgraded(request, backend, endpoint, target, lines)
            async with asyncio.timeout(limit):
                body = await request.body()
                answer = await self._transport.send(backend, endpoint, request.method, target, lines=lines, body=body)
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
        try:
            return await passed_on(answer, method=request.method)
        except ConnectionError as error:
            return _refused(request, 503, f"error trying to reach service: {error}")

    async def _upgraded(
        self, request: Request, backend: Backend, endpoint: Endpoint, target: str, lines: bytes
    ) -> Response:
        """Raises NotTrusted, Unanswered."""
        context = await self._transport.context(backend)
        try:
            return await upgrade(request, endpoint, context, backend.server_name, target=target, lines=lines)
        except BadUpgrade as error:
            return _refused(request, 503, str(error))


def _refused(request: Request, status: int, text: str) -> Response:
    labels = resource_labels(request)
    TERMINATIONS.labels_cached((*labels[:-1], _COMPONENT, str(status))).inc()
    return plain_error(status, text)


def _is_discovery(request: Request) -> bool:
    return not request.info.is_resource and len(request.path.strip("/").split("/")) == 3
