"""Answers on the wire: framing, keep-alive, HEAD, old clients, large bodies, compression."""

from __future__ import annotations

import asyncio
import gzip
from typing import Any

import pytest

from controlplane.apiserver.server.listen.compress import THRESHOLD_BYTES, accepts_gzip
from controlplane.base.lag import LagMonitor
from controlplane.client.request import Handler, Request, Response
from tests.aio import run
from tests.unit.apiserver.server.listen.http11 import serving


def always(*args: Any, **keys: Any) -> Handler:
    async def handler(_: Request) -> Response:
        return Response(*args, **keys)

    return handler


def test_small_answer_and_the_next_on_one_connection() -> None:
    async def scenario() -> None:
        async with serving(always(200, b'{"a":1}', headers=[("Audit-Id", "x")])) as served, served.wire() as wire:
            for _ in range(3):
                answer = await wire.get("/")
                assert (answer.line, answer.body) == ("HTTP/1.1 200 OK", b'{"a":1}')
                assert answer.headers["content-type"] == "application/json"
                assert answer.headers["content-length"] == "7"
                assert answer.headers["audit-id"] == "x"
                assert answer.headers["date"].endswith(" GMT")
                assert "connection" not in answer.headers
                assert "server" not in answer.headers

    run(scenario())


def test_head_has_the_length_but_no_body() -> None:
    async def scenario() -> None:
        async with serving(always(200, b"12345")) as served, served.wire() as wire:
            answer = await wire.get("/", method="HEAD")
            assert answer.headers["content-length"] == "5"
            assert (await wire.get("/")).body == b"12345", "the connection is in step"

    run(scenario())


@pytest.mark.parametrize("status", [204, 304])
def test_statuses_without_a_body_have_no_length(status: int) -> None:
    async def scenario() -> None:
        async with serving(always(status, content_type="")) as served, served.wire() as wire:
            answer = await wire.get("/")
            assert answer.status == status
            assert "content-length" not in answer.headers
            assert "content-type" not in answer.headers
            assert (await wire.get("/")).status == status

    run(scenario())


def test_client_asks_to_close() -> None:
    async def scenario() -> None:
        async with serving(always(200, b"x")) as served, served.wire() as wire:
            answer = await wire.get("/", "Connection: close")
            assert answer.headers["connection"] == "close"
            assert await wire.at_end()

    run(scenario())


def test_handler_asks_to_close() -> None:
    async def scenario() -> None:
        handler = always(429, b"x", headers=[("Connection", "close")])
        async with serving(handler) as served, served.wire() as wire:
            answer = await wire.get("/")
            assert answer.headers["connection"] == "close"
            assert await wire.at_end()

    run(scenario())


def test_server_that_shuts_down_closes_connections() -> None:
    async def scenario() -> None:
        async with serving(always(200, b"x")) as served, served.wire() as wire:
            assert (await wire.get("/")).status == 200
            served.listener.closing = True
            assert (await wire.get("/")).headers["connection"] == "close"
            assert await wire.at_end()

    run(scenario())


