"""A channel: calls to one server, over one connection that is made when it is first needed and made again when lost.

After a failed attempt to connect further ones follow in the background, at most ``RECONNECT_MAX_SECONDS`` apart, and
calls fail at once meanwhile, so nothing hangs and nothing queues up. A call that the server has certainly not looked
at (it was refused, or the connection was being closed) is tried once more by itself, as gRPC does.

Source: grpc doc/connection-backoff.md, doc/connectivity-semantics-and-api.md; "transparent retries".
"""

from __future__ import annotations

import asyncio
import random
import socket
import ssl
from collections.abc import Sequence
from time import monotonic
from typing import Final

from controlplane.base import logs
from controlplane.base.grpc.call import Stream
from controlplane.base.grpc.connection import Connection
from controlplane.base.grpc.headers import request_block, timeout_text
from controlplane.base.grpc.keepalive import KEEPALIVE, Keepalive
from controlplane.base.grpc.status import Code, RpcError
from controlplane.base.tasks import Owner

__all__ = ["CONNECT_SECONDS", "Channel"]

log = logs.get(__name__)

CONNECT_SECONDS: Final = 3.0
"""How long one attempt to connect may take, TLS and the server's settings included."""

RECONNECT_MIN_SECONDS: Final = 0.1
RECONNECT_MAX_SECONDS: Final = 1.0
JITTER: Final = 0.2

BLOCKS_REMEMBERED: Final = 64
MIN_SECONDS: Final = 0.001


UNIX: Final = "unix:"
UNIX_AUTHORITY: Final = "localhost"


