"""The gate that closes when the server shuts down, and the count of what is still inside.

Ordinary requests are counted from here to their answer. Once the gate is closed new ones are refused; health checks,
metrics and the server's own requests are let through. Long-running requests are not counted: their streams are ended.

Source: kubernetes/apiserver ``pkg/server/filters`` (WithWaitGroup, WithRetryAfter).
"""

from __future__ import annotations

import asyncio

from controlplane.apimachinery.status import service_unavailable
from controlplane.apiserver.filters.plain import plain_error
from controlplane.client.request import Handler, Request, Response

__all__ = ["DrainGate", "with_drain_gate", "with_retry_after"]

_EXEMPT_PATHS = ("/readyz", "/livez", "/healthz", "/metrics")
_SHUTTING_DOWN = "The apiserver is shutting down, please try again later."


class DrainGate:
    """Counts requests inside; ``close`` once, then ``await drained()``."""

    __slots__ = ("_empty", "closed", "inside")

    def __init__(self) -> None:
        self.inside = 0
        self.closed = False
        self._empty = asyncio.Event()

    def close(self) -> None:
        """Let no more in."""
        self.closed = True
        if self.inside == 0:
            self._empty.set()

    def left(self) -> None:
        """One request has its answer."""
        self.inside -= 1
        if self.closed and self.inside == 0:
            self._empty.set()

    async def drained(self) -> None:
        """Wait until the gate is closed and nothing is inside."""
        await self._empty.wait()


def _exempt(request: Request) -> bool:
    return request.identity is not None or request.path.startswith(_EXEMPT_PATHS)


def with_retry_after(following: Handler, *, gate: DrainGate, enabled: bool) -> Handler:
    """While the server drains, answer 429 and close the connection, so that clients go to another server
    (``--shutdown-send-retry-after``)."""
    if not enabled:
        return following

    async def handle(request: Request) -> Response:
        if gate.closed and not _exempt(request):
            return plain_error(429, _SHUTTING_DOWN, ("Connection", "close"), ("Retry-After", "5"))
        return await following(request)

    return handle


def with_drain_gate(following: Handler, *, gate: DrainGate) -> Handler:
    """Count ordinary requests, and refuse them once the gate is closed."""

    async def handle(request: Request) -> Response:
        if request.info.long_running:
            return await following(request)
        if gate.closed:
            if not _exempt(request):
                raise service_unavailable("apiserver is shutting down", retry_after_seconds=1)
            return await following(request)
        gate.inside += 1
        try:
            return await following(request)
        finally:
            gate.left()

    return handle