@pytest.mark.parametrize(
    ("header", "connection"),
    [pytest.param("", "close", id="plain"), pytest.param("Connection: keep-alive\r\n", "keep-alive", id="kept")],
)
def test_http_1_0(header: str, connection: str) -> None:
    async def scenario() -> None:
        async with serving(always(200, b"x")) as served, served.wire() as wire:
            wire.send(f"GET / HTTP/1.0\r\n{header}\r\n")
            answer = await wire.answer()
            assert answer.line == "HTTP/1.0 200 OK"
            assert answer.headers["connection"] == connection
            assert answer.body == b"x"

    run(scenario())


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"x" * 3_000_000, id="one piece"),
        pytest.param([b"y" * 1000] * 3000, id="many pieces"),
        pytest.param([b"z" * 700_000, b"a" * 10, b"z" * 700_000], id="large pieces"),
    ],
)
def test_large_body_is_complete_and_others_are_served_meanwhile(body: bytes | list[bytes]) -> None:
    async def handler(request: Request) -> Response:
        return Response(200, body if request.path == "/large" else b"small")

    async def scenario() -> None:
        async with serving(handler) as served, served.wire() as large, served.wire() as small:
            large.send("GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
            _, headers = await large.head()
            whole = body if isinstance(body, bytes) else b"".join(body)
            assert headers["content-length"] == str(len(whole))
            assert (await small.get("/")).body == b"small", "while the large one is not taken"
            assert await large.reader.readexactly(len(whole)) == whole
            assert (await large.get("/")).body == b"small"

    run(scenario())


@pytest.mark.alone
def test_large_body_does_not_hold_the_loop() -> None:
    async def scenario() -> None:
        pieces = [b"y" * 1000] * 7000
        async with serving(always(200, pieces)) as served, served.wire() as wire:
            async with LagMonitor(interval_seconds=0) as lag:
                assert len((await wire.get("/")).body) == 7_000_000
        assert lag.longest_seconds < 0.05, "loose: the machine is shared; tests/bench holds it to 5 ms"

    run(scenario())


def test_gzip_of_a_large_body() -> None:
    async def scenario() -> None:
        pieces = [b"%d," % number for number in range(100_000)]
        async with serving(always(200, pieces)) as served, served.wire() as wire:
            answer = await wire.get("/", "Accept-Encoding: gzip, deflate")
            assert answer.headers["content-encoding"] == "gzip"
            assert answer.headers["vary"] == "Accept-Encoding"
            assert answer.headers["transfer-encoding"] == "chunked"
            assert gzip.decompress(answer.body) == b"".join(pieces)
            assert len(answer.body) < sum(map(len, pieces)) / 2

    run(scenario())


@pytest.mark.parametrize(
    ("size", "accept"),
    [
        pytest.param(THRESHOLD_BYTES, "gzip", id="small"),
        pytest.param(THRESHOLD_BYTES + 1, "br", id="not asked for"),
        pytest.param(THRESHOLD_BYTES + 1, "", id="no header"),
    ],
)
def test_no_gzip(size: int, accept: str) -> None:
    async def scenario() -> None:
        async with serving(always(200, b"x" * size)) as served, served.wire() as wire:
            answer = await wire.get("/", f"Accept-Encoding: {accept}")
            assert "content-encoding" not in answer.headers
            assert len(answer.body) == size

    run(scenario())


@pytest.mark.parametrize(
    ("header", "expected"),
    [("gzip", True), ("deflate, gzip;q=0.5", True), ("x-gzip-not", False), ("", False), ("identity", False)],
)
def test_who_accepts_gzip(header: str, expected: bool) -> None:
    assert accepts_gzip(header) is expected


def test_header_values_stay_on_their_line() -> None:
    async def scenario() -> None:
        handler = always(200, b"x", headers=[("Warning", "a\r\nSet-Cookie: b=c"), ("X-Text", "gr\u00fc\u00dfe")])
        async with serving(handler) as served, served.wire() as wire:
            answer = await wire.get("/")
            assert answer.headers["warning"] == "a  Set-Cookie: b=c"
            assert "set-cookie" not in answer.headers
            assert answer.headers["x-text"] == "gr\u00fc\u00dfe"

    run(scenario())


def test_client_that_leaves_during_a_large_body_is_forgotten() -> None:
    async def scenario() -> None:
        async with serving(always(200, b"x" * 20_000_000)) as served:
            async with served.wire() as wire:
                wire.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                await wire.head()
            async with served.wire() as other:
                other.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                _, headers = await other.head()
                assert headers["content-length"] == "20000000"
                await asyncio.sleep(0)

    run(scenario())


def test_idle_connections_do_not_hold_up_the_close() -> None:
    async def scenario() -> None:
        async with serving(always(200, b"x")) as served, served.wire() as wire:
            assert (await wire.get("/")).status == 200
            async with asyncio.timeout(5):
                await served.listener.close(seconds=30)
            assert await wire.at_end()

    run(scenario())
