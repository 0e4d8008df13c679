"""One HTTP/1.1 connection: aiohttp's protocol, with what this server keeps per connection beside it.

Adds the peer (address and certificate, read once), the stream that is being written on it, the short road for requests
that come whole (``direct.py``), and errors below HTTP (malformed requests) answered in plain text as Go's server does.

The only module that reads and writes aiohttp's private attributes; hence aiohttp is pinned to one minor version, and
the tests compare both roads byte by byte.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from aiohttp.http import HttpProcessingError, HttpRequestParser, RawRequestMessage
from aiohttp.web_protocol import RequestHandler
from aiohttp.web_request import BaseRequest
from aiohttp.web_response import Response, StreamResponse
from aiohttp.web_server import Server

from controlplane.apiserver.server.listen.peer import ConnectionPeer, address_text
from controlplane.apiserver.server.listen.sink import ConnectionSink
from controlplane.base import logs

if TYPE_CHECKING:
    from aiohttp._websocket.reader import WebSocketReader

    from controlplane.apiserver.server.listen.direct import DirectRoad
    from controlplane.apiserver.server.listen.frames import FrameReader
    from controlplane.apiserver.server.listen.upgraded import IncomingBytes

__all__ = ["Connection", "ConnectionServer"]

log = logs.get(__name__)

WHOLE_HEAD_LIMIT_BYTES = 1 << 20
"""Of all lines of a request's head together, as in Go's servers."""
_TOO_LARGE = frozenset({"LineTooLong"})
_HEAD_TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n"
    b"\r\n431 Request Header Fields Too Large"
)
_USUAL = frozenset({b"GET ", b"POST", b"PUT ", b"PATC", b"DELE", b"HEAD"})
"""How requests begin, nearly all."""
_REQUEST_LINE = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+(?= [^ \r\n]+ HTTP/1\.[01]\r\n)")
_OTHER_METHODS = frozenset(
    b"ACL BIND CHECKOUT CONNECT COPY DELETE GET HEAD LINK LOCK M-SEARCH MERGE MKACTIVITY MKCALENDAR MKCOL MOVE NOTIFY "
    b"OPTIONS PATCH POST PROPFIND PROPPATCH PURGE PUT REBIND REPORT SEARCH SOURCE SUBSCRIBE TRACE UNBIND UNLINK UNLOCK "
    b"UNSUBSCRIBE".split()
)
"""Those that aiohttp's parser knows."""
_HEAD_LIMITS = ("max_line_size", "max_field_size", "max_headers")


def _with_known_method(data: bytes) -> bytes:
    """The begin of a request with TRACE for a method that aiohttp's parser would refuse (400). No resource allows
    either, and what takes any method takes both, so that they are answered alike."""
    found = _REQUEST_LINE.match(data)
    if found is None or found[0] in _OTHER_METHODS:
        return data
    return b"TRACE" + data[found.end() :]


