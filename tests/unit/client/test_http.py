"""The network client against a listener: what it sends, and what it makes of a network that fails."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from controlplane.apimachinery.status import APIError
from controlplane.apiserver.server.listen.listener import Listener, ListenerConfig, bind
from controlplane.client.config import ClientConfig, Impersonation
from controlplane.client.errors import StreamBroken, Unreachable
from controlplane.client.http import HTTPClient
from controlplane.client.request import Chunk, Handler, Request, Response, Sink, StreamResponse
from controlplane.client.token import FileToken
from controlplane.testing.clock import FakeClock
from tests.aio import run


@asynccontextmanager
async def serving(handler: Handler, **options: Any) -> AsyncIterator[HTTPClient]:
    """A client of ``handler``, over a plain socket; ``config_*`` options are the config's."""
    listener = Listener([bind("127.0.0.1", 0)], handler, ListenerConfig(tls=None))
    listener.start()
    config = {key.removeprefix("config_"): options.pop(key) for key in list(options) if key.startswith("config_")}
    try:
        async with HTTPClient(ClientConfig(server=f"http://127.0.0.1:{listener.port}", **config), **options) as client:
            yield client
    finally:
        await listener.stop_accepting()
        listener.end_streams()
        await listener.close(seconds=0.1)


def test_a_request_arrives_as_it_was_meant() -> None:
    seen: list[tuple[Request, bytes]] = []

    async def handler(request: Request) -> Response:
        seen.append((request, await request.body()))
        return Response(201, b'{"kind":"X"}', headers=[("Audit-Id", "1")])

    async def main() -> None:
        impersonation = Impersonation(user="alice", uid="7", groups=("g",), extra={"k": ("v",)})
        async with serving(
            handler, config_token="t0k", config_impersonation=impersonation, user_agent="tester/1"
        ) as client:
            answer = await client.request(
                "POST", "/apis/g/v 1/x%y", query=[("labelSelector", "a in (b,c)")], body=b"{}", content_type="a/b"
            )
            assert (answer.status, answer.content()) == (201, b'{"kind":"X"}')
            assert ("Audit-Id", "1") in answer.headers

    run(main())
    ((request, body),) = seen
    assert (request.method, request.path, body) == ("POST", "/apis/g/v 1/x%y", b"{}")
    assert request.query == {"labelSelector": ["a in (b,c)"]}
    assert request.identity is None
    expected = {
        "Authorization": "Bearer t0k",
        "Content-Type": "a/b",
        "Accept": "application/json",
        "User-Agent": "tester/1",
        "Impersonate-User": "alice",
        "Impersonate-Uid": "7",
        "Impersonate-Group": "g",
        "Impersonate-Extra-k": "v",
    }
    assert {name: request.headers.get(name) for name in expected} == expected


def test_connections_are_kept_and_used_again() -> None:
    remotes: set[str] = set()

    async def handler(request: Request) -> Response:
        remotes.add(request.remote)
        return Response(200, b"{}")

    async def main() -> None:
        async with serving(handler) as client:
            for _ in range(5):
                await client.request("GET", "/")

    run(main())
    assert len(remotes) == 1


@pytest.mark.parametrize(
    ("codes", "final"),
    [
        pytest.param([429, 503, 200], 200, id="asked to wait, it waits and asks again"),
        pytest.param([503, 503, 503, 503], 503, id="not for ever"),
    ],
)
def test_answers_that_ask_for_another_attempt_get_it(codes: list[int], final: int) -> None:
    left = list(codes)

    async def handler(_request: Request) -> Response:
        return Response(left.pop(0), b"{}", headers=[("Retry-After", "0")])

    async def main() -> None:
        async with serving(handler, retries=3) as client:
            assert (await client.request("GET", "/")).status == final
        assert not left

    run(main())


