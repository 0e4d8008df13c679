"""The way to other servers on somebody's behalf: TLS both ways, kept connections, no redirects.

This server shows its proxy client certificate, which is why they believe the identity headers. Each of them proves
itself as its ``Trust`` says. Proxies in the environment are not used.

Source: kubernetes/kube-aggregator ``pkg/controllers/status/remote`` (BuildTransportConfig), kubernetes/client-go
``transport``.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from controlplane.base import logs
from controlplane.base.clock import Clock
from controlplane.base.tls.authorities import trust_pem
from controlplane.base.tls.direct import DirectSSLObject
from controlplane.client.forward.exchange import Answer, Connection
from controlplane.client.forward.head import request_head
from controlplane.client.forward.pool import Pool, Unanswered
from controlplane.client.webhook import Endpoint
from controlplane.client.webhook.errors import reason_of_connection

__all__ = ["CONNECT_SECONDS", "REPEATABLE", "ForwardTransport", "NotTrusted", "Trust", "Unanswered"]

log = logs.get(__name__)

LOOK_SECONDS = 10.0
"""How often the proxy certificate's files are looked at."""
CONNECT_SECONDS = 30.0
_REFUSAL_SECONDS = 0.5
"""How long a refusal may take to come."""
REPEATABLE = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing: what may be sent again where a kept connection turns out to be closed."""
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})


_Stamp = tuple[tuple[int, int], ...]
"""What files look like: when each was changed, and its size."""


class NotTrusted(Exception):
    """No connection can be tried: the authorities or the proxy certificate cannot be used; the text says why."""


class Trust(NamedTuple):
    """How a server proves itself: its certificate names ``server_name`` and is signed by an authority of ``ca_pem``
    (empty: of the machine's). ``insecure``: it need not prove anything."""

    server_name: str
    ca_pem: bytes = b""
    insecure: bool = False


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
        self._pools: dict[tuple[Endpoint, ssl.SSLContext], Pool] = {}
        self._retired: dict[Pool, Endpoint] = {}
        """Where nothing more is sent, and something may be under way."""
        self._contexts: dict[Trust, ssl.SSLContext] = {}
        self._stamp = self._look()

    async def context(self, trust: Trust) -> ssl.SSLContext:
        """What is needed to call those who prove themselves so; made in a thread and kept.

        Raises:
            NotTrusted.
        """
        while (made := self._contexts.get(trust)) is None:
            files = self._stamp
            try:
                new = await asyncio.to_thread(self._make_context, trust)
            except (OSError, ValueError) as error:
                raise NotTrusted(str(error)) from error
            if files == self._stamp:  # else it may be of the files before
                self._contexts.setdefault(trust, new)  # somebody else may have been sooner
        return made

    async def pool(self, trust: Trust, endpoint: Endpoint) -> Pool:
        """The connections to a server, for ``send``; to be asked for anew once it is retired.

        Raises:
            NotTrusted.
        """
        context = self._contexts.get(trust) or await self.context(trust)
        pool = self._pools.get((endpoint, context))
        if pool is None:

            def connect(pool: Pool) -> Awaitable[Connection]:
                return self._connect(trust, endpoint, context, pool)

            pool = self._pools[endpoint, context] = Pool(connect)
        return pool

    async def send(
        self, trust: Trust, endpoint: Endpoint, method: str, target: str, *, lines: bytes, body: bytes = b""
    ) -> Answer:
        """Send a request; the answer's body is still to be read, as it was encoded, or the answer to be closed.
        ``lines``: its headers as ``header_lines`` makes them.

        Raises:
            NotTrusted. Unanswered.
        """
        if body or method in _WITH_BODY:
            lines = b"Content-Length: %d\r\n%b" % (len(body), lines)
        request = request_head(method, target, endpoint, lines) + body
        return await self.exchange(trust, endpoint, method, request, await self.pool(trust, endpoint))

    async def exchange(self, trust: Trust, endpoint: Endpoint, method: str, request: bytes, pool: Pool) -> Answer:
        """As ``send``, of a request as it goes on the wire. ``pool``: the server's, by ``pool``."""
        while True:
            connection = pool.kept()
            if connection is None:
                connection = await pool.connection()
                if pool.retired:
                    pool.free(connection)
                    if pool.ended:
                        raise Unanswered(pool.ended)
                    pool = await self.pool(trust, endpoint)
                    continue
            was_used = connection.idle_since > 0.0
            try:
                head = connection.ask(request, is_head=method == "HEAD")
                try:
                    return await head
                except BaseException:
                    connection.given_up(head)
                    raise
            except OSError as error:
                if pool.ended or not (was_used and method in REPEATABLE):
                    raise Unanswered(pool.ended or _said(error), was_sent=True) from error
                if pool.retired:
                    pool = await self.pool(trust, endpoint)

    async def _connect(self, trust: Trust, endpoint: Endpoint, context: ssl.SSLContext, pool: Pool) -> Connection:
        """Raises Unanswered."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._connect_seconds):
                transport, connection = await loop.create_connection(
                    pool.new, endpoint.host, endpoint.port, ssl=context, server_hostname=trust.server_name
                )
        except TimeoutError as error:
            raise Unanswered(f"dial tcp {endpoint.host}:{endpoint.port}: i/o timeout") from error
        except OSError as error:
            raise Unanswered(reason_of_connection(error, endpoint.host, endpoint.port)) from error
        if self._dead_seconds:
            _watch_for_death(transport.get_extra_info("socket"), self._dead_seconds)
        return connection

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
        kept = set(self._contexts.values())
        self._retired = {pool: endpoint for pool, endpoint in self._retired.items() if not pool.is_empty}
        for place, pool in tuple(self._pools.items()):
            if place[1] not in kept:
                del self._pools[place]
                self._retired[pool] = place[0]
                pool.retire()

    def leave(self, endpoint: Endpoint, why: str) -> None:
        """Keep no connection to a server that has gone, and wait for none of its answers: they end with ``why``."""
        self._end(why, lambda place: place == endpoint)

    async def follow_certificate(self, clock: Clock) -> None:
        """Take up a replaced proxy certificate; runs until cancelled. One that cannot be used, as while only one of its
        files has been replaced, is not taken up before it can."""
        refused: _Stamp | None = None
        while True:
            await clock.sleep(LOOK_SECONDS)
            stamp = await asyncio.to_thread(self._look)
            if stamp in (self._stamp, refused):
                continue
            try:
                await asyncio.to_thread(self._check)
            except (OSError, ValueError) as error:
                refused = stamp
                log.warning(
                    "the proxy client certificate has changed and cannot be used; the one before stays in use",
                    file=self._cert_file,
                    error=error,
                )
                continue
            if stamp == await asyncio.to_thread(self._look):  # else what was checked may not be what was seen
                self._stamp = stamp
                self.forget(frozenset())
                log.info("the proxy client certificate has changed", file=self._cert_file)

    async def close(self) -> None:
        """Close all connections. Idempotent."""
        self._end("this server closes its connections", lambda _place: True)

    def _end(self, why: str, is_meant: Callable[[Endpoint], bool]) -> None:
        for place in tuple(self._pools):
            if is_meant(place[0]):
                self._pools.pop(place).end(why)
        for pool, endpoint in tuple(self._retired.items()):
            if is_meant(endpoint):
                del self._retired[pool]
                pool.end(why)

    def _check(self) -> None:
        """Raises OSError, ValueError."""
        if self._cert_file:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(self._cert_file, self._key_file)

    def _look(self) -> _Stamp:
        found = []
        for file in filter(None, (self._cert_file, self._key_file)):
            try:
                status = os.stat(file)
            except OSError:
                return ()
            found.append((status.st_mtime_ns, status.st_size))
        return tuple(found)

    def _make_context(self, trust: Trust) -> ssl.SSLContext:
        context = ssl.create_default_context() if not trust.ca_pem else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if trust.insecure:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        elif trust.ca_pem:
            try:
                trust_pem(context, trust.ca_pem)
            except ValueError as error:
                raise ValueError(f"unable to load root certificates: {error}") from error
        context.hostname_checks_common_name = False  # as Go: names are the alternative ones alone
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # as Go's pools: an intermediate is trusted by itself
        context.set_alpn_protocols(["http/1.1"])
        context.sslobject_class = DirectSSLObject
        if self._cert_file:
            context.load_cert_chain(self._cert_file, self._key_file)
        return context


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


def _said(error: OSError) -> str:
    """Why a connection broke off."""
    if isinstance(error, ssl.SSLError):
        return f"tls: {error.reason or error}".lower()
    return os.strerror(error.errno).lower() if error.errno else str(error) or "EOF"


def _watch_for_death(connection: socket.socket, dead_seconds: int) -> None:
    """Notice a machine that has gone without a word: what is sent, or a probe of a silent connection, must be
    acknowledged in ``dead_seconds``."""
    every = max(1, dead_seconds // 3)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, every)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, every)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, dead_seconds * 1000)
