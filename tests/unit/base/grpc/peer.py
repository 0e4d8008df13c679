"""An HTTP/2 server by script, at the level of frames, for what no honest server does; and a transport that records.

Header blocks are encoded by the ``hpack`` library. It acknowledges no settings and credits nothing by itself.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from hpack import Decoder, Encoder

from controlplane.base.grpc.frames import (
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    PREFACE,
    SETTINGS,
    Frame,
    FrameReader,
    Setting,
    frame,
    settings_payload,
)
from controlplane.base.grpc.messages import prefixed

__all__ = ["OK", "Peer", "Recorder", "answer", "block", "peer_server", "started", "trailers"]

OK = {":status": "200", "content-type": "application/grpc"}


def block(fields: dict[str, str]) -> bytes:
    """A header block without a dynamic table, Huffman coded."""
    encoder = Encoder()
    encoder.header_table_size = 0
    return encoder.encode(list(fields.items()))


def started(stream_id: int) -> bytes:
    """The frame that begins a good answer."""
    return frame(HEADERS, END_HEADERS, stream_id, block(OK))


def trailers(stream_id: int, status: str = "0", message: str = "") -> bytes:
    """The frame that ends an answer."""
    return frame(HEADERS, END_HEADERS | END_STREAM, stream_id, block({"grpc-status": status, "grpc-message": message}))


def answer(stream_id: int, message: bytes) -> bytes:
    """A whole good answer."""
    return started(stream_id) + frame(DATA, 0, stream_id, prefixed(message)) + trailers(stream_id)


class Peer:
    """The server's end of one connection. The client's preface has been read; ``settings`` have been sent."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._frames = FrameReader()
        self._arrived: list[Frame] = []
        self._headers = Decoder()

    def send(self, *data: bytes) -> None:
        """Send frames, or whatever bytes."""
        self._writer.write(b"".join(data))

    async def receive(self, *kinds: int) -> Frame:
        """The next frame of one of these kinds; others before it are dropped."""
        while True:
            while not self._arrived:
                data = await self._reader.read(65_536)
                assert data, "the client has closed the connection"
                self._arrived += self._frames.feed(data)
            arrived = self._arrived.pop(0)
            if arrived.kind in kinds:
                return arrived

    async def request(self) -> tuple[int, bytes]:
        """The stream and the data of the next call that fits into one frame."""
        headers = await self.receive(HEADERS)
        data = await self.receive(DATA)
        assert data.stream_id == headers.stream_id
        return headers.stream_id, data.payload

    def decode(self, headers: Frame) -> dict[str, str]:
        """The fields of a HEADERS frame of the client."""
        return {str(name): str(value) for name, value in self._headers.decode(headers.payload)}

    async def closed(self) -> list[Frame]:
        """All frames until the client closes."""
        while data := await self._reader.read(65_536):
            self._arrived += self._frames.feed(data)
        return self._arrived


@asynccontextmanager
async def peer_server(
    script: Callable[[Peer], Awaitable[None]],
    settings: dict[Setting, int] | None = None,
    *,
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[str]:
    """Run ``script`` for each connection (over TLS with ``tls``); yields the target. What a script asserts fails the
    block; a connection that ends before its preface is none."""
    running: set[asyncio.Task[Any]] = set()
    errors: list[BaseException] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        running.add(task)
        try:
            assert await reader.readexactly(len(PREFACE)) == PREFACE
            writer.write(frame(SETTINGS, 0, 0, settings_payload(settings or {})))
            await script(Peer(reader, writer))
        except (asyncio.CancelledError, asyncio.IncompleteReadError):
            pass
        except Exception as error:  # noqa: BLE001  # raised by the block below
            errors.append(error)
        finally:
            running.discard(task)
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in tuple(running):
            task.cancel()
        await asyncio.gather(*running)
    if errors:
        raise errors[0]


class Recorder(asyncio.Transport):
    """A transport that keeps what is written, and says when it was ended."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.ended = ""

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        assert not self.ended
        self.written += data

    def close(self) -> None:
        self.ended = self.ended or "closed"

    def abort(self) -> None:
        self.ended = "aborted"
