"""Taking connections: a bounded number of TLS handshakes at a time.

A handshake costs milliseconds of CPU, and after a restart every client comes at once; so new connections wait in the
kernel's backlog while ``HANDSHAKES`` are under way. Clients that connect and stay silent hold a handshake open at no
cost, so they may not block the others: after ``PATIENCE_SECONDS`` one more is let in regardless, and the sooner the
more of them there are (a thousand hold up the next client for a second, not for twenty).
"""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import Callable

from controlplane.apiserver.server.listen.connection import Connection
from controlplane.apiserver.server.listen.door import Door, Place
from controlplane.apiserver.server.metrics import TLS_HANDSHAKE_ERRORS
from controlplane.base import logs
from controlplane.base.clock import Clock
from controlplane.base.tasks import TaskGroup

__all__ = ["Acceptor"]

log = logs.get(__name__)
seldom = logs.Seldom(log)

HANDSHAKES = 8
PATIENCE_SECONDS = 0.02
HANDSHAKE_SECONDS = 10.0
"""Go's servers have no limit of their own here; a client that takes longer is not one."""

_OUT_OF_RESOURCES = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_RETRY_SECONDS = 0.1


class Acceptor:
    """Accepts from one listening socket until cancelled: ``await Acceptor(...).run()``."""

    def __init__(
        self,
        listening: socket.socket,
        protocol: Callable[[], Connection],
        *,
        door: Door,
        tls: ssl.SSLContext | None,
        clock: Clock,
    ) -> None:
        self._socket, self._protocol, self._tls, self._clock = listening, protocol, tls, clock
        self._door = door
        self._under_way = 0
        self._ended = asyncio.Event()

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        async with TaskGroup("accept") as group:
            while True:
                await self._turn()
                try:
                    connection, address = await loop.sock_accept(self._socket)
                except OSError as error:
                    if error.errno not in _OUT_OF_RESOURCES:
                        if self._socket.fileno() < 0:
                            return
                        continue  # the client gave up while it waited
                    seldom.warning("cannot take connections", error=error)
                    await self._clock.sleep(_RETRY_SECONDS)  # nothing tells when a file descriptor becomes free
                    continue
                place = self._door.enter(address[0])
                if place is not None:
                    self._under_way += 1
                    group.start(self._handshake(connection, self._connection_at(place), place.leave), name="handshake")
                elif (refusal := self._door.refusal()) is not None:
                    self._under_way += 1
                    group.start(self._handshake(connection, refusal.itself, refusal.abort), name="refusal")
                else:
                    connection.close()

    async def _turn(self) -> None:
        """Wait until a handshake may begin."""
        if self._under_way < HANDSHAKES:
            return
        self._ended.clear()
        try:
            async with asyncio.timeout(PATIENCE_SECONDS * HANDSHAKES / self._under_way):
                await self._ended.wait()
        except TimeoutError:
            pass

    def _connection_at(self, place: Place) -> Callable[[], asyncio.Protocol]:
        def connection() -> Connection:
            made = self._protocol()
            made.left = place.leave
            return made

        return connection

    async def _handshake(
        self, connection: socket.socket, protocol: Callable[[], asyncio.Protocol], leave: Callable[[], None]
    ) -> None:
        """``leave``: called if it does not become a connection, whose own to call it is then."""
        loop = asyncio.get_running_loop()
        seconds = HANDSHAKE_SECONDS if self._tls is not None else None
        connected = False
        try:
            _keep_alive(connection)
            await loop.connect_accepted_socket(protocol, connection, ssl=self._tls, ssl_handshake_timeout=seconds)
            connected = True
        except OSError as error:  # TLS errors and timeouts are among them
            TLS_HANDSHAKE_ERRORS.inc()
            log.debug("connection refused", error=error)
            connection.close()
        finally:
            if not connected:
                leave()
            self._under_way -= 1
            self._ended.set()


def _keep_alive(connection: socket.socket) -> None:
    """Find dead clients as Go's listener does: a probe after 15 s of silence, every 15 s, nine times."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_KEEPIDLE"):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 15)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 15)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 9)
