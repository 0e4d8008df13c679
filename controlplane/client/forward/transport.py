"""The way to other servers on somebody's behalf: TLS both ways, kept connections, no redirects.

This server shows its proxy client certificate, which is why they believe the identity headers. Each of them proves
itself as its ``Trust`` says. Proxies in the environment are not used. aiohttp is imported by the first request.

Source: kubernetes/kube-aggregator ``pkg/controllers/status/remote`` (BuildTransportConfig), kubernetes/client-go
``transport``.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import quote

from multidict import CIMultiDict

from controlplane.base import logs
from controlplane.base.clock import Clock
from controlplane.base.values import dataclass
from controlplane.client.webhook import Endpoint
from controlplane.client.webhook.errors import reason_of

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

__all__ = ["CONNECT_SECONDS", "ForwardTransport", "NotTrusted", "Trust", "Unanswered", "target_of"]

log = logs.get(__name__)

LOOK_SECONDS = 10.0
"""How often the proxy certificate's files are looked at."""
CONNECT_SECONDS = 30.0
_IDLE_SECONDS = 90
_REFUSAL_SECONDS = 0.5
"""How long a refusal may take to come."""
_OWN_HEADERS = ("Accept", "Accept-Encoding", "User-Agent", "Content-Type")
"""What aiohttp would add; the client's own are sent, or none."""
_PATH_SAFE = "/:@!$&'()*+,;=~"


class Unanswered(Exception):
    """No answer came; the text says why, in the words of Go's client."""


class NotTrusted(Exception):
    """No connection can be tried: the authorities or the proxy certificate cannot be used; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """How a server proves itself: its certificate names ``server_name`` and is signed by an authority of ``ca_pem``
    (empty: of the machine's). ``insecure``: it need not prove anything."""

    server_name: str
    ca_pem: bytes = b""
    insecure: bool = False


def target_of(path: str, query_string: str) -> str:
    """Path (decoded) and query (raw) as they are sent."""
    encoded = quote(path, safe=_PATH_SAFE)
    return f"{encoded}?{query_string}" if query_string else encoded


class ForwardTransport:
    """Sends requests. Close it.

    Args:
        cert_file, key_file: the proxy client certificate, empty for none.
        connect_seconds: how long a connection may take to be there, TLS included.
        dead_seconds: a connection whose other end does not acknowledge for so long is given up; 0 leaves that to the
            machine's settings.
    """

    def __init__(
        self,
        *,
        cert_file: str = "",
        key_file: str = "",
        connect_seconds: float = CONNECT_SECONDS,
        dead_seconds: int = 0,
    ) -> None:
        self._cert_file, self._key_file = cert_file, key_file
        self._connect_seconds, self._dead_seconds = connect_seconds, dead_seconds
        self._session: ClientSession | None = None
        self._contexts: dict[Trust, ssl.SSLContext] = {}
        self._stamp = self._look()

    async def context(self, trust: Trust) -> ssl.SSLContext:
        """What is needed to call those who prove themselves so; made in a thread and kept.

        Raises:
            NotTrusted.
        """
        made = self._contexts.get(trust)
        if made is None:
            try:
                made = await asyncio.to_thread(self._make_context, trust)
            except (OSError, ValueError) as error:
                raise NotTrusted(str(error)) from error
            made = self._contexts.setdefault(trust, made)  # somebody else may have been sooner
        return made

    async def send(
        self,
        trust: Trust,
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

        context = self._contexts.get(trust) or await self.context(trust)
        session = self._session
        if session is None:
            session = self._session = self._new_session()
        try:
            return await session.request(
                method,
                URL(f"https://{_netloc(endpoint)}{target}", encoded=True),
                headers=headers,
                data=body or None,
                ssl=context,
                server_hostname=trust.server_name,
                allow_redirects=False,
                skip_auto_headers=_OWN_HEADERS,
            )
        except (ClientError, OSError) as error:
            raise Unanswered(reason_of(error, endpoint.host, endpoint.port)) from error

    async def refusal(self, trust: Trust, endpoint: Endpoint) -> str:
        """How a server refuses this one's certificate; ``""`` if it does not.

        In TLS 1.3 that comes after the handshake, when a request is under way already, which then is just broken off.

        Raises:
            NotTrusted.
        """
        return await asyncio.to_thread(_refusal, await self.context(trust), endpoint, trust.server_name)

    def forget(self, trusts: frozenset[Trust]) -> None:
        """Keep what is needed for these alone."""
        self._contexts = {trust: made for trust, made in self._contexts.items() if trust in trusts}

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

    def _make_context(self, trust: Trust) -> ssl.SSLContext:
        context = ssl.create_default_context() if not trust.ca_pem else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if trust.insecure:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        elif trust.ca_pem:
            try:
                context.load_verify_locations(cadata=trust.ca_pem.decode("ascii", errors="replace"))
            except (ssl.SSLError, ValueError) as error:
                raise ValueError(f"unable to load root certificates: {error}") from error
        context.hostname_checks_common_name = False  # as Go: names are the alternative ones alone
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # as Go's pools: an intermediate is trusted by itself
        context.set_alpn_protocols(["http/1.1"])
        if self._cert_file:
            context.load_cert_chain(self._cert_file, self._key_file)
        return context

    def _new_session(self) -> ClientSession:
        from aiohttp import ClientSession, ClientTimeout, DummyCookieJar, TCPConnector

        return ClientSession(
            connector=TCPConnector(
                limit=0,
                keepalive_timeout=_IDLE_SECONDS,
                socket_factory=_watched_socket(self._dead_seconds) if self._dead_seconds else None,
            ),
            timeout=ClientTimeout(total=None, sock_connect=self._connect_seconds),
            cookie_jar=DummyCookieJar(),
            trust_env=False,
            auto_decompress=False,
        )


def _refusal(context: ssl.SSLContext, endpoint: Endpoint, server_name: str) -> str:
    """Connect and listen: a server that has nothing against the certificate waits for a request. Some end the
    connection without the alert that would say why."""
    try:
        with (
            socket.create_connection((endpoint.host, endpoint.port), timeout=_REFUSAL_SECONDS) as connection,
            context.wrap_socket(connection, server_hostname=server_name) as secured,
        ):
            return "" if secured.recv(1) else "tls: alert: the connection was closed after the handshake"
    except ssl.SSLError as error:
        return f"tls: {error.reason or error}".lower()
    except OSError:
        return ""


def _netloc(endpoint: Endpoint) -> str:
    host = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
    return f"{host}:{endpoint.port}"


def _watched_socket(dead_seconds: int) -> Callable[..., socket.socket]:
    """Makes sockets that notice a machine that has gone without a word: what is sent, or a probe of a silent
    connection, must be acknowledged in ``dead_seconds``."""
    every = max(1, dead_seconds // 3)

    def make(address: tuple[socket.AddressFamily | int, socket.SocketKind | int, int, str, object]) -> socket.socket:
        made = socket.socket(address[0], address[1], address[2])
        made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, every)
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, every)
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, dead_seconds * 1000)
        return made

    return make
