"""The loopback client: the handler sees an authenticated request, the caller gets whole answers and paced streams."""

from __future__ import annotations

import asyncio

import pytest

from controlplane.apimachinery.status import APIError
from controlplane.apimachinery.user import UserInfo
from controlplane.client.api import JSON
from controlplane.client.errors import StreamBroken
from controlplane.client.loopback import LoopbackClient
from controlplane.client.pipe import DRAINED_BYTES, Pipe
from controlplane.client.request import Chunk, Request, Response, Sink, StreamResponse
from controlplane.testing.clock import FakeClock
from tests.aio import run

USER = UserInfo(name="system:serviceaccount:kube-system:test", groups=("system:serviceaccounts",))


def test_request_carries_identity_headers_and_encoded_query() -> None:
    seen: list[Request] = []

    async def handler(request: Request) -> Response:
        seen.append(request)
        return Response(201, [b'{"a":', b"1}"], headers=[("Audit-Id", "x")])

    async def main() -> None:
        client = LoopbackClient(handler, USER, user_agent="tester/1")
        answer = await client.request(
            "POST", "/api/v1/a b", query=[("labelSelector", "a in (x,y)"), ("labelSelector", "z")], body=b"{}"
        )
        assert (answer.status, answer.content()) == (201, b'{"a":1}')

    run(main())
    (request,) = seen
    assert request.identity is USER
    assert (request.method, request.path) == ("POST", "/api/v1/a b")
    assert request.query["labelSelector"] == ["a in (x,y)", "z"]
    assert request.headers["User-Agent"] == "tester/1"
    assert (request.headers["Accept"], request.headers["content-type"]) == (JSON, JSON)


def test_another_user_is_another_identity_on_the_same_handler() -> None:
    async def handler(request: Request) -> Response:
        assert request.identity is not None
        return Response(200, request.identity.name.encode())

    async def main() -> bytes:
        client = LoopbackClient(handler, USER).as_user(UserInfo(name="bob"))
        return (await client.request("GET", "/")).content()

    assert run(main()) == b"bob"


@pytest.mark.parametrize(
    ("status", "retry_after", "attempts", "elapsed"),
    [
        pytest.param(429, "2", 3, 4.0, id="too many requests with a time"),
        pytest.param(503, "1", 3, 2.0, id="unavailable with a time"),
        pytest.param(503, "", 1, 0.0, id="unavailable without one"),
        pytest.param(409, "1", 1, 0.0, id="conflict is the caller's to retry"),
        pytest.param(429, "soon", 1, 0.0, id="not a number"),
    ],
)
def test_asked_to_wait_it_tries_again_then_gives_the_last_answer(
    status: int, retry_after: str, attempts: int, elapsed: float
) -> None:
    count = 0

    async def handler(_request: Request) -> Response:
        nonlocal count
        count += 1
        return Response(status, headers=[("Retry-After", retry_after)] if retry_after else [])

    async def main() -> None:
        clock = FakeClock(auto_advance=True)
        async with clock:
            client = LoopbackClient(handler, USER, clock=clock, retries=2)
            assert (await client.request("GET", "/")).status == status
        assert clock.elapsed == elapsed

    run(main())
    assert count == attempts


def test_a_streamed_answer_to_a_request_is_collected() -> None:
    async def write(sink: Sink) -> None:
        for number in range(3):
            sink.write(Chunk(b"%d" % number))
            await asyncio.sleep(0)

    async def handler(_request: Request) -> Response:
        return StreamResponse(write, status=202)

    async def main() -> None:
        answer = await LoopbackClient(handler, USER).request("GET", "/")
        assert (answer.status, answer.content()) == (202, b"012")

    run(main())


def test_leaving_a_stream_tells_the_server_and_waits_for_it() -> None:
    ended: list[str] = []

    async def write(sink: Sink) -> None:
        sink.write(Chunk(b"first"))
        try:
            await sink.until_closed()
        finally:
            ended.append("closed" if sink.closed else "open")

    async def handler(_request: Request) -> Response:
        return StreamResponse(write)

    async def main() -> None:
        async with LoopbackClient(handler, USER).stream("GET", "/") as stream:
            assert await anext(aiter(stream)) == b"first"
        assert ended == ["closed"]

    run(main())


def test_a_stream_whose_server_fails_breaks_after_what_was_sent() -> None:
    async def write(sink: Sink) -> None:
        sink.write(Chunk(b"sent"))
        raise RuntimeError("boom")

    async def handler(_request: Request) -> Response:
        return StreamResponse(write)

    async def main() -> None:
        async with LoopbackClient(handler, USER).stream("GET", "/") as stream:
            assert await anext(aiter(stream)) == b"sent"
            with pytest.raises(StreamBroken, match="boom"):
                await anext(aiter(stream))

    run(main())


def test_a_refused_stream_raises_its_status() -> None:
    body = b'{"kind":"Status","status":"Failure","reason":"Forbidden","code":403,"message":"no","details":{"name":"n"}}'

    async def handler(_request: Request) -> Response:
        return Response(403, body)

    async def main() -> None:
        with pytest.raises(APIError) as caught:
            async with LoopbackClient(handler, USER).stream("GET", "/"):
                pass
        assert (caught.value.code, caught.value.reason, caught.value.details) == (403, "Forbidden", {"name": "n"})

    run(main())


def test_a_pipe_over_its_limit_breaks_for_the_reader_and_closes_for_the_writer() -> None:
    async def main() -> None:
        pipe = Pipe(limit_bytes=10)
        pipe.write(Chunk(b"12345678"))
        pipe.write(Chunk(b"90ab"))
        assert pipe.closed
        await pipe.until_closed()
        assert await anext(pipe) == b"12345678"
        with pytest.raises(StreamBroken, match="fell behind"):
            await anext(pipe)

    run(main())


def test_a_pipe_calls_the_writer_back_when_it_has_been_read_down() -> None:
    async def main() -> None:
        pipe = Pipe(limit_bytes=10 * DRAINED_BYTES)
        called = asyncio.Event()
        pipe.write(Chunk(bytes(DRAINED_BYTES)))
        pipe.write(Chunk(b"x"))
        pipe.on_drain(called.set)
        await asyncio.sleep(0)
        assert not called.is_set()
        assert pipe.buffered_bytes() == DRAINED_BYTES + 1
        await anext(pipe)
        await called.wait()

    run(main())


def test_closing_a_pipe_calls_a_waiting_writer_back() -> None:
    async def main() -> None:
        pipe = Pipe(limit_bytes=10 * DRAINED_BYTES)
        pipe.write(Chunk(bytes(2 * DRAINED_BYTES)))
        called = asyncio.Event()
        pipe.on_drain(called.set)
        pipe.close()
        await called.wait()
        assert pipe.buffered_bytes() == 0
        pipe.write(Chunk(b"late"))
        assert pipe.buffered_bytes() == 0

    run(main())
