"""A small HTTP/1.1 client that shows bytes as they are, for tests of the listener."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from controlplane.apiserver.server.listen import BODY_LIMIT_BYTES, Listener, ListenerConfig, bind
from controlplane.client.request import Handler

__all__ = ["Answer", "Wire", "serving"]


@dataclass(frozen=True)
class Answer:
    """One answer: the status line, headers by lower-case name, the body after its framing is taken off."""

    line: str
    headers: dict[str, str]
    body: bytes

    @property
    def status(self) -> int:
        return int(self.line.split()[1])


class Wire:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def send(self, text: str | bytes) -> None:
        self.writer.write(text.encode() if isinstance(text, str) else text)

    async def head(self) -> tuple[str, dict[str, str]]:
        """Status line and headers of the next answer."""
        raw = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        line, *rest = raw.rstrip("\r\n").split("\r\n")
        return line, {name.lower(): value for name, _, value in (r.partition(": ") for r in rest)}

    async def chunk(self) -> bytes:
        """The next chunk of a chunked body; empty at its end."""
        size = int(await self.reader.readuntil(b"\r\n"), 16)
        return (await self.reader.readexactly(size + 2))[:-2]

    async def answer(self, *, body: bool = True) -> Answer:
        line, headers = await self.head()
        if not body:
            return Answer(line, headers, b"")
        if headers.get("transfer-encoding") == "chunked":
            pieces = []
            while piece := await self.chunk():
                pieces.append(piece)
            return Answer(line, headers, b"".join(pieces))
        if "content-length" in headers:
            return Answer(line, headers, await self.reader.readexactly(int(headers["content-length"])))
        return Answer(line, headers, b"" if line.split()[1] in ("204", "304") else await self.reader.read())

    async def get(self, path: str, *headers: str, method: str = "GET") -> Answer:
        """One request without a body."""
        self.send("\r\n".join([f"{method} {path} HTTP/1.1", "Host: x", *headers, "", ""]))
        return await self.answer(body=method != "HEAD")

    async def at_end(self) -> bool:
        """Whether the server has closed the connection."""
        return await self.reader.read(1) == b""


class Served:
    """A listener that runs, and how to connect to it."""

    def __init__(self, listener: Listener, tls: ssl.SSLContext | None) -> None:
        self.listener, self._tls = listener, tls

    @asynccontextmanager
    async def wire(self) -> AsyncIterator[Wire]:
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", self.listener.port, ssl=self._tls, server_hostname="localhost" if self._tls else None
        )
        try:
            yield Wire(reader, writer)
        finally:
            writer.close()


@asynccontextmanager
async def serving(
    handler: Handler,
    *,
    server_tls: ssl.SSLContext | None = None,
    client_tls: ssl.SSLContext | None = None,
    direct: bool = True,
    body_limit_bytes: int = BODY_LIMIT_BYTES,
    keep_alive_seconds: float = 10.0,
    most_connections: int = 0,
    most_per_address: int = 0,
) -> AsyncIterator[Served]:
    """Serve ``handler`` on a free port inside the block."""
    listener = Listener(
        [bind("127.0.0.1", 0)],
        handler,
        ListenerConfig(
            tls=server_tls,
            direct=direct,
            body_limit_bytes=body_limit_bytes,
            keep_alive_seconds=keep_alive_seconds,
            most_connections=most_connections,
            most_per_address=most_per_address,
        ),
    )
    listener.start()
    try:
        yield Served(listener, client_tls)
    finally:
        await listener.close(seconds=0.1)
