"""The short road and the ordinary one: the same requests, the same bytes; and what goes which way."""

from __future__ import annotations

import asyncio
import re

import pytest

from controlplane.base.streams import Chunk, Sink
from controlplane.client.request import BodyTooLarge, Request, Response, StreamResponse
from tests.aio import run
from tests.unit.apiserver.server.listen.http11 import Wire, serving

HEADERS = "Host: x\r\nAccept: application/json\r\nX-Two: 1\r\nX-Two: 2\r\n"
GET = f"GET /small HTTP/1.1\r\n{HEADERS}\r\n"
LIMIT = 400_000


class Table:
    """A handler with an answer of every kind. ``direct``: for each request, whether it came on the short road."""

    def __init__(self) -> None:
        self.direct: list[bool] = []

    async def handle(self, request: Request) -> Response:
        task = asyncio.current_task()
        self.direct.append(not isinstance(task, asyncio.Task) or task.get_name() == "listener.request")
        if request.path == "/waits":
            await asyncio.sleep(0.001)
        if request.path == "/waits-once":
            await asyncio.sleep(0)
        if request.path == "/timeout":
            try:
                async with asyncio.timeout(0.01):
                    await asyncio.Event().wait()
            except TimeoutError:
                return Response(504, b"too late")
        if request.path == "/fails":
            raise LookupError("on purpose")
        if request.path == "/fails-later":
            await asyncio.sleep(0)
            raise LookupError("on purpose")
        if request.path == "/stream":
            return StreamResponse(self._stream)
        if request.path == "/closes":
            return Response(429, b"", headers=[("Connection", "close")])
        if request.path == "/empty":
            return Response(204, content_type="")
        if request.path == "/pieces":
            return Response(200, [b"one", b"two"])
        if request.path == "/large":
            return Response(200, b"x" * 300_000)
        if request.path == "/large-pieces":
            return Response(200, [b"x" * 100_000] * 3)
        try:
            body = await request.body()
        except BodyTooLarge as error:
            return Response(413, str(error).encode())
        headers = [*request.headers.items(), *([("Audit-Id", request.audit_id)] if request.audit_id else [])]
        text = f"{request.method} {request.path} {request.query_string} {headers} {request.remote}"
        return Response(200, text.encode() + body, headers=[("X-Odd", "a\r\nb")])

    async def _stream(self, sink: Sink) -> None:
        sink.write(Chunk(b"first"))
        await asyncio.sleep(0.001)
        sink.write(Chunk(b"second"))


def request(line: str, body: str = "", *headers: str) -> str:
    length = [f"Content-Length: {len(body)}"] if body else []
    return f"{line} HTTP/1.1\r\n{HEADERS}" + "".join(f"{h}\r\n" for h in (*headers, *length)) + "\r\n" + body


