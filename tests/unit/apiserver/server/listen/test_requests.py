"""Requests as they come in: paths, bodies, limits, bytes that are not HTTP."""

from __future__ import annotations

import asyncio

import pytest

from controlplane.apimachinery.status import APIError
from controlplane.apiserver.server.listen import BODY_LIMIT_BYTES
from controlplane.client.request import BodyTooLarge, Request, Response
from tests.aio import run
from tests.unit.apiserver.server.listen.http11 import serving


async def echo(request: Request) -> Response:
    try:
        body = await request.body()
    except BodyTooLarge as error:
        return Response(413, str(error).encode())
    except APIError as error:
        return Response(error.code, str(error).encode())
    return Response(200, body + b"|" + await request.body())


async def describe(request: Request) -> Response:
    text = f"{request.method} {request.path} {request.query_string} {request.remote} {request.received_at > 0}"
    return Response(200, text.encode())


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        pytest.param("/api/v1?a=%20b", "GET /api/v1 a=%20b 127.0.0.1 True", id="query stays raw"),
        pytest.param("/a%2Fb%20c", "GET /a/b c  127.0.0.1 True", id="path is decoded"),
        pytest.param("http://x/abs?q=1", "GET /abs q=1 127.0.0.1 True", id="absolute form"),
        pytest.param("/a?b?c", "GET /a b?c 127.0.0.1 True", id="question mark in query"),
    ],
)
def test_target(target: str, expected: str) -> None:
    async def scenario() -> None:
        async with serving(describe) as served, served.wire() as wire:
            assert (await wire.get(target)).body.decode() == expected

    run(scenario())


@pytest.mark.parametrize("method", ["FOO", "get", "GETT", "X-1"])
def test_a_method_that_nobody_knows_comes_in_as_one_that_nothing_allows(method: str) -> None:
    async def scenario() -> None:
        async with serving(describe) as served, served.wire() as wire:
            for _ in range(2):
                wire.send(f"{method} /a HTTP/1.1\r\nHost: x\r\n\r\n")
                assert (await wire.answer()).body == b"TRACE /a  127.0.0.1 True"
            assert (await wire.get("/a")).body == b"GET /a  127.0.0.1 True"

    run(scenario())


def test_a_body_that_looks_like_a_request_stays_as_it_is() -> None:
    async def scenario() -> None:
        async with serving(echo) as served, served.wire() as wire:
            body = "FOO /a HTTP/1.1\r\n"
            wire.send(f"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n")
            await asyncio.sleep(0.05)  # so that it comes by itself
            wire.send(body)
            assert (await wire.answer()).body == f"{body}|{body}".encode()

    run(scenario())


def test_body_can_be_read_twice() -> None:
    async def scenario() -> None:
        async with serving(echo) as served, served.wire() as wire:
            wire.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc")
            assert (await wire.answer()).body == b"abc|abc"
            wire.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n")
            assert (await wire.answer()).body == b"abc|abc"
            assert (await wire.get("/")).body == b"|"

    run(scenario())


def test_body_is_asked_for_when_it_is_read() -> None:
    async def scenario() -> None:
        async with serving(echo) as served, served.wire() as wire:
            wire.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
            assert (await wire.head())[0] == "HTTP/1.1 100 Continue"
            wire.send("abc")
            assert (await wire.answer()).body == b"abc|abc"

    run(scenario())


def test_largest_body_and_one_byte_more() -> None:
    async def scenario() -> None:
        async with serving(echo) as served:
            answers = []
            for size in (BODY_LIMIT_BYTES, BODY_LIMIT_BYTES + 1):
                async with served.wire() as wire:
                    wire.send(f"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {size}\r\n\r\n")
                    wire.send(b"x" * size)
                    answers.append(await wire.answer())
            assert [answer.status for answer in answers] == [200, 413]
            assert answers[1].body == b"Request entity too large: limit is 3145728"

    run(scenario())


def test_body_too_large_that_does_not_say_so() -> None:
    async def scenario() -> None:
        async with serving(echo) as served, served.wire() as wire:
            wire.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
            for _ in range(4):
                wire.send(b"100000\r\n" + b"x" * 0x100000 + b"\r\n")
            wire.send("0\r\n\r\n")
            assert (await wire.answer()).status == 413

    run(scenario())


def test_compressed_body_is_not_expanded() -> None:
    async def scenario() -> None:
        async with serving(echo) as served, served.wire() as wire:
            wire.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\n\x1f\x01\x02")
            assert (await wire.answer()).body == b"\x1f\x01\x02|\x1f\x01\x02"

    run(scenario())


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        pytest.param("certainly not HTTP\r\n\r\n", 400, id="nonsense"),
        pytest.param("GET /" + "a" * 70_000 + " HTTP/1.1\r\nHost: x\r\n\r\n", 431, id="line over 64 KiB"),
        pytest.param("GET / HTTP/1.1\r\nX: " + "a" * 70_000 + "\r\n\r\n", 431, id="header over 64 KiB"),
        pytest.param("GET / HTTP/1.1\r\n" + ("X: " + "a" * 60_000 + "\r\n") * 20, 431, id="head over 1 MiB"),
        pytest.param("GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400, id="bad length"),
    ],
)
def test_what_is_not_http_is_refused_and_closed(sent: str, status: int) -> None:
    async def scenario() -> None:
        async with serving(echo) as served, served.wire() as wire:
            wire.send(sent)
            assert (await wire.answer()).status == status
            assert await wire.at_end()

    run(scenario())


def test_long_selectors_and_tokens_pass() -> None:
    async def scenario() -> None:
        async with serving(describe) as served, served.wire() as wire:
            answer = await wire.get("/?labelSelector=" + "a" * 60_000, "Authorization: Bearer " + "t" * 60_000)
            assert answer.status == 200

    run(scenario())


def test_who_has_a_thousand_groups_can_say_so() -> None:
    async def scenario() -> None:
        async with serving(describe) as served, served.wire() as wire:
            for _ in range(2):
                assert (await wire.get("/", *(f"X-Remote-Group: {number}" for number in range(1000)))).status == 200

    run(scenario())


def test_handler_is_cancelled_when_the_client_leaves() -> None:
    async def scenario() -> None:
        began, cancelled = asyncio.Event(), asyncio.Event()

        async def handler(_: Request) -> Response:
            began.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.set()
                raise
            raise AssertionError

        async with serving(handler) as served:
            async with served.wire() as wire:
                wire.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                await began.wait()
            await cancelled.wait()

    run(scenario())
