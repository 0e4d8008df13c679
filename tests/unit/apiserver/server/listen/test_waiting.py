"""Requests that wait for another server's answer: they go on where it comes, and otherwise as any other request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from controlplane.base.deadlines import Deadlines
from controlplane.base.eager import Awaited
from controlplane.client.forward.answers import passed_on
from controlplane.client.forward.transport import ForwardTransport
from controlplane.client.request import Chunk, Request, Response, Sink, StreamResponse
from controlplane.client.webhook import Endpoint
from tests.aio import run
from tests.unit.apiserver.server.listen.http11 import Wire, serving
from tests.unit.client.test_exchange import CHUNKED, PLAIN, Line
from tests.unit.client.test_forward_transport import Server


class Asked:
    """A handler all of whose requests but the first wait for what the test gives. ``tasks``: how many run; ``ended``:
    what cancelled ones were told."""

    def __init__(self) -> None:
        self.asked: asyncio.Queue[Awaited[str]] = asyncio.Queue()
        self.ended: asyncio.Queue[str] = asyncio.Queue()

    async def __call__(self, request: Request) -> Response:
        if request.path == "/":
            return Response(200, b"")
        answer: Awaited[str] = Awaited(loop=asyncio.get_running_loop())
        self.asked.put_nowait(answer)
        try:
            text = await answer
        except asyncio.CancelledError:
            self.ended.put_nowait("cancelled")
            raise
        if text == "again":
            return await self(request)
        if text == "slow":
            await asyncio.sleep(0.001)
        if text == "large":
            return Response(200, b"x" * 1_000_000)
        if text == "stream":
            return StreamResponse(self._stream)
        return Response(200, f"{request.path} {text}".encode())

    async def _stream(self, sink: Sink) -> None:
        sink.write(Chunk(b"streamed"))


def ask(wire: Wire, path: str) -> None:
    wire.send(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n")


async def given(handler: Asked, give: Callable[[Awaited[str]], None]) -> None:
    """Give what is waited for, from the loop, as a connection does."""
    answer = await handler.asked.get()
    asyncio.get_running_loop().call_soon(give, answer)


@pytest.mark.parametrize(
    ("texts", "body"),
    [
        pytest.param(["x"], b"/a x", id="small"),
        pytest.param(["again", "x"], b"/a x", id="after waiting twice"),
        pytest.param(["slow"], b"/a slow", id="after waiting for something else"),
        pytest.param(["large"], b"x" * 1_000_000, id="large"),
        pytest.param(["stream"], b"streamed", id="stream"),
    ],
)
def test_every_kind_of_answer(texts: list[str], body: bytes) -> None:
    async def scenario() -> None:
        handler = Asked()
        async with serving(handler) as served, served.wire() as wire:
            await wire.get("/")
            for _ in range(2):
                ask(wire, "/a")
                for text in texts:
                    await given(handler, lambda answer, text=text: answer.fulfil(text))  # type: ignore[misc]
                assert (await wire.answer()).body == body
                assert not served.listener.waiting

    run(scenario())


def test_the_answer_is_written_where_it_comes() -> None:
    async def scenario() -> None:
        handler = Asked()
        async with serving(handler) as served, served.wire() as wire:
            await wire.get("/")
            ask(wire, "/a")
            answer = await handler.asked.get()
            tasks = len(asyncio.all_tasks())
            (road,) = served.listener.waiting
            assert road.busy
            done = asyncio.get_running_loop().create_future()

            def fulfil() -> None:
                answer.fulfil("x")
                done.set_result(road.busy)

            asyncio.get_running_loop().call_soon(fulfil)
            assert (await done, len(asyncio.all_tasks())) == (False, tasks)
            assert (await wire.answer()).body == b"/a x"

    run(scenario())


def test_what_fails_is_answered() -> None:
    async def scenario() -> None:
        handler = Asked()
        async with serving(handler) as served, served.wire() as wire:
            await wire.get("/")
            ask(wire, "/a")
            await given(handler, lambda answer: answer.fail(LookupError("on purpose")))
            assert (await wire.answer()).status == 500
            assert await wire.at_end()

    run(scenario())


def test_what_comes_meanwhile_is_answered_after_it() -> None:
    async def scenario() -> None:
        handler = Asked()
        async with serving(handler) as served, served.wire() as wire:
            await wire.get("/")
            for path in ("/a", "/b", "/"):
                ask(wire, path)
                await asyncio.sleep(0.01)
            await given(handler, lambda answer: answer.fulfil("x"))
            assert (await wire.answer()).body == b"/a x"
            await given(handler, lambda answer: answer.fulfil("y"))
            assert [(await wire.answer()).body for _ in range(2)] == [b"/b y", b""]

    run(scenario())


def test_it_is_cancelled_when_its_client_goes() -> None:
    async def scenario() -> None:
        handler = Asked()
        async with serving(handler) as served:
            async with served.wire() as wire:
                await wire.get("/")
                ask(wire, "/a")
                await handler.asked.get()
            async with asyncio.timeout(2):
                assert await handler.ended.get() == "cancelled"
            assert not served.listener.waiting

    run(scenario())


def test_close_waits_for_it_and_cancels_it_at_last() -> None:
    async def scenario() -> None:
        handler = Asked()
        async with serving(handler) as served, served.wire() as wire, served.wire() as other:
            for one in (wire, other):
                await one.get("/")
                ask(one, "/a")
            answer = await handler.asked.get()
            closing = asyncio.ensure_future(served.listener.close(seconds=0.2))
            await asyncio.sleep(0.02)
            asyncio.get_running_loop().call_soon(answer.fulfil, "x")
            last = await wire.answer()
            assert (last.body, last.headers["connection"]) == (b"/a x", "close")
            await closing
            assert (handler.ended.get_nowait(), handler.ended.empty()) == ("cancelled", True)
            assert await other.at_end()

    run(scenario())


def test_its_deadline_ends_it() -> None:
    async def scenario() -> None:
        handler, deadlines = Asked(), Deadlines(0.05)

        async def bounded(request: Request) -> Response:
            running = deadlines.enter(asyncio.current_task())
            try:
                return await handler(request)
            except asyncio.CancelledError:
                if running.was_cause():
                    return Response(504, b"too late")
                raise
            finally:
                deadlines.leave(running)

        async with serving(bounded) as served, served.wire() as wire:
            await wire.get("/")
            ask(wire, "/a")
            assert (await wire.answer()).status == 504
            assert (await wire.get("/")).status == 200

    run(scenario())


@pytest.mark.parametrize("size", [1, 30, 1000])
@pytest.mark.parametrize(
    ("sent", "body"), [pytest.param(PLAIN, b"hello", id="length"), pytest.param(CHUNKED, b"hello yo", id="chunks")]
)
def test_however_another_servers_answer_is_cut(sent: bytes, body: bytes, size: int) -> None:
    async def scenario() -> None:
        line, asked = Line(), asyncio.Event()

        async def handler(request: Request) -> Response:
            if request.path == "/":
                return Response(200, b"")
            asked.set()
            answer = await line.connection.ask(b"GET / HTTP/1.1\r\n\r\n", is_head=False)
            return await passed_on(answer, method="GET")

        async with serving(handler) as served, served.wire() as wire:
            await wire.get("/")
            for _ in range(2):
                asked.clear()
                ask(wire, "/a")
                await asked.wait()
                for at in range(0, len(sent), size):
                    asyncio.get_running_loop().call_soon(line.connection.data_received, sent[at : at + size])
                    await asyncio.sleep(0)
                assert (await wire.answer()).body == body
            assert line.free == [line.connection, line.connection]

    run(scenario())


def test_another_server_that_breaks_off_in_the_midst() -> None:
    async def scenario() -> None:
        line, asked, told = Line(), asyncio.Event(), asyncio.Queue[str]()

        async def handler(request: Request) -> Response:
            if request.path == "/":
                return Response(200, b"")
            asked.set()
            try:
                answer = await line.connection.ask(b"GET / HTTP/1.1\r\n\r\n", is_head=False)
                return await passed_on(answer, method="GET")
            except ConnectionError as error:
                told.put_nowait(str(error))
                return Response(503, b"broken off")

        async with serving(handler) as served, served.wire() as wire:
            await wire.get("/")
            ask(wire, "/a")
            await asked.wait()
            loop = asyncio.get_running_loop()
            loop.call_soon(line.connection.data_received, PLAIN[:-2])
            loop.call_soon(line.connection.connection_lost, None)
            assert ((await wire.answer()).status, await told.get()) == (503, "EOF")
            assert not line.free

    run(scenario())


class Silent(Server):
    """Answers the first request and none after it. ``taken``: it has such a one; ``left``: who sent it has closed the
    connection."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.taken, self.left = asyncio.Event(), asyncio.Event()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        self.taken.set()
        try:
            assert await reader.read() == b""
        except ConnectionError:
            pass
        finally:
            self.left.set()
            writer.close()


