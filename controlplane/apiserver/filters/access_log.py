"""One line a request: at debug, or at info where it was slow or failed on our side.

Source: the keys of kubernetes/apiserver ``pkg/server/httplog``.
"""

from __future__ import annotations

from time import monotonic

from controlplane.apiserver.filters.afterwards import afterwards
from controlplane.apiserver.filters.streams import around_stream
from controlplane.base import logs
from controlplane.client.request import Handler, Request, Response, StreamResponse

__all__ = ["SLOW_SECONDS", "with_access_log"]

log = logs.get(__name__)

SLOW_SECONDS = 1.0
"""Above this an ordinary request is worth a line: Kubernetes' latency objective for single objects."""


def with_access_log(following: Handler) -> Handler:
    """Log each request once: an answer when it is made, a stream when it has ended."""

    def write(request: Request, response: Response, seconds: float, *, loud: bool) -> None:
        (log.info if loud else log.debug)(
            "request",
            verb=request.info.verb,
            uri=f"{request.path}?{request.query_string}" if request.query_string else request.path,
            latency_seconds=round(seconds, 6),
            user_agent=request.headers.get("User-Agent", ""),
            audit_id=request.audit_id,
            source=request.remote or "loopback",
            status=response.status,
        )

    def look(request: Request, response: Response) -> None:
        if isinstance(response, StreamResponse):
            if log.debugging:
                around_stream(
                    response,
                    began=lambda: None,
                    ended=lambda: write(request, response, monotonic() - request.received_at, loud=False),
                )
            return
        seconds = monotonic() - request.received_at
        failed = response.status >= 500 and not request.path.startswith(("/healthz", "/livez", "/readyz"))
        if failed or seconds > SLOW_SECONDS:
            write(request, response, seconds, loud=True)
        elif log.debugging:
            write(request, response, seconds, loud=False)

    return afterwards(following, look)
