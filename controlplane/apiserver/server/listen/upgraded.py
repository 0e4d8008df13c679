"""A connection that speaks another protocol from now on: bytes in both directions, as they are."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from aiohttp.web_response import StreamResponse as AiohttpResponse

from controlplane.apiserver.server.listen.answers import Exchange
from controlplane.apiserver.server.listen.connection import Connection
from controlplane.apiserver.server.listen.sink import ConnectionSink
from controlplane.base import logs
from controlplane.base.streams import Chunk
from controlplane.client.pipe import DRAINED_BYTES, Pipe
from controlplane.client.request import UpgradeResponse

__all__ = ["UpgradeAnswer"]

log = logs.get(__name__)

_UNREAD_BYTES = 4 << 20
"""More than ever comes at once after reading has been paused."""


class IncomingBytes:
    """Takes what a client sends; the connection stops reading while much of it is unread."""

    __slots__ = ("_pipe", "_transport")

    def __init__(self, pipe: Pipe, transport: asyncio.Transport) -> None:
        self._pipe, self._transport = pipe, transport

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        """Take bytes as they come; see ``frames.FrameReader``."""
        if data:
            self._pipe.write(Chunk(bytes(data)))
            if self._pipe.buffered_bytes() > DRAINED_BYTES and not self._transport.is_closing():
                self._transport.pause_reading()
                self._pipe.on_drain(self._go_on)
        return False, b""

    def feed_eof(self) -> None:
        """The client has gone."""
        self._pipe.finish()

    def set_exception(self, _error: BaseException, _cause: BaseException | None = None) -> None:
        """The connection has failed."""
        self._pipe.finish()

    def _go_on(self) -> None:
        if not self._transport.is_closing():
            self._transport.resume_reading()


class UpgradeAnswer(AiohttpResponse):
    """``opened`` and ``ended`` tell the listener of the sink."""

    def __init__(
        self,
        response: UpgradeResponse,
        *,
        opened: Callable[[ConnectionSink], None],
        ended: Callable[[ConnectionSink], None],
    ) -> None:
        self._answer, self._opened, self._ended = response, opened, ended

    @property
    def keep_alive(self) -> bool:
        return False

    async def prepare(self, request: Exchange) -> None:
        transport, connection = request.transport, request.protocol
        if transport is None:
            raise ConnectionResetError
        assert isinstance(connection, Connection)
        pipe = Pipe(limit_bytes=_UNREAD_BYTES)
        transport.write(self._answer.head)
        sink = connection.sink = ConnectionSink(transport, framed=False)
        connection.take_frames(IncomingBytes(pipe, transport))
        self._opened(sink)
        try:
            await self._answer.run(pipe, sink)
        except Exception:  # its outermost frame: the protocol is not ours to report errors in
            log.exception("upgraded connection failed", path=request.raw_path)
        finally:
            self._ended(sink)
            connection.sink = None
            sink.end()
            pipe.close()
            transport.close()

    async def write_eof(self, data: bytes = b"") -> None:
        """All is written by ``prepare``."""