ROWS = [
    pytest.param([GET, GET, GET], [False, True, True], id="the same headers again"),
    pytest.param([GET, request("GET /a%2Fb?x=%20y&watch=0"), request("GET /a?b?c")], [False, True, True], id="targets"),
    pytest.param([GET, request('GET /a"b'), request("GET /ä"), GET], [False, False], id="targets that are not plain"),
    pytest.param([GET, "GET http://x/abs?q=1 HTTP/1.1\r\n" + HEADERS + "\r\n"], [False, False], id="absolute form"),
    pytest.param([GET, request("GET //x/y"), GET], [False, False, False], id="two slashes"),
    pytest.param(
        [request("GET /a", "", f"Audit-Id: {one}") for one in ("a-1", "b-2", "a-1", "ä", "")],
        [False, True, True, True, True],
        id="requests that another server sends on",
    ),
    pytest.param(
        [request("GET /a", "", "Audit-Id: 1", "Audit-Id: 2"), request("GET /a", "", "Audit-Id: 1", "X-After: 1")],
        [False, True],
        id="audit ids elsewhere, and two",
    ),
    pytest.param([GET, request("HEAD /small"), GET], [False, False, False], id="HEAD"),
    pytest.param([GET, request("OPTIONS /small"), GET], [False, False, False], id="OPTIONS"),
    pytest.param([GET, f"GET /small HTTP/1.0\r\n{HEADERS}\r\n"], [False, False], id="HTTP/1.0"),
    pytest.param([GET, request("GET /small", "", "Connection: close")], [False, False], id="asks to close"),
    pytest.param([request("GET /small", "", "Connection: close")], [False], id="asks to close at once"),
    pytest.param([GET, request("GET /closes")], [False, True], id="server closes"),
    pytest.param([GET, request("GET /fails")], [False, True], id="handler raises"),
    pytest.param([GET, request("GET /fails-later")], [False, True], id="handler raises after a wait"),
    pytest.param([GET, request("GET /waits"), GET], [False, True, True], id="handler waits"),
    pytest.param([GET, request("GET /waits-once"), GET], [False, True, True], id="handler lets others run"),
    pytest.param([GET, request("GET /timeout"), GET], [False, True, True], id="timeout inside the handler"),
    pytest.param([GET, request("GET /stream"), GET], [False, True, True], id="stream"),
    pytest.param([GET, request("GET /empty"), GET], [False, True, True], id="no content"),
    pytest.param([GET, request("GET /pieces"), GET], [False, True, True], id="body in pieces"),
    pytest.param([GET, request("GET /large"), GET], [False, True, True], id="large body"),
    pytest.param([GET, request("GET /large-pieces"), GET], [False, True, True], id="large body in pieces"),
    pytest.param(
        [request("POST /a", "abc"), request("PUT /b", "xyz"), GET, GET], [False, True, True, True], id="bodies"
    ),
    pytest.param([request("POST /waits", "abc"), request("POST /waits", "xyz")], [False, True], id="body, and waits"),
    pytest.param([GET, request("DELETE /a"), request("PATCH /a")], [False, True, True], id="methods without a body"),
    pytest.param(
        [request("POST /a", "a" * 5), request("POST /a", "b" * 5), request("POST /a", "c" * 6)],
        [False, True, True],
        id="another length",
    ),
    pytest.param(
        [GET, "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n", GET],
        [False, False, False],
        id="chunked body",
    ),
    pytest.param([request("POST /a", "abc")[:-3], "abc", GET, GET], [False, True, True], id="body comes later"),
    pytest.param([GET + GET, GET], [False, False, False], id="two at once"),
    pytest.param([GET, GET + GET[:20], GET[20:], GET], [False] * 4, id="one and a part of the next"),
    pytest.param([GET, GET[:30], GET[30:], GET], [False] * 3, id="head in two parts"),
    pytest.param([GET, request("GET /waits") + GET, GET], [False] * 4, id="the next while one waits"),
    pytest.param([GET, request("GET /small", "", "Upgrade: websocket", "Connection: Upgrade")], [False], id="upgrade"),
    pytest.param([GET, "GARBAGE\r\n\r\n"], [False], id="not HTTP"),
    pytest.param(
        [GET, f"GET /small HTTP/1.1\r\n{HEADERS}Content-Length: 1\r\nContent-Length: 2\r\n\r\n"],
        [False],
        id="2 lengths",
    ),
    pytest.param([GET, "GET /small HTTP/1.1\r\n\r\n", "GET /small HTTP/1.1\r\n\r\n"], [False], id="no headers at all"),
    pytest.param(
        [request("POST /a", "x" * LIMIT), request("POST /a", "x" * LIMIT)], [False] * 2, id="body in many reads"
    ),
]


async def everything(wire: Wire, sent: list[str]) -> bytes:
    """What the server answers to these writes, each sent once it has nothing more to say to the one before it."""
    received = b""
    for text in sent:
        wire.send(text.encode())
        received += await _until_quiet(wire)
    return re.sub(rb"Date: [^\r]+|Server: [^\r]+", b"Date", received)


async def _until_quiet(wire: Wire) -> bytes:
    received = b""
    while True:
        try:
            async with asyncio.timeout(0.05):
                piece = await wire.reader.read(1 << 20)
        except TimeoutError:
            return received
        if not piece:
            return received + b"<closed>"
        received += piece


@pytest.mark.parametrize(("sent", "direct"), ROWS)
def test_both_roads_answer_alike(sent: list[str], direct: list[bool]) -> None:
    async def over(*, short: bool) -> tuple[bytes, list[bool]]:
        table = Table()
        async with serving(table.handle, direct=short, body_limit_bytes=LIMIT) as served, served.wire() as wire:
            return await everything(wire, sent), table.direct

    async def scenario() -> None:
        ordinary, without = await over(short=False)
        short, taken = await over(short=True)
        assert short == ordinary
        assert len(ordinary) > 0
        assert not any(without)
        assert taken[: len(direct)] == direct

    run(scenario())


def test_body_over_the_limit_is_refused_on_both_roads() -> None:
    async def over(*, short: bool) -> bytes:
        table = Table()
        async with serving(table.handle, direct=short, body_limit_bytes=10) as served, served.wire() as wire:
            sent = [request("POST /a", "x" * 11), request("POST /a", "x" * 11), GET]
            return await everything(wire, sent)

    async def scenario() -> None:
        answered = await over(short=True)
        assert answered.count(b"413") == 2
        assert answered == await over(short=False)

    run(scenario())