def test_nobody_listening_is_unreachable_and_nothing_was_sent() -> None:
    async def main() -> None:
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            server = f"http://127.0.0.1:{unused.getsockname()[1]}"
            async with HTTPClient(ClientConfig(server=server)) as client:
                with pytest.raises(Unreachable) as caught:
                    await client.request("GET", "/")
        assert not caught.value.sent

    run(main())


def test_no_answer_in_time_is_unreachable_and_may_have_been_sent() -> None:
    async def handler(_request: Request) -> Response:
        await asyncio.get_running_loop().create_future()
        return Response()

    async def main() -> None:
        async with serving(handler, request_seconds=0.05) as client:
            with pytest.raises(Unreachable, match=r"no answer within 0\.05 s") as caught:
                await client.request("POST", "/", body=b"{}")
            assert caught.value.sent
            with pytest.raises(Unreachable, match="no answer within"):
                async with client.stream("GET", "/"):
                    pass

    run(main())


def test_a_stream_is_read_as_it_comes_and_its_end_is_an_end() -> None:
    go_on = asyncio.Event()

    async def write(sink: Sink) -> None:
        sink.write(Chunk(b"one\n"))
        await go_on.wait()
        sink.write(Chunk(b"two\n"))

    async def handler(request: Request) -> Response:
        assert request.headers["Accept-Encoding"] == "identity"
        return StreamResponse(write)

    async def main() -> None:
        async with serving(handler) as client, client.stream("GET", "/") as stream:
            assert await anext(aiter(stream)) == b"one\n"
            go_on.set()
            assert [piece async for piece in stream] == [b"two\n"]

    run(main())


def test_a_stream_that_is_cut_is_broken_not_ended() -> None:
    async def main() -> None:
        async def cut(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\none\n\r\n")
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(cut, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with server, HTTPClient(ClientConfig(server=f"http://127.0.0.1:{port}")) as client:
            async with client.stream("GET", "/") as stream:
                assert await anext(aiter(stream)) == b"one\n"
                with pytest.raises(StreamBroken, match="connection was lost"):
                    await anext(aiter(stream))

    run(main())


def test_leaving_a_stream_ends_it_at_the_server() -> None:
    ended = asyncio.Event()

    async def write(sink: Sink) -> None:
        sink.write(Chunk(b"x"))
        try:
            await sink.until_closed()
        finally:
            ended.set()

    async def handler(_request: Request) -> Response:
        return StreamResponse(write)

    async def main() -> None:
        async with serving(handler) as client:
            async with client.stream("GET", "/") as stream:
                await anext(aiter(stream))
            await ended.wait()

    run(main(), seconds=10)


def test_a_refused_stream_raises_its_status() -> None:
    async def handler(_request: Request) -> Response:
        return Response(403, b'{"kind":"Status","status":"Failure","reason":"Forbidden","code":403,"message":"no"}')

    async def main() -> None:
        async with serving(handler) as client:
            with pytest.raises(APIError) as caught:
                async with client.stream("GET", "/"):
                    pass
            assert (caught.value.code, caught.value.message) == (403, "no")

    run(main())


def test_a_token_file_is_read_again_after_a_minute_and_survives_being_unreadable(tmp_path: Path) -> None:
    path = tmp_path / "token"

    async def main() -> None:
        clock = FakeClock()
        token = FileToken(path, clock)
        with pytest.raises(Unreachable, match=str(path)) as caught:
            await token.get()
        assert not caught.value.sent
        path.write_text("one\n")
        assert await token.get() == "one"
        path.write_text("two\n")
        await clock.advance(59)
        assert await token.get() == "one"
        await clock.advance(1)
        assert await token.get() == "two"
        path.unlink()
        await clock.advance(60)
        assert await token.get() == "two"

    run(main())


def test_a_client_that_is_not_connected_says_so() -> None:
    with pytest.raises(RuntimeError, match="not connected"):
        run(HTTPClient(ClientConfig(server="http://127.0.0.1:1")).request("GET", "/"))
