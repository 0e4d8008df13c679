"""The way to the servers that others run: TLS both ways, kept connections, no redirects.

This server shows its proxy client certificate, which is why they believe the identity headers. A backend's certificate
is verified by the bundle that its API service gives, and must name the service. Proxies in the environment are not
used. aiohttp is imported by the first request.

Source: kubernetes/kube-aggregator ``pkg/controllers/status/remote`` (BuildTransportConfig).
"""

from __future__ import annotations

import asyncio
import os
import ssl
from typing import TYPE_CHECKING
from urllib.parse import quote

from multidict import CIMultiDict

from controlplane.aggregator.registration import Backend
from controlplane.base import logs
from controlplane.base.clock import Clock
from controlplane.client.webhook import Endpoint, ServiceResolver
from controlplane.client.webhook.errors import reason_of

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

__all__ = ["BackendTransport", "NotResolved", "NotTrusted", "Unanswered", "target_of"]

log = logs.get(__name__)

LOOK_SECONDS = 10.0
"""How often the proxy certificate's files are looked at."""
CONNECT_SECONDS = 30.0
_IDLE_SECONDS = 90
_OWN_HEADERS = ("Accept", "Accept-Encoding", "User-Agent", "Content-Type")
"""What aiohttp would add; the client's own are sent, or none."""
_PATH_SAFE = "/:@!$&'()*+,;=~"


class Unanswered(Exception):
    """No answer came; the text says why, in the words of Go's client."""


class NotResolved(Exception):
    """The service is nowhere; the text says why."""


class NotTrusted(Exception):
    """No connection can be tried: the bundle or the proxy certificate cannot be used; the text says why."""


def target_of(path: str, query_string: str) -> str:
    """Path (decoded) and query (raw) as they are sent."""
    encoded = quote(path, safe=_PATH_SAFE)
    return f"{encoded}?{query_string}" if query_string else encoded


class BackendTransport:
    """Sends requests. ``cert_file`` and ``key_file``: the proxy client certificate, empty for none. Close it."""

    def __init__(self, resolver: ServiceResolver, *, cert_file: str = "", key_file: str = "") -> None:
        self._resolver, self._cert_file, self._key_file = resolver, cert_file, key_file
        self._session: ClientSession | None = None
        self._contexts: dict[Backend, ssl.SSLContext] = {}
        self._stamp = self._look()

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
        """The trust in a backend; made in a thread and kept.

        Raises:
            NotTrusted.
        """
        made = self._contexts.get(backend)
        if made is None:
            try:
                made = await asyncio.to_thread(self._make_context, backend)
            except (OSError, ValueError) as error:
                raise NotTrusted(str(error)) from error
            made = self._contexts.setdefault(backend, made)  # somebody else may have been sooner
        return made

    async def send(
        self,
        backend: Backend,
        endpoint: Endpoint,
        method: str,
        target: str,
        *,
        headers: CIMultiDict[str],
        body: bytes = b"",
    ) -> ClientResponse:
        """Send a request; the answer's body is still to be read, as it was encoded, and the answer to be closed.

        Raises:
            NotTrusted. Unanswered.
        """
        from aiohttp import ClientError
        from yarl import URL

        context = await self.context(backend)
        if self._session is None:
            self._session = _new_session()
        try:
            return await self._session.request(
                method,
                URL(f"https://{_netloc(endpoint)}{target}", encoded=True),
                headers=headers,
                data=body or None,
                ssl=context,
                server_hostname=backend.server_name,
                allow_redirects=False,
                skip_auto_headers=_OWN_HEADERS,
            )
        except (ClientError, OSError) as error:
            raise Unanswered(reason_of(error, endpoint.host, endpoint.port)) from error

    def forget(self, backends: frozenset[Backend]) -> None:
        """Keep trust in these alone."""
        self._contexts = {backend: made for backend, made in self._contexts.items() if backend in backends}

    async def follow_certificate(self, clock: Clock) -> None:
        """Take up a replaced proxy certificate; runs until cancelled."""
        while True:
            await clock.sleep(LOOK_SECONDS)
            stamp = await asyncio.to_thread(self._look)
            if stamp != self._stamp:
                self._stamp = stamp
                self._contexts.clear()
                log.info("the proxy client certificate has changed", file=self._cert_file)

    async def close(self) -> None:
        """Close all connections. Idempotent."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _look(self) -> tuple[tuple[int, int], ...]:
        found = []
        for file in filter(None, (self._cert_file, self._key_file)):
            try:
                status = os.stat(file)
            except OSError:
                return ()  # using it will say so
            found.append((status.st_mtime_ns, status.st_size))
        return tuple(found)

    def _make_context(self, backend: Backend) -> ssl.SSLContext:
        context = ssl.create_default_context() if not backend.ca_bundle else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if backend.insecure:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        elif backend.ca_bundle:
            try:
                context.load_verify_locations(cadata=backend.ca_bundle.decode("ascii", errors="replace"))
            except (ssl.SSLError, ValueError) as error:
                raise ValueError(f"unable to load root certificates: {error}") from error
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # as Go's pools: an intermediate is trusted by itself
        context.set_alpn_protocols(["http/1.1"])
        if self._cert_file:
            context.load_cert_chain(self._cert_file, self._key_file)
        return context


def _netloc(endpoint: Endpoint) -> str:
    host = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
    return f"{host}:{endpoint.port}"


def _new_session() -> ClientSession:
    from aiohttp import ClientSession, ClientTimeout, DummyCookieJar, TCPConnector

    return ClientSession(
        connector=TCPConnector(limit=0, keepalive_timeout=_IDLE_SECONDS),
        timeout=ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
        cookie_jar=DummyCookieJar(),
        trust_env=False,
        auto_decompress=False,
    )
