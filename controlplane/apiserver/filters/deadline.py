"""No ordinary request lasts longer than the request timeout, or than its own ``timeout`` parameter says.

At the deadline the handler is cancelled (what it has begun to commit is shielded further down) and the client gets a
504. Long-running requests have no deadline.

Source: kubernetes/apiserver ``pkg/endpoints/filters`` (WithRequestDeadline), ``pkg/server/filters`` (WithTimeout…).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

from controlplane.apimachinery.status import APIError, bad_request, timeout
from controlplane.apiserver.filters.durations import parse_duration
from controlplane.apiserver.filters.labels import resource_labels
from controlplane.apiserver.filters.metrics import TERMINATIONS
from controlplane.base.deadlines import Deadlines
from controlplane.client.request import Handler, Request, Response

__all__ = ["with_deadline"]


def with_deadline(following: Handler, *, seconds: float) -> Handler:
    """Set ``request.deadline`` and keep to it; ``seconds`` is the longest a request may take."""
    common = Deadlines(seconds)

    async def bounded(request: Request, limit: float) -> Response:
        own = common if limit == seconds else Deadlines(limit)
        running = own.enter(asyncio.current_task(), request.received_at or None)
        request.deadline = running.deadline
        try:
            return await following(request)
        except asyncio.CancelledError:
            if running.was_cause():
                raise _expired(request) from None
            raise
        finally:
            own.leave(running)
            if own is not common:
                own.close()

    def handle(request: Request) -> Awaitable[Response]:
        if request.info.long_running:
            return following(request)
        limit = seconds
        if "timeout=" in request.query_string:
            limit = _own_limit(request, seconds)
        return bounded(request, limit)

    return handle


def _own_limit(request: Request, longest: float) -> float:
    """What the ``timeout`` parameter asks for, if it is shorter; 0 and less ask for nothing."""
    text = request.query.first("timeout")
    if not text:
        return longest
    try:
        asked = parse_duration(text)
    except ValueError as error:
        raise bad_request(f"invalid timeout specified in the request URL - {error}") from error
    return asked if 0 < asked < longest else longest


def _expired(request: Request) -> APIError:
    TERMINATIONS.labels_cached((*resource_labels(request), "504")).inc()
    return timeout("request did not complete within the allotted timeout")