def test_what_comes_while_a_request_is_under_way_is_answered_after_it() -> None:
    release = asyncio.Event()
    order: list[str] = []

    async def handler(request: Request) -> Response:
        if request.path == "/slow":
            await release.wait()
        order.append(request.path)
        return Response(200, request.path.encode())

    async def scenario() -> None:
        async with serving(handler) as served, served.wire() as wire:
            await wire.get("/first")
            wire.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
            await asyncio.sleep(0.02)
            for path in ("/second", "/third"):
                wire.send(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n")
                await asyncio.sleep(0.02)
            release.set()
            assert [(await wire.answer()).body for _ in range(3)] == [b"/slow", b"/second", b"/third"]
            assert order == ["/first", "/slow", "/second", "/third"]
            assert (await wire.get("/fourth")).body == b"/fourth"

    run(scenario())


def test_request_is_cancelled_when_its_client_goes() -> None:
    async def scenario() -> None:
        ended = asyncio.Event()

        async def handler(request: Request) -> Response:
            if request.path == "/slow":
                try:
                    await asyncio.Event().wait()
                finally:
                    ended.set()
            return Response(200, b"")

        async with serving(handler) as served:
            async with served.wire() as wire:
                await wire.get("/")
                wire.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
                await asyncio.sleep(0.02)
            async with asyncio.timeout(2):
                await ended.wait()

    run(scenario())


def test_stream_is_told_when_its_client_goes() -> None:
    async def scenario() -> None:
        ended = asyncio.Event()

        async def stream(sink: Sink) -> None:
            sink.write(Chunk(b"begun"))
            try:
                await sink.until_closed()
            finally:
                ended.set()

        async def handler(request: Request) -> Response:
            return StreamResponse(stream) if request.path == "/watch" else Response(200, b"")

        async with serving(handler) as served:
            async with served.wire() as wire:
                await wire.get("/")
                wire.send("GET /watch HTTP/1.1\r\nHost: x\r\n\r\n")
                await wire.head()
                assert await wire.chunk() == b"begun"
                assert served.listener.streams == 1
            async with asyncio.timeout(2):
                await ended.wait()
            await asyncio.sleep(0)
            assert served.listener.streams == 0

    run(scenario())


def test_close_waits_for_a_request_under_way() -> None:
    async def scenario() -> None:
        begun, release = asyncio.Event(), asyncio.Event()

        async def handler(request: Request) -> Response:
            if request.path == "/slow":
                begun.set()
                await release.wait()
            return Response(200, b"done")

        async with serving(handler) as served, served.wire() as wire:
            await wire.get("/")
            wire.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
            await begun.wait()
            closing = asyncio.ensure_future(served.listener.close(seconds=5))
            await asyncio.sleep(0.02)
            assert not closing.done()
            release.set()
            answer = await wire.answer()
            assert (answer.body, answer.headers["connection"]) == (b"done", "close")
            assert await wire.at_end()
            await closing

    run(scenario())


def test_close_cancels_what_does_not_end() -> None:
    async def scenario() -> None:
        cancelled = asyncio.Event()

        async def handler(request: Request) -> Response:
            if request.path == "/slow":
                try:
                    await asyncio.Event().wait()
                finally:
                    cancelled.set()
            return Response(200, b"")

        async with serving(handler) as served, served.wire() as wire:
            await wire.get("/")
            wire.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
            await asyncio.sleep(0.02)
            await served.listener.close(seconds=0.05)
            assert cancelled.is_set()
            assert await wire.at_end()

    run(scenario())


def test_answer_while_closing_ends_the_connection() -> None:
    async def scenario() -> None:
        async def handler(_: Request) -> Response:
            return Response(200, b"")

        async with serving(handler) as served, served.wire() as wire:
            await wire.get("/")
            served.listener.closing = True
            assert (await wire.get("/")).headers["connection"] == "close"
            assert await wire.at_end()

    run(scenario())


def test_idle_connection_is_closed_and_a_busy_one_is_not() -> None:
    async def handler(request: Request) -> Response:
        if request.path == "/slow":
            await asyncio.sleep(0.3)
        return Response(200, b"done")

    async def scenario() -> None:
        async with serving(handler, keep_alive_seconds=0.1) as served, served.wire() as wire:
            await wire.get("/")
            assert (await wire.get("/slow")).body == b"done"
            assert (await wire.get("/")).body == b"done"
            async with asyncio.timeout(2):
                assert await wire.at_end()

    run(scenario())


@pytest.mark.parametrize("direct", [True, False])
def test_a_client_that_asks_on_and_does_not_read_is_not_answered_on(direct: bool) -> None:
    asked = 0

    async def handle(_request: Request) -> Response:
        nonlocal asked
        asked += 1
        return Response(200, b"x" * 50_000)

    async def scenario() -> None:
        async with serving(handle, direct=direct) as served, served.wire() as wire:
            await wire.get("/small")
            for _ in range(1_000):
                wire.send("GET /small HTTP/1.1\r\nHost: x\r\n\r\n")
                await asyncio.sleep(0)
            before = -1
            while asked != before:
                before = asked
                await asyncio.sleep(0.1)
            assert asked < 500  # what the kernel's buffers took, and a little
            for _ in range(1_000):
                assert len((await wire.answer()).body) == 50_000

    run(scenario())