class Sending:
    """A handler that sends its requests on."""

    def __init__(self, transport: ForwardTransport, server: Server, endpoint: Endpoint) -> None:
        self._transport, self._server, self._endpoint = transport, server, endpoint

    async def __call__(self, request: Request) -> Response:
        if request.path == "/":
            return Response(200, b"")
        answer = await self._transport.send(self._server.trust, self._endpoint, request.method, "/", lines=b"")
        return await passed_on(answer, method=request.method)


def test_a_kept_connection_that_ends_as_it_is_asked(tmp_path: Path) -> None:
    async def scenario() -> None:
        server, transport = Server(tmp_path), ForwardTransport()
        async with (
            server.listening() as endpoint,
            serving(Sending(transport, server, endpoint)) as served,
            served.wire() as wire,
        ):
            await wire.get("/")
            for _ in range(2):
                assert (await wire.get("/a")).body == b"ok"
            assert server.seen == ["GET"] * 3
            await transport.close()

    run(scenario())


def test_a_client_that_leaves_ends_the_exchange_with_the_other_server(tmp_path: Path) -> None:
    async def scenario() -> None:
        server, transport = Silent(tmp_path), ForwardTransport()
        async with server.listening() as endpoint, serving(Sending(transport, server, endpoint)) as served:
            async with served.wire() as wire:
                await wire.get("/")
                await wire.get("/a")
                ask(wire, "/a")
                await server.taken.wait()
                assert served.listener.waiting
                assert not server.left.is_set()
            async with asyncio.timeout(2):
                await server.left.wait()
            await transport.close()

    run(scenario())
