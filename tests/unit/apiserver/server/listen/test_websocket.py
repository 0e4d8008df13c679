"""Streams over WebSockets: the handshake and its refusals, messages, both ends."""

from __future__ import annotations

import asyncio

import pytest

from controlplane.apiserver.server.listen.frames import CLOSE, CLOSE_NORMAL, frame
from controlplane.base.streams import Chunk, Sink
from controlplane.client.request import Request, Response, StreamResponse
from tests.aio import run
from tests.unit.apiserver.server.listen.http11 import Wire, serving
from tests.unit.apiserver.server.listen.test_frames import masked

KEY = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
UPGRADE = ("Host: x", "Upgrade: websocket", "Connection: keep-alive, Upgrade")
ORIGIN, VERSION = "Origin: https://ui.example.com", "Sec-WebSocket-Version: 13"
GOOD = (*UPGRADE, KEY, VERSION, ORIGIN)


def ask(wire: Wire, *headers: str) -> None:
    wire.send("\r\n".join(["GET /watch HTTP/1.1", *headers, "", ""]))


async def two_events(sink: Sink) -> None:
    sink.write(Chunk(b'{"type":"ADDED"}\n{"type":"DELETED"}\n'))


def test_each_event_is_a_message_and_the_end_is_told() -> None:
    async def handler(_: Request) -> Response:
        return StreamResponse(two_events)

    async def scenario() -> None:
        async with serving(handler) as served, served.wire() as wire:
            ask(wire, *GOOD, "Sec-WebSocket-Protocol: v1.example")
            line, headers = await wire.head()
            assert line == "HTTP/1.1 101 Switching Protocols"
            assert headers == {
                "upgrade": "websocket",
                "connection": "Upgrade",
                "sec-websocket-accept": "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=",  # of RFC 6455 section 1.3
                "sec-websocket-protocol": "v1.example",
            }
            events = frame(1, b'{"type":"ADDED"}\n') + frame(1, b'{"type":"DELETED"}\n')
            assert await wire.reader.read() == events + frame(CLOSE, CLOSE_NORMAL)
            assert served.listener.streams == 0

    run(scenario())


def test_length_delimited_events_are_binary_messages() -> None:
    async def run_stream(sink: Sink) -> None:
        sink.write(Chunk(b"\x00\x00\x00\x03one\x00\x00\x00\x05three"))

    async def handler(_: Request) -> Response:
        return StreamResponse(run_stream, is_text=False)

    async def scenario() -> None:
        async with serving(handler) as served, served.wire() as wire:
            ask(wire, *GOOD)
            await wire.head()
            assert await wire.reader.read() == frame(2, b"one") + frame(2, b"three") + frame(CLOSE, CLOSE_NORMAL)

    run(scenario())


def test_client_ends_after_a_ping() -> None:
    async def run_stream(sink: Sink) -> None:
        sink.write(Chunk(b"{}\n"))
        await sink.until_closed()

    async def handler(_: Request) -> Response:
        return StreamResponse(run_stream)

    async def scenario() -> None:
        async with serving(handler) as served, served.wire() as wire:
            ask(wire, *GOOD)
            await wire.head()
            wire.send(masked(9, b"there?") + masked(CLOSE, CLOSE_NORMAL))
            assert await wire.reader.read() == frame(1, b"{}\n") + frame(10, b"there?") + frame(CLOSE, CLOSE_NORMAL)

    run(scenario())


def test_pings_of_a_client_that_does_not_read_do_not_pile_up() -> None:
    large = b"x" * (16 << 20)

    async def run_stream(sink: Sink) -> None:
        sink.write(Chunk(large + b"\n"))
        await sink.until_closed()

    async def handler(_: Request) -> Response:
        return StreamResponse(run_stream)

    async def scenario() -> None:
        async with serving(handler) as served, served.wire() as wire:
            ask(wire, *GOOD)
            await wire.head()
            wire.send(masked(9, b"there?") * 1000 + masked(CLOSE, CLOSE_NORMAL))
            assert await wire.reader.read() == frame(1, large + b"\n") + frame(CLOSE, CLOSE_NORMAL)

    run(scenario())


def test_client_that_leaves_ends_the_stream() -> None:
    async def scenario() -> None:
        gone = asyncio.Event()

        async def run_stream(sink: Sink) -> None:
            sink.write(Chunk(b"{}\n"))
            try:
                await sink.until_closed()
            finally:
                gone.set()

        async def handler(_: Request) -> Response:
            return StreamResponse(run_stream)

        async with serving(handler) as served:
            async with served.wire() as wire:
                ask(wire, *GOOD)
                await wire.head()
            await gone.wait()

    run(scenario())


@pytest.mark.parametrize(
    ("headers", "answer"),
    [
        pytest.param(
            (*UPGRADE, VERSION, ORIGIN), b"HTTP/1.1 400 Bad Request\r\n\r\nmismatch challenge/response", id="no key"
        ),
        pytest.param(
            (*UPGRADE, KEY, "Sec-WebSocket-Version: 8", ORIGIN),
            b"HTTP/1.1 400 Bad Request\r\nSec-WebSocket-Version: 13\r\n\r\nmissing or bad WebSocket Version",
            id="an old version",
        ),
        pytest.param((*UPGRADE, KEY, VERSION), b"HTTP/1.1 403 Forbidden\r\n\r\n", id="no origin"),
        pytest.param((*UPGRADE, KEY, VERSION, "Origin: null"), b"HTTP/1.1 403 Forbidden\r\n\r\n", id="no URL"),
        pytest.param(
            (*GOOD, "Sec-WebSocket-Protocol: one, two"),
            b"HTTP/1.1 400 Bad Request\r\n\r\n",
            id="several protocols",
        ),
    ],
)
def test_refused(headers: tuple[str, ...], answer: bytes) -> None:
    async def handler(_: Request) -> Response:
        return StreamResponse(two_events)

    async def scenario() -> None:
        async with serving(handler) as served, served.wire() as wire:
            ask(wire, *headers)
            assert await wire.reader.read() == answer

    run(scenario())


def test_what_is_no_stream_is_answered_and_the_connection_closed() -> None:
    async def handler(_: Request) -> Response:
        return Response(403, b"no")

    async def scenario() -> None:
        async with serving(handler) as served, served.wire() as wire:
            ask(wire, *GOOD)
            answer = await wire.answer()
            assert (answer.status, answer.body, answer.headers["connection"]) == (403, b"no", "close")
            assert await wire.at_end()

    run(scenario())
