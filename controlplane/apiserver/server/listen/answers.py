"""Our responses as aiohttp takes them: it calls ``prepare`` and ``write_eof``; ours write straight to the transport.

A complete answer is one buffer, head and body together, where it is small; a large one goes out in slices, each
waiting for the client to take the one before, so that neither the loop nor memory is held. A stream's chunks are
written by its ``run``.

aiohttp's own Response does the same through a writer, header maps and several awaits: 11 microseconds an answer of 1 KB
where this takes 4.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from typing import Protocol

from aiohttp.http import HttpVersion
from aiohttp.web_protocol import RequestHandler
from aiohttp.web_response import StreamResponse as AiohttpResponse

from controlplane.apiserver.server.listen.compress import THRESHOLD_BYTES, Compressor, accepts_gzip
from controlplane.apiserver.server.listen.connection import Connection
from controlplane.apiserver.server.listen.head import head, header_lines
from controlplane.apiserver.server.listen.sink import ConnectionSink
from controlplane.base import logs
from controlplane.base.streams import Chunk
from controlplane.client.errors import StreamBroken
from controlplane.client.request import ReceivedResponse, Response, StreamResponse

__all__ = ["CompleteAnswer", "Exchange", "StreamAnswer", "one_write"]

log = logs.get(__name__)

SLICE_BYTES = 256 * 1024
"""One write of a large body: encrypting it takes 0.3 ms, so other requests hardly notice."""

ONE_WRITE_BYTES = 64 * 1024
"""Up to here head and body are joined and written at once."""

_LAST_CHUNK = b"0\r\n\r\n"


class Exchange(Protocol):
    """The request that is answered: aiohttp's, or the short road's."""

    @property
    def method(self) -> str: ...
    @property
    def version(self) -> HttpVersion: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    @property
    def raw_path(self) -> str: ...
    @property
    def keep_alive(self) -> bool: ...
    @property
    def transport(self) -> asyncio.Transport | None: ...
    @property
    def protocol(self) -> RequestHandler: ...


def one_write(response: Response, *, close: bool) -> tuple[bool, bytes | None]:
    """A complete answer to an HTTP/1.1 request (not to HEAD) as the bytes of one write, and whether the connection ends
    with it. None: it is a stream, or too large for one write."""
    if type(response) is not Response:
        if type(response) is not ReceivedResponse:
            return close, None
        received = None if close else _received(response)
        if received is not None:
            return False, received
    body, headers = response.body, response.headers
    if not isinstance(body, bytes):
        if response.length > ONE_WRITE_BYTES:
            return close, None
        body = b"".join(body)
    elif len(body) > ONE_WRITE_BYTES:
        return close, None
    close = close or _asks_to_close(headers)
    return close, head(response.status, response.content_type, headers, length=len(body), close=close) + body


def _received(response: ReceivedResponse) -> bytes | None:
    """Another server's answer as it came, with the headers that have been added here; None: it has to be made anew."""
    headers, said, received, at = response.headers, response.said, response.received, response.insert_at
    begin = len(said[2])
    if (response.status, response.content_type, headers[:begin]) != said or response.body is not response.whole:
        return None
    lines = header_lines(headers[begin:])
    if "Connection:" in lines or len(received) > ONE_WRITE_BYTES:
        return None
    return b"%b%b%b" % (received[:at], lines.encode("utf-8", "surrogateescape"), received[at:])


class CompleteAnswer(AiohttpResponse):
    """A whole answer. ``closing`` says whether the server wants connections to end."""

    def __init__(self, response: Response, compressor: Compressor, *, closing: bool) -> None:
        # aiohttp's own constructor makes header maps that nobody will read here: 2 microseconds an answer
        self._answer, self._compressor, self._closing = response, compressor, closing

    @property
    def keep_alive(self) -> bool:
        return not self._closing

    async def prepare(self, request: Exchange) -> None:
        transport = request.transport
        if transport is None:
            raise ConnectionResetError
        response = self._answer
        length = response.length
        headers: Sequence[tuple[str, str]] = response.headers
        self._closing = close = self._closing or not request.keep_alive or _asks_to_close(headers)
        old = request.version.minor == 0
        body = response.body
        if length > THRESHOLD_BYTES and request.method != "HEAD" and _compressible(request, response):
            headers = [*headers, ("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding")]
            first = head(response.status, response.content_type, headers, length=None, close=close)
            await _write_compressed(request, transport, first, _slices(body), self._compressor)
            return
        if request.method == "HEAD" and isinstance(response, ReceivedResponse) and not (close or old):
            received = _received(response)  # says how long the answer to a GET would be
            if received is not None:
                transport.write(received)
                return
        first = head(response.status, response.content_type, headers, length=length, close=close, old=old)
        if request.method == "HEAD" or length == 0:
            transport.write(first)
        elif length <= ONE_WRITE_BYTES:
            transport.write(first + (body if isinstance(body, bytes) else b"".join(body)))
            if transport.get_write_buffer_size() > ONE_WRITE_BYTES:  # a client that asks on and does not read
                await _drained(request)
        else:
            transport.write(first)
            await asyncio.sleep(0)  # to make the end of the body may have been a slice of its own
            for piece in _slices(body):
                await _write_slice(request, transport, piece)

    async def write_eof(self, data: bytes = b"") -> None:
        """All is written by ``prepare``."""


