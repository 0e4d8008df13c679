"""The listener: from a socket to our Request, and from our Response to bytes.

The only place, with its neighbours in this folder, that knows aiohttp's server. It carries; it decides nothing about
requests: every failure above HTTP's own syntax is the filters' to answer.

Shutdown is the server's to order: ``stop_accepting``, ``end_streams``, ``close``.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import field
from time import monotonic
from urllib.parse import unquote

from aiohttp.web_protocol import RequestPayloadError
from aiohttp.web_request import BaseRequest
from aiohttp.web_response import StreamResponse as AiohttpResponse
from multidict import CIMultiDict, CIMultiDictProxy

from controlplane.apimachinery.status import bad_request
from controlplane.apiserver.server.listen.accept import Acceptor
from controlplane.apiserver.server.listen.answers import CompleteAnswer, StreamAnswer
from controlplane.apiserver.server.listen.compress import Compressor
from controlplane.apiserver.server.listen.connection import Connection, ConnectionServer
from controlplane.apiserver.server.listen.direct import DirectRoad
from controlplane.apiserver.server.listen.door import Door
from controlplane.apiserver.server.listen.sink import ConnectionSink
from controlplane.apiserver.server.listen.upgraded import UpgradeAnswer
from controlplane.apiserver.server.listen.websocket import WebSocketAnswer, asks_for_websocket
from controlplane.base import logs
from controlplane.base.clock import Clock, SystemClock
from controlplane.base.tasks import Owner
from controlplane.base.values import dataclass
from controlplane.client.request import BodyTooLarge, Handler, Request, Response, StreamResponse, UpgradeResponse

__all__ = ["BODY_LIMIT_BYTES", "Listener", "ListenerConfig", "PortUnavailable", "bind"]

log = logs.get(__name__)

BODY_LIMIT_BYTES = 3 * 1024 * 1024
"""Kubernetes' MaxRequestBodyBytes: an object of 1.5 MiB, twice, in JSON."""

KEEP_ALIVE_SECONDS = 120.0
"""Longer than the 90 s after which Go's client drops an idle connection, so that the client is the one to close."""

HEAD_LIMIT_BYTES = 64 * 1024
"""Of the request line and of one header: selectors and tokens are long."""

MOST_HEADERS = 4096
"""Who has many groups has as many headers where a proxy, or another server on the same store, says who he is."""

BACKLOG = 1024


class PortUnavailable(Exception):
    """The address cannot be listened on; the message names it, why, and the flag."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerConfig:
    """``tls`` None: plain HTTP (tests). ``body_limit_bytes``: of one request's body. ``keep_alive_seconds``: how long
    a connection may be idle. ``most_connections``, ``most_per_address``: 0 is no limit, see ``Door``. ``direct``:
    whether requests that come whole are answered on the short road (``direct.py``); the answers are the same."""

    tls: ssl.SSLContext | None
    body_limit_bytes: int = BODY_LIMIT_BYTES
    keep_alive_seconds: float = KEEP_ALIVE_SECONDS
    most_connections: int = 0
    most_per_address: int = 0
    direct: bool = True
    clock: Clock = field(default_factory=SystemClock)


def bind(host: str, port: int, *, flags: str = "--bind-address, --secure-port") -> socket.socket:
    """A listening socket; port 0 takes any free one. ``flags``: by which the address was given.

    Raises:
        PortUnavailable: in use, not permitted, not an address of this machine.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.setblocking(False)
        listening.bind((host, port))
        listening.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        listening.close()
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise PortUnavailable(f"cannot listen on {host}:{port} ({flags}): {why}") from error
    return listening


