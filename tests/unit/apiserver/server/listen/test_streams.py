"""Streams on the wire: shared chunks, flow control, ends of all kinds."""

from __future__ import annotations

import asyncio
import logging

import pytest

from controlplane.base.streams import Chunk, Sink
from controlplane.client.errors import StreamBroken
from controlplane.client.request import Request, Response, StreamResponse
from tests.aio import run
from tests.unit.apiserver.server.listen.http11 import serving

CHUNK = Chunk(b'{"type":"ADDED"}\n')
WATCH = "GET /watch HTTP/1.1\r\nHost: x\r\n\r\n"


def test_chunks_as_written_then_the_next_request() -> None:
    async def run_stream(sink: Sink) -> None:
        sink.write(CHUNK)
        await asyncio.sleep(0)
        sink.write(CHUNK)

    async def handler(request: Request) -> Response:
        return StreamResponse(run_stream) if request.path == "/watch" else Response(200, b"next")

    async def scenario() -> None:
        async with serving(handler) as served, served.wire() as wire:
            answer = await wire.get("/watch")
            assert answer.headers["transfer-encoding"] == "chunked"
            assert answer.body == CHUNK.payload * 2
            assert (await wire.get("/")).body == b"next"

    run(scenario())


def test_http_1_0_stream_ends_by_closing() -> None:
    async def run_stream(sink: Sink) -> None:
        sink.write(CHUNK)

    async def handler(_: Request) -> Response:
        return StreamResponse(run_stream)

    async def scenario() -> None:
        async with serving(handler) as served, served.wire() as wire:
            wire.send("GET /watch HTTP/1.0\r\n\r\n")
            answer = await wire.answer()
            assert "transfer-encoding" not in answer.headers
            assert answer.body == CHUNK.payload

    run(scenario())


def test_head_of_a_stream_does_not_run_it() -> None:
    async def run_stream(_: Sink) -> None:
        raise AssertionError

    async def handler(_: Request) -> Response:
        return StreamResponse(run_stream)

    async def scenario() -> None:
        async with serving(handler) as served, served.wire() as wire:
            assert (await wire.get("/watch", method="HEAD")).status == 200
            assert (await wire.get("/watch", method="HEAD")).status == 200

    run(scenario())


def test_stream_that_fails_is_cut_off() -> None:
    async def run_stream(sink: Sink) -> None:
        sink.write(CHUNK)
        await asyncio.sleep(0.01)
        raise RuntimeError("broken")

    async def handler(_: Request) -> Response:
        return StreamResponse(run_stream)

    async def scenario() -> None:
        async with serving(handler) as served, served.wire() as wire:
            wire.send(WATCH)
            await wire.head()
            assert await wire.chunk() == CHUNK.payload
            with pytest.raises((asyncio.IncompleteReadError, ConnectionResetError)):
                await wire.chunk()

    run(scenario())


def test_a_stream_that_another_server_breaks_off_is_no_error_of_this_one(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    async def run_stream(sink: Sink) -> None:
        sink.write(CHUNK)
        raise StreamBroken("its process has gone")

    async def handler(_: Request) -> Response:
        return StreamResponse(run_stream)

    async def scenario() -> None:
        async with serving(handler) as served, served.wire() as wire:
            wire.send(WATCH)
            with pytest.raises(asyncio.IncompleteReadError):
                await wire.answer()
        assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
            ("INFO", "a stream was broken off")
        ]

    run(scenario())


def test_server_ends_streams() -> None:
    async def run_stream(sink: Sink) -> None:
        sink.write(CHUNK)
        await sink.until_closed()
        sink.write(CHUNK)  # does nothing now

    async def handler(_: Request) -> Response:
        return StreamResponse(run_stream)

    async def scenario() -> None:
        async with serving(handler) as served, served.wire() as wire:
            wire.send(WATCH)
            await wire.head()
            assert await wire.chunk() == CHUNK.payload
            assert served.listener.streams == 1
            served.listener.end_streams()
            assert await wire.chunk() == b"", "the body is ended as it should be"
            assert served.listener.streams == 0

    run(scenario())


def test_stream_hears_that_the_client_has_gone() -> None:
    async def scenario() -> None:
        gone = asyncio.Event()

        async def run_stream(sink: Sink) -> None:
            sink.write(CHUNK)
            try:
                await sink.until_closed()
            finally:
                gone.set()

        async def handler(_: Request) -> Response:
            return StreamResponse(run_stream)

        async with serving(handler) as served:
            async with served.wire() as wire:
                wire.send(WATCH)
                await wire.head()
            await gone.wait()
            assert served.listener.streams == 0

    run(scenario())


def test_drain_is_told_once_the_client_has_caught_up() -> None:
    big = Chunk(b"x" * 1_000_000)

    async def scenario() -> None:
        drained, blocked = asyncio.Event(), asyncio.Event()

        async def run_stream(sink: Sink) -> None:
            while sink.buffered_bytes() < 4_000_000:
                sink.write(big)
                await asyncio.sleep(0)
            sink.on_drain(drained.set)
            blocked.set()
            await drained.wait()
            assert sink.buffered_bytes() < 100_000
            again = asyncio.Event()
            sink.on_drain(again.set)  # drained already: told at the next turn
            await again.wait()

        async def handler(_: Request) -> Response:
            return StreamResponse(run_stream)

        async with serving(handler) as served, served.wire() as wire:
            wire.send(WATCH)
            await blocked.wait()
            await asyncio.sleep(0.02)
            assert not drained.is_set(), "nobody reads"
            await wire.head()
            while await wire.chunk():
                pass
            assert drained.is_set()

    run(scenario())
