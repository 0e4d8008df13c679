"""Requests that change the protocol (WebSockets, SPDY): a connection of their own to the other server, on which bytes
pass in both directions as they are once it has agreed.

Source: kubernetes/apimachinery ``pkg/util/proxy/upgradeaware.go``.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from email.parser import BytesParser

from controlplane.base.streams import Chunk
from controlplane.base.tasks import TaskGroup
from controlplane.client.forward.head import header_lines, request_head
from controlplane.client.forward.transport import CONNECT_SECONDS, Unanswered
from controlplane.client.request import Request, Response, Sink, UpgradeResponse
from controlplane.client.webhook import Endpoint
from controlplane.client.webhook.errors import reason_of_connection

__all__ = ["BadUpgrade", "upgrade"]

HEAD_LIMIT_BYTES = 64 * 1024
REFUSAL_LIMIT_BYTES = 1 << 20
REFUSAL_SECONDS = 10.0
READ_BYTES = 64 * 1024


class BadUpgrade(Exception):
    """The other server has answered neither with the new protocol nor with an error; the text says so."""


async def upgrade(
    request: Request,
    endpoint: Endpoint,
    context: ssl.SSLContext,
    server_name: str,
    *,
    target: str,
    lines: bytes,
    connect_seconds: float = CONNECT_SECONDS,
) -> Response:
    """Send on a request for another protocol. ``target`` and ``lines``: as for ``ForwardTransport.send``.
    ``connect_seconds``: until the connection is there.

    Raises:
        Unanswered. BadUpgrade.
    """
    try:
        async with asyncio.timeout(connect_seconds):
            reader, writer = await asyncio.open_connection(
                endpoint.host, endpoint.port, ssl=context, server_hostname=server_name, limit=HEAD_LIMIT_BYTES
            )
    except OSError as error:
        raise Unanswered(reason_of_connection(error, endpoint.host, endpoint.port)) from error
    try:
        lines += header_lines((("Connection", "Upgrade"), ("Upgrade", request.headers["Upgrade"])))
        writer.write(request_head(request.method, target, endpoint, lines))
        head = await reader.readuntil(b"\r\n\r\n")
        status = int(head.split(b" ", 2)[1])
        if status == 101:
            return UpgradeResponse(head, _joined(reader, writer))
        if status < 400:
            raise BadUpgrade(f"invalid upgrade response: status code {status}")
        answer = await _refusal(status, head, reader)
    except (OSError, ValueError, IndexError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        writer.close()
        why = "EOF" if isinstance(error, asyncio.IncompleteReadError) else str(error)
        raise Unanswered(why, was_sent=True) from error
    except BaseException:
        writer.close()
        raise
    writer.close()
    return answer


async def _refusal(status: int, head: bytes, reader: asyncio.StreamReader) -> Response:
    """The error that the other server gave instead; its body as far as it comes in time."""
    fields = BytesParser().parsebytes(head.partition(b"\r\n")[2], headersonly=True)
    declared = fields.get("Content-Length", "")
    wanted = min(int(declared), REFUSAL_LIMIT_BYTES) if declared.isdigit() else 0
    async with asyncio.timeout(REFUSAL_SECONDS):
        body = await reader.readexactly(wanted)
    return Response(status, body, content_type=fields.get("Content-Type", ""))


def _joined(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> UpgradeResponse.Run:
    async def run(incoming: AsyncIterator[bytes], sink: Sink) -> None:
        try:
            async with TaskGroup("upgraded") as group:
                ways = {
                    group.start(_up(incoming, writer), name="up"),
                    group.start(_down(reader, sink), name="down"),
                    group.start(sink.until_closed(), name="gone"),
                }
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            writer.close()

    return run


async def _up(incoming: AsyncIterator[bytes], writer: asyncio.StreamWriter) -> None:
    async for piece in incoming:
        writer.write(piece)
        await writer.drain()


async def _down(reader: asyncio.StreamReader, sink: Sink) -> None:
    while piece := await reader.read(READ_BYTES):
        sink.write(Chunk(piece))
        if sink.buffered_bytes():
            drained = asyncio.Event()
            sink.on_drain(drained.set)
            await drained.wait()