class Connection(RequestHandler):
    """aiohttp's protocol of one connection. ``peer`` and ``remote`` are set while it is connected; ``sink`` while a
    stream is written. ``left`` is called when the connection has ended."""

    __slots__ = ("_head_bytes", "_head_limits", "_road", "left", "peer", "remote", "sink")

    peer: ConnectionPeer
    remote: str

    def __init__(
        self,
        manager: Server,
        *,
        loop: asyncio.AbstractEventLoop,
        road: Callable[[Connection], DirectRoad] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(manager, loop=loop, **options)
        self.sink: ConnectionSink | None = None
        self._head_bytes = 0
        self.left: Callable[[], None] | None = None
        self._head_limits = {name: options[name] for name in _HEAD_LIMITS if name in options}
        self._road = road(self) if road is not None else None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.peer, self.remote = ConnectionPeer(transport), address_text(transport)
        super().connection_made(transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        sink, self.sink = self.sink, None
        super().connection_lost(exc)
        if self.left is not None:
            self.left()
        if self.peer.lost is not None:
            self.peer.lost(self.peer)
        if sink is not None:
            sink.end()
        if self._road is not None:
            self._road.lost()

    def data_received(self, data: bytes) -> None:
        road = self._road
        if data[:4] not in _USUAL and self._begins_request():
            data = _with_known_method(data)
        if road is None or not data:
            self._parse(data)
            return
        if self._force_close or self._close:
            return
        if road.busy:
            road.hold(data)
            return
        waiter = self._waiter
        if waiter is not None and not waiter.done() and road.take(data):  # idle: all before it is answered
            return
        before = self._request_count
        self._parse(data)
        road.passed(data, self._messages[-1][0] if self._request_count == before + 1 else None)

    def _parse(self, data: bytes) -> None:
        """Give what has come to aiohttp's parser, and refuse a head that it keeps and keeps."""
        super().data_received(data)
        if not self._begins_request():
            self._head_bytes = 0
            return
        self._head_bytes += len(data)
        if self._head_bytes > WHOLE_HEAD_LIMIT_BYTES and self.transport is not None:
            log.debug("request refused: its head has no end", source=self.remote)
            self.transport.write(_HEAD_TOO_LARGE)
            self.force_close()

    def _begins_request(self) -> bool:
        """Whether what comes now belongs to no request that is under way: nothing has come yet, or all is answered."""
        if self._road is not None and self._road.busy:
            return False
        return self._request_count == 0 or (self._waiter is not None and not self._waiter.done())

    # -- the short road's ------------------------------------------------------------------------------------------

    @property
    def closing(self) -> bool:
        """Whether no further requests are to be answered."""
        return self._close or self._force_close

    def read_head(self, head: bytes) -> RawRequestMessage | None:
        """What aiohttp's parser makes of a request's head by itself; None if it makes nothing of it."""
        parser = HttpRequestParser(self, self._loop, len(head), **self._head_limits)
        try:
            messages, _, _ = parser.feed_data(head)
        except HttpProcessingError:
            return None  # the ordinary road answers it
        return messages[0][0] if len(messages) == 1 else None

    def answered(self) -> None:
        """A request has its answer: the connection is idle from now on."""
        self._next_keepalive_close_time = self._loop.time() + self._keepalive_timeout

    def under_way(self) -> None:
        """A request goes on in a task: a shutdown waits for it."""
        self._request_in_progress = True

    def take_frames(self, reader: FrameReader | IncomingBytes) -> None:
        """Give all that comes from now on to ``reader``: HTTP is over on this connection."""
        self.set_parser(cast("WebSocketReader", reader))

    def request_ended(self) -> None:
        """Tell a shutdown that waits."""
        self._request_in_progress = False
        if self._handler_waiter is not None and not self._handler_waiter.done():
            self._handler_waiter.set_result(None)

    async def drained(self) -> None:
        """Wait until the transport takes more.

        Raises:
            ConnectionError: the client has gone.
        """
        await self._drain_helper()

    def _process_keepalive(self) -> None:
        """aiohttp's timer, which takes a connection for idle while the short road is busy."""
        if self._road is not None and self._road.busy and not self._force_close:
            self.answered()
            self._keepalive_handle = self._loop.call_at(self._next_keepalive_close_time, self._process_keepalive)
            return
        super()._process_keepalive()

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
    """aiohttp's low-level server, making ``Connection`` protocols. ``options`` are the protocol's settings; ``road``
    makes the short road of a connection; without it there is none."""

    def __init__(self, handler: Any, *, road: Callable[[Connection], DirectRoad] | None = None, **options: Any) -> None:
        super().__init__(handler, handler_cancellation=True)
        self._loop_of_connections = asyncio.get_running_loop()
        self._road, self._options = road, options

    def __call__(self) -> Connection:
        return Connection(self, loop=self._loop_of_connections, road=self._road, **self._options)
