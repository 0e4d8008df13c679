"""The way to the servers that API services name: where each is, and how it proves itself.

A backend's certificate is verified by the bundle that its API service gives, and must name the service.
"""

from __future__ import annotations

import ssl

from controlplane.aggregator.registration import Backend
from controlplane.base.clock import Clock
from controlplane.client.forward.exchange import Answer
from controlplane.client.forward.transport import ForwardTransport
from controlplane.client.webhook import Endpoint, ServiceResolver

__all__ = ["BackendTransport", "NotResolved"]


class NotResolved(Exception):
    """The service is nowhere; the text says why."""


class BackendTransport:
    """Sends requests. ``cert_file`` and ``key_file``: the proxy client certificate, empty for none. Close it."""

    def __init__(self, resolver: ServiceResolver, *, cert_file: str = "", key_file: str = "") -> None:
        self._resolver = resolver
        self._transport = ForwardTransport(cert_file=cert_file, key_file=key_file)

    async def resolve(self, backend: Backend) -> Endpoint:
        """Where the service is reached.

        Raises:
            NotResolved.
        """
        try:
            return await self._resolver.resolve(backend.namespace, backend.name, backend.port)
        except (LookupError, OSError) as error:
            text = error.args[0] if isinstance(error, LookupError) and error.args else error  # KeyErrors quote theirs
            raise NotResolved(str(text)) from error

    async def context(self, backend: Backend) -> ssl.SSLContext:
        """See ``ForwardTransport.context``.

        Raises:
            NotTrusted.
        """
        return await self._transport.context(backend.trust)

    async def send(
        self,
        backend: Backend,
        endpoint: Endpoint,
        method: str,
        target: str,
        *,
        lines: bytes,
        body: bytes = b"",
    ) -> Answer:
        """See ``ForwardTransport.send``.

        Raises:
            NotTrusted. Unanswered.
        """
        return await self._transport.send(backend.trust, endpoint, method, target, lines=lines, body=body)

    def forget(self, backends: frozenset[Backend]) -> None:
        """Keep trust in these alone."""
        self._transport.forget(frozenset(backend.trust for backend in backends))

    async def follow_certificate(self, clock: Clock) -> None:
        """Take up a replaced proxy certificate; runs until cancelled."""
        await self._transport.follow_certificate(clock)

    async def close(self) -> None:
        """Close all connections. Idempotent."""
        await self._transport.close()