class Channel:
    """One server, ``target``: ``host:port``, an IPv6 host in brackets, or ``unix:`` and the path of a socket (after an
    ``@``, a name in Linux' abstract namespace).

    Args:
        context: TLS to speak, made for clients and offering ``h2``; None: none.
    """

    def __init__(self, target: str, context: ssl.SSLContext | None, keepalive: Keepalive = KEEPALIVE) -> None:
        self._target, self._context = target, context
        self._socket = ""
        if target.startswith(UNIX):
            path = target.removeprefix(UNIX)
            self._socket = "\0" + path[1:] if path.startswith("@") else path
            self._host, self._port, self._authority = UNIX_AUTHORITY, 0, UNIX_AUTHORITY
        else:
            host, _, port = target.rpartition(":")
            self._host, self._port, self._authority = host.strip("[]"), int(port), target
        self._keepalive = keepalive
        self._scheme = "https" if context else "http"
        self._owner = Owner("grpc.channel")
        self._current: Connection | None = None
        self._connections: set[Connection] = set()
        self._connector: asyncio.Task[None] | None = None
        self._attempted = asyncio.Event()
        self._attempted_at = float("-inf")
        self._failure = ""
        self._closed = False
        self._blocks: dict[tuple[str, float], bytes] = {}

    async def unary(self, path: str, message: bytes, seconds: float) -> bytes:
        """Call a method that has one request and one response.

        Raises:
            RpcError: DEADLINE_EXCEEDED after ``seconds``; UNAVAILABLE if there is no connection, or it is lost.
        """
        again = True
        while True:
            connection = self._current
            if connection is None:
                until = monotonic() + seconds
                connection = await self._connected(seconds)
                seconds = max(until - monotonic(), MIN_SECONDS)
            block = self._blocks.get((path, seconds)) or self._block(path, seconds)
            call = connection.unary(block, message, seconds)
            try:
                return await call.done
            except asyncio.CancelledError:
                connection.cancel(call)
                raise
            except RpcError as error:
                if not (again and error.unsent and error.code is Code.UNAVAILABLE):
                    raise
            again = False
            seconds = max(call.deadline - monotonic(), MIN_SECONDS)

    async def stream(self, path: str, metadata: Sequence[tuple[str, str]] = (), *, seconds: float) -> Stream:
        """Begin a call in both directions; ``seconds``: how long to wait for a connection.

        Raises:
            RpcError: no connection.
        """
        connection = self._current or await self._connected(seconds)
        return connection.stream(request_block(self._scheme, self._authority, path, "", metadata))

    async def close(self) -> None:
        """Fail what is under way and disconnect. Idempotent."""
        self._closed = True
        self._failure = "the channel is closed"
        self._attempted.set()
        await self._owner.close()
        for connection in tuple(self._connections):
            await connection.close(self._failure)

    def _block(self, path: str, seconds: float) -> bytes:
        block = request_block(self._scheme, self._authority, path, timeout_text(seconds))
        if len(self._blocks) >= BLOCKS_REMEMBERED:
            self._blocks.clear()
        self._blocks[path, seconds] = block
        return block

    async def _connected(self, seconds: float) -> Connection:
        """The current connection; that of the attempt under way, if it is the first since there was one."""
        if not self._closed:
            self._connect()
        try:
            async with asyncio.timeout(seconds):
                while True:
                    connection = self._current
                    if connection is not None:
                        return connection
                    if self._failure:
                        raise RpcError(Code.UNAVAILABLE, self._failure, unsent=True)
                    await self._attempted.wait()
        except TimeoutError:
            raise RpcError(Code.DEADLINE_EXCEEDED, f"not connected to {self._target} in time", unsent=True) from None

    def _connect(self) -> None:
        if self._connector is None or self._connector.done():
            self._attempted.clear()
            self._connector = self._owner.start(self._connect_until_there(), name="connect")

    async def _connect_until_there(self) -> None:
        loop = asyncio.get_running_loop()
        pause = RECONNECT_MIN_SECONDS
        await asyncio.sleep(max(0.0, self._attempted_at + pause - loop.time()))
        while True:
            self._attempted_at = loop.time()
            try:
                connection = await self._attempt()
                if connection.usable:
                    self._failure, self._current = "", connection
                    self._attempted.set()
                    return
                why = "the server closed the connection"
            except (OSError, UnicodeError) as error:  # TimeoutError and ssl.SSLError are of the former
                why = _why(error)
            self._failure = f"failed to connect to {self._target}: {why}"
            self._attempted.set()
            await asyncio.sleep(pause * random.uniform(1 - JITTER, 1 + JITTER))  # noqa: S311  # no secret
            pause = min(2 * pause, RECONNECT_MAX_SECONDS)

    async def _attempt(self) -> Connection:
        async with asyncio.timeout(CONNECT_SECONDS):
            connection = await self._connection()
            self._connections.add(connection)
            connection.closed.add_done_callback(lambda _: self._connections.discard(connection))
            try:
                connection.check_protocol()
                await asyncio.shield(connection.settled)
            except (asyncio.CancelledError, ConnectionError):
                await connection.close("it was not ready in time")
                raise
            return connection

    async def _connection(self) -> Connection:
        loop, name = asyncio.get_running_loop(), self._host if self._context else None

        def made() -> Connection:
            return Connection(self._left, self._keepalive)

        if self._socket:
            # connected here: uvloop knows no names in the abstract namespace
            with_path = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                with_path.setblocking(False)
                await loop.sock_connect(with_path, self._socket)
                _, connection = await loop.create_unix_connection(
                    made, sock=with_path, ssl=self._context, server_hostname=name
                )
            except BaseException:
                with_path.close()
                raise
        else:
            _, connection = await loop.create_connection(
                made, self._host, self._port, ssl=self._context, server_hostname=name
            )
        return connection

    def _left(self, connection: Connection, why: str) -> None:
        """No further call begins on a connection: make another."""
        if connection is self._current:
            log.debug("left a connection", target=self._target, why=why)
            self._current = None
            if not self._closed:
                self._connect()


def _why(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return f"no connection within {CONNECT_SECONDS:.0f} s"
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)
