"""One HTTP/1.1 connection: aiohttp's protocol, with what this server keeps per connection beside it.

Adds the peer (address and certificate, read once), the stream that is being written on it, and errors below HTTP
(malformed requests) answered in plain text as Go's server does.
"""

from __future__ import annotations

import asyncio
from typing import Any

from aiohttp.web_protocol import RequestHandler
from aiohttp.web_request import BaseRequest
from aiohttp.web_response import Response, StreamResponse
from aiohttp.web_server import Server

from controlplane.apiserver.server.listen.peer import ConnectionPeer, address_text
from controlplane.apiserver.server.listen.sink import ConnectionSink
from controlplane.base import logs

__all__ = ["Connection", "ConnectionServer"]

log = logs.get(__name__)

_TOO_LARGE = frozenset({"LineTooLong"})


class Connection(RequestHandler):
    """aiohttp's protocol of one connection. ``peer`` and ``remote`` are set while it is connected; ``sink`` while a
    stream is written."""

    __slots__ = ("peer", "remote", "sink")

    peer: ConnectionPeer
    remote: str

    def __init__(self, manager: Server, *, loop: asyncio.AbstractEventLoop, **options: Any) -> None:
        super().__init__(manager, loop=loop, **options)
        self.sink: ConnectionSink | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.peer, self.remote = ConnectionPeer(transport), address_text(transport)
        super().connection_made(transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        sink, self.sink = self.sink, None
        super().connection_lost(exc)
        if sink is not None:
            sink.end()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self.sink is not None:
            self.sink.drained()

    def handle_error(
        self,
        request: BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> StreamResponse:
        """Answer what never reached the handler: bytes that are not HTTP, a head that is too long."""
        if status >= 500:  # nothing above lets an exception through; if it does, it is ours to explain
            log.error("request failed outside of the filters", exc_info=exc)
        if type(exc).__name__ in _TOO_LARGE:
            status = 431
        log.debug("request refused by the HTTP parser", status=status, error=exc, source=self.remote)
        phrase = {400: "Bad Request", 431: "Request Header Fields Too Large"}.get(status, "Internal Server Error")
        answer = Response(status=status, text=f"{status} {phrase}")
        answer.force_close()
        return answer

    def log_exception(self, *args: Any, **keys: Any) -> None:
        """aiohttp's own reports (a handler that raised after the answer was begun)."""
        log.error("connection failed", why=str(args[0]) if args else "", exc_info=keys.get("exc_info"))


class ConnectionServer(Server):
    """aiohttp's low-level server, making ``Connection`` protocols. ``options`` are the protocol's settings."""

    def __init__(self, handler: Any, **options: Any) -> None:
        super().__init__(handler, handler_cancellation=True)
        self._loop_of_connections = asyncio.get_running_loop()
        self._options = options

    def __call__(self) -> Connection:
        return Connection(self, loop=self._loop_of_connections, **self._options)