class Listener:
    """Serves ``handler`` on one or several listening sockets.

    ``closing``: answers ask clients to close their connections (set when the server shuts down).
    """

    def __init__(self, listening: Sequence[socket.socket], handler: Handler, config: ListenerConfig) -> None:
        self._sockets, self.handler, self._config = listening, handler, config
        self.body_limit_bytes = config.body_limit_bytes
        self._owner, self.requests = Owner("listener"), Owner("listener")
        self._door = Door(most=config.most_connections, most_per_address=config.most_per_address)
        self._compressor = Compressor()
        self.waiting: set[DirectRoad] = set()
        self._sinks: set[ConnectionSink] = set()
        self._server: ConnectionServer | None = None
        self.closing = False

    @property
    def port(self) -> int:
        return int(self._sockets[0].getsockname()[1])

    @property
    def streams(self) -> int:
        """How many streams are open."""
        return len(self._sinks)

    def start(self) -> None:
        """Begin to take connections. On the loop, once."""
        self._server = ConnectionServer(
            self._serve,
            road=(lambda connection: DirectRoad(connection, self)) if self._config.direct else None,
            keepalive_timeout=self._config.keep_alive_seconds,
            tcp_keepalive=False,  # the acceptor sets its own
            access_log=None,
            max_line_size=HEAD_LIMIT_BYTES,
            max_field_size=HEAD_LIMIT_BYTES,
            max_headers=MOST_HEADERS,
            auto_decompress=False,  # Kubernetes' servers do not either: a small body cannot become a large one
        )
        for listening in self._sockets:
            acceptor = Acceptor(
                listening, self._server, door=self._door, tls=self._config.tls, clock=self._config.clock
            )
            self._owner.start(acceptor.run(), name="accept")

    async def stop_accepting(self) -> None:
        """Close the listening sockets; connections that are open go on. Idempotent."""
        await self._owner.close()
        for listening in self._sockets:
            listening.close()

    def end_streams(self) -> None:
        """Tell all streams to end; each finishes its chunked body."""
        for sink in list(self._sinks):
            sink.end()

    async def close(self, *, seconds: float = 2.0) -> None:
        """Stop, giving requests under way ``seconds`` to finish; then they are cancelled. Idempotent."""
        self.closing = True
        await self.stop_accepting()
        self._door.close()
        self.end_streams()
        if self._server is not None:
            self._server.pre_shutdown()  # idle connections end at once, the others with their answer
            await self._server.shutdown(seconds)
        for road in tuple(self.waiting):
            road.lost()
        await asyncio.sleep(0)  # they take their next steps; what then goes on is a task
        await self.requests.close()
        self._compressor.close()

    def request(
        self,
        connection: Connection,
        method: str,
        target: str,
        headers: CIMultiDict[str] | CIMultiDictProxy[str],
        body: bytes = b"",
        *,
        read: Callable[[], Awaitable[bytes]] | None = None,
        audit_id: str = "",
    ) -> Request:
        """Our Request. ``target``: origin form, raw. ``read``: reads the body, where it has not come yet. ``audit_id``:
        where it is not in the headers."""
        path, _, query = target.partition("?")
        return Request(
            method,
            unquote(path) if "%" in path else path,
            query_string=query,
            headers=headers,
            peer=connection.peer,
            remote=connection.remote,
            received_at=monotonic(),
            body=body,
            read=read,
            audit_id=audit_id,
        )

    def answer(self, response: Response, *, close: bool = False) -> CompleteAnswer | StreamAnswer:
        """The answer that writes ``response``; ``close``: the connection ends with it in any case."""
        closing = close or self.closing
        if isinstance(response, StreamResponse):
            return StreamAnswer(response, closing=closing, opened=self._sinks.add, ended=self._sinks.discard)
        return CompleteAnswer(response, self._compressor, closing=closing)

    def failed(self, error: Exception) -> Response:
        """Nothing above lets an exception through; if it does, it is ours to explain."""
        log.error("request failed outside of the filters", exc_info=error)
        return Response(500, b"500 Internal Server Error", content_type="text/plain; charset=utf-8")

    async def _serve(self, raw: BaseRequest) -> AiohttpResponse:
        connection = raw.protocol
        assert isinstance(connection, Connection)
        target = raw.raw_path
        if not target.startswith("/"):  # absolute form, as sent to proxies
            target = raw.rel_url.raw_path_qs
        read = _Body(raw, self.body_limit_bytes).read if raw.body_exists else None
        request = self.request(connection, raw.method, target, raw.headers, read=read)
        try:
            response = await self.handler(request)
        except Exception as error:  # noqa: BLE001  # the outermost frame of a request
            return self.answer(self.failed(error), close=True)
        if "Upgrade" not in raw.headers:
            return self.answer(response)
        if isinstance(response, UpgradeResponse):
            return UpgradeAnswer(response, opened=self._sinks.add, ended=self._sinks.discard)
        if isinstance(response, StreamResponse) and asks_for_websocket(request.headers):
            return WebSocketAnswer(response, request.headers, opened=self._sinks.add, ended=self._sinks.discard)
        return self.answer(response, close=True)  # what follows on the connection may be in another protocol


class _Body:
    """The body of one request, read when it is asked for."""

    __slots__ = ("_limit", "_raw")

    def __init__(self, raw: BaseRequest, limit_bytes: int) -> None:
        self._raw, self._limit = raw, limit_bytes

    async def read(self) -> bytes:
        raw, limit = self._raw, self._limit
        declared = raw.content_length
        if declared is not None and declared > limit:
            raise BodyTooLarge(limit)
        if raw.headers.get("Expect", "").lower() == "100-continue" and raw.transport is not None:
            raw.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        pieces: list[bytes] = []
        size = 0
        try:
            while piece := await raw.content.readany():
                size += len(piece)
                if size > limit:
                    raise BodyTooLarge(limit)
                pieces.append(piece)
        except RequestPayloadError as error:
            raise bad_request(f"the request's body could not be read: {error}") from error
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)
