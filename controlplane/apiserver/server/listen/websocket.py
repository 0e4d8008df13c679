"""Streams over WebSockets (RFC 6455): each event of a watch is one message.

What is negotiated, refused and said at the end is as with Kubernetes' servers, which use golang.org/x/net/websocket: an
Origin must be given, one subprotocol at most (it is echoed), no extensions. Clients are not supposed to send anything
but pings and the end.

Source: kubernetes/apiserver ``pkg/endpoints/handlers/watch.go`` (HandleWS); golang.org/x/net ``websocket/hybi.go``.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections.abc import Callable, Iterator, Mapping
from http import HTTPStatus
from urllib.parse import urlsplit

from aiohttp.web_response import StreamResponse as AiohttpResponse

from controlplane.apiserver.server.listen.answers import Exchange
from controlplane.apiserver.server.listen.connection import Connection
from controlplane.apiserver.server.listen.frames import CLOSE, CLOSE_NORMAL, FrameReader, frame
from controlplane.apiserver.server.listen.sink import DRAINED_BYTES, ConnectionSink
from controlplane.base import logs
from controlplane.base.streams import Chunk
from controlplane.client.request import StreamResponse

__all__ = ["WebSocketAnswer", "asks_for_websocket"]

log = logs.get(__name__)

_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
"""RFC 6455 section 1.3."""
_VERSION = "13"
_PROTOCOLS = "Sec-WebSocket-Protocol"


def asks_for_websocket(headers: Mapping[str, str]) -> bool:
    """Whether a request asks for a WebSocket, as Kubernetes' servers tell."""
    if headers.get("Upgrade", "").lower() != "websocket":
        return False
    return "upgrade" in (token.strip() for token in headers.get("Connection", "").lower().split(","))


class _Refused(Exception):
    """The handshake fails: ``status``, further ``headers``, and what the body says."""

    def __init__(self, status: int, why: str = "", headers: str = "") -> None:
        super().__init__(why)
        self.status, self.why, self.headers = status, why, headers

    def answer(self) -> bytes:
        return f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}\r\n{self.headers}\r\n{self.why}".encode()


class WebSocketAnswer(AiohttpResponse):
    """A stream as messages. ``headers``: the request's. ``opened`` and ``ended`` tell the listener of the sink."""

    def __init__(
        self,
        response: StreamResponse,
        headers: Mapping[str, str],
        *,
        opened: Callable[[ConnectionSink], None],
        ended: Callable[[ConnectionSink], None],
    ) -> None:
        self._answer, self._handshake, self._opened, self._ended = response, headers, opened, ended

    @property
    def keep_alive(self) -> bool:
        return False

    async def prepare(self, request: Exchange) -> None:
        transport = request.transport
        if transport is None:
            raise ConnectionResetError
        try:
            transport.write(_accepted(self._handshake))
        except _Refused as refused:
            transport.write(refused.answer())
            return
        connection = request.protocol
        assert isinstance(connection, Connection)
        sink = MessageSink(transport, binary=not self._answer.is_text)
        connection.sink = sink
        connection.take_frames(FrameReader(on_end=sink.end, send=sink.reply))
        self._opened(sink)
        try:
            await self._answer.run(sink)
        except Exception:  # the stream's outermost frame: the head is sent, only the log can say why
            log.exception("stream failed", path=request.raw_path)
            transport.abort()
            return
        finally:
            self._ended(sink)
            connection.sink = None
            sink.end()
        if not transport.is_closing():
            transport.write(frame(CLOSE, CLOSE_NORMAL))

    async def write_eof(self, data: bytes = b"") -> None:
        """All is written by ``prepare``."""


class MessageSink(ConnectionSink):
    """A sink that sends each event as one message: a line of JSON as text, a length-delimited one as bytes."""

    __slots__ = ("_opcode", "_split")

    def __init__(self, transport: asyncio.WriteTransport, *, binary: bool) -> None:
        super().__init__(transport)
        self._opcode, self._split = (2, _delimited) if binary else (1, _lines)

    def write(self, chunk: Chunk) -> None:
        if not self.closed and not self._transport.is_closing():
            self._transport.write(b"".join(frame(self._opcode, event) for event in self._split(chunk.payload)))

    def reply(self, answer: bytes) -> None:
        """Answer a client's own frame, unless it does not read: then it would only pile up."""
        if not self._transport.is_closing() and self.buffered_bytes() <= DRAINED_BYTES:
            self._transport.write(answer)


def _lines(payload: bytes) -> Iterator[bytes]:
    """Events with the line feeds that end them; there is none inside an event."""
    return (line + b"\n" for line in payload.splitlines())


def _delimited(payload: bytes) -> Iterator[bytes]:
    """Events that follow their length, four bytes, the most significant first."""
    at = 0
    while at < len(payload):
        size = int.from_bytes(payload[at : at + 4], "big")
        yield payload[at + 4 : at + 4 + size]
        at += 4 + size


def _accepted(headers: Mapping[str, str]) -> bytes:
    """The head of an accepted handshake. Raises _Refused."""
    key = headers.get("Sec-WebSocket-Key", "")
    if not key:
        raise _Refused(400, "mismatch challenge/response")
    if headers.get("Sec-WebSocket-Version") != _VERSION:
        raise _Refused(400, "missing or bad WebSocket Version", f"Sec-WebSocket-Version: {_VERSION}\r\n")
    if not _is_url(headers.get("Origin", "")):
        raise _Refused(403)
    protocols = headers.get(_PROTOCOLS, "").strip()
    if "," in protocols:
        raise _Refused(400)  # nobody chooses among several
    accept = base64.b64encode(hashlib.sha1(key.encode() + _GUID, usedforsecurity=False).digest()).decode()
    chosen = f"{_PROTOCOLS}: {protocols}\r\n" if protocols else ""
    return (
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Accept: {accept}\r\n{chosen}\r\n"
    ).encode()


def _is_url(text: str) -> bool:
    """Whether an Origin is an absolute URL or path, as Go's ``ParseRequestURI`` takes it."""
    if text.startswith("/"):
        return True
    try:
        return bool(urlsplit(text).scheme)
    except ValueError:
        return False