class StreamAnswer(AiohttpResponse):
    """An answer whose body is written over time. ``opened`` and ``ended`` tell the listener of the sink."""

    def __init__(
        self,
        response: StreamResponse,
        *,
        closing: bool,
        opened: Callable[[ConnectionSink], None],
        ended: Callable[[ConnectionSink], None],
    ) -> None:
        self._answer, self._closing, self._opened, self._ended = response, closing, opened, ended

    @property
    def keep_alive(self) -> bool:
        return not self._closing

    async def prepare(self, request: Exchange) -> None:
        transport = request.transport
        if transport is None:
            raise ConnectionResetError
        response = self._answer
        old = request.version.minor == 0
        self._closing = close = self._closing or old or not request.keep_alive or _asks_to_close(response.headers)
        transport.write(
            head(response.status, response.content_type, response.headers, length=None, close=close, old=old)
        )
        if request.method == "HEAD":
            return
        connection = request.protocol
        assert isinstance(connection, Connection)
        sink = connection.sink = ConnectionSink(transport, framed=not old)
        self._opened(sink)
        try:
            await response.run(sink)
        except StreamBroken as error:  # somebody else's, whose client is told by half an answer
            log.info("a stream was broken off", path=request.raw_path, error=error)
            self._closing = True
            transport.abort()
            return
        except Exception:  # the stream's outermost frame: the head is sent, only the log can say why
            log.exception("stream failed", path=request.raw_path)
            self._closing = True
            transport.abort()
            return
        finally:
            self._ended(sink)
            connection.sink = None
            sink.end()
        transport.set_write_buffer_limits()
        if not old:
            transport.write(_LAST_CHUNK)

    async def write_eof(self, data: bytes = b"") -> None:
        """All is written by ``prepare``."""


def _asks_to_close(headers: Sequence[tuple[str, str]]) -> bool:
    return "Connection" in dict(headers)


def _compressible(request: Exchange, response: Response) -> bool:
    """Whether this client gets gzip of this answer: it asked, its HTTP has chunks, and nobody encoded it yet."""
    asked = request.headers.get("Accept-Encoding")
    if not asked or request.version.minor == 0 or not accepts_gzip(asked):
        return False
    return all(name != "Content-Encoding" for name, _ in response.headers)


def _slices(body: bytes | Sequence[bytes]) -> Iterator[bytes]:
    """The body in writes of about ``SLICE_BYTES``."""
    if isinstance(body, bytes):
        for start in range(0, len(body), SLICE_BYTES):
            yield body[start : start + SLICE_BYTES]
        return
    pending: list[bytes] = []
    pending_bytes = 0
    for piece in body:
        if len(piece) > SLICE_BYTES:
            yield b"".join(pending)
            pending, pending_bytes = [], 0
            yield from _slices(piece)
            continue
        pending.append(piece)
        pending_bytes += len(piece)
        if pending_bytes >= SLICE_BYTES:
            yield b"".join(pending)
            pending, pending_bytes = [], 0
    if pending:
        yield b"".join(pending)


async def _write_slice(request: Exchange, transport: asyncio.Transport, piece: bytes) -> None:
    """Write, then wait until the client keeps up, and let others run in any case."""
    if transport.is_closing():
        raise ConnectionResetError
    transport.write(piece)
    await _drained(request)
    await asyncio.sleep(0)


async def _drained(request: Exchange) -> None:
    connection = request.protocol
    assert isinstance(connection, Connection)
    await connection.drained()


async def _write_compressed(
    request: Exchange,
    transport: asyncio.Transport,
    first: bytes,
    slices: Iterator[bytes],
    compressor: Compressor,
) -> None:
    transport.write(first)
    async with aclosing(compressor.compress(slices)) as pieces:
        async for piece in pieces:
            await _write_slice(request, transport, Chunk(piece).framed)
    transport.write(_LAST_CHUNK)
