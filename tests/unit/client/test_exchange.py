"""Answers of HTTP/1.1, however they are framed and cut."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any

import pytest

from controlplane.client.forward.exchange import Answer, Connection
from tests.aio import run

PLAIN = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nA: 1\r\nA: 2\r\n\r\nhello"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n3;x=y\r\n yo\r\n0\r\nTrailer: t\r\n\r\n"


class Transport(asyncio.Transport):
    """Keeps what is written, and whether it is read."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []
        self.reading, self.ended = True, ""

    def write(self, data: Any) -> None:
        self.written.append(bytes(data))

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True

    def abort(self) -> None:
        self.ended = "aborted"

    def close(self) -> None:
        self.ended = "closed"


class Line:
    """A connection with both its ends."""

    def __init__(self) -> None:
        self.free: list[Connection] = []
        self.transport = Transport()
        self.connection = Connection(self.free.append, lambda _: None)
        self.connection.connection_made(self.transport)

    async def ask(self, *pieces: bytes, is_head: bool = False) -> Answer:
        asking = self.connection.ask(b"GET / HTTP/1.1\r\n\r\n", is_head=is_head)
        for piece in pieces:
            self.connection.data_received(piece)
        return await asking


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
@pytest.mark.parametrize(
    ("sent", "body"), [pytest.param(PLAIN, b"hello", id="length"), pytest.param(CHUNKED, b"hello yo", id="chunks")]
)
def test_however_an_answer_is_cut_it_is_the_same_and_the_connection_is_free(
    sent: bytes, body: bytes, size: int
) -> None:
    async def main() -> None:
        line = Line()
        for _ in range(2):
            answer = await line.ask(*(sent[at : at + size] for at in range(0, len(sent), size)))
            assert (answer.status, await answer.read()) == (200, body)
        assert line.free == [line.connection, line.connection]

    run(main())


def test_headers_that_come_twice_are_both_there() -> None:
    async def main() -> None:
        assert (await Line().ask(PLAIN)).headers.getall("A") == ["1", "2"]

    run(main())


@pytest.mark.parametrize(
    ("sent", "is_head"),
    [
        pytest.param(b"HTTP/1.1 204 No Content\r\n\r\n", False, id="204"),
        pytest.param(b"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", False, id="304"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", True, id="HEAD"),
        pytest.param(
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", False, id="after 100"
        ),
    ],
)
def test_an_answer_without_a_body_ends_with_its_head(sent: bytes, *, is_head: bool) -> None:
    async def main() -> None:
        line = Line()
        assert await (await line.ask(sent, is_head=is_head)).read() == b""
        assert line.free

    run(main())


@pytest.mark.parametrize(("status", "is_head"), [(204, False), (304, False), (200, True)])
def test_a_body_where_there_is_none_is_refused(status: int, *, is_head: bool) -> None:
    """Or who passes it on would send an answer of its own to whatever is asked next."""

    async def main() -> None:
        line = Line()
        with pytest.raises(ConnectionError):
            await (await line.ask(b"HTTP/1.1 %d X\r\nContent-Length: 5\r\n\r\nhello" % status, is_head=is_head)).read()
        assert (line.free, line.transport.ended) == ([], "aborted")

    run(main())


def test_a_few_announcements_may_come_before_an_answer() -> None:
    async def main() -> None:
        line = Line()
        for _ in range(2):
            answer = await line.ask(
                b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" * 3, b"HTTP/1.1 100 C\r\n\r\n" + PLAIN
            )
            assert (answer.status, await answer.read(), answer.received) == (200, b"hello", PLAIN)

    run(main())


def test_an_answer_that_ends_with_its_connection_is_whole_then() -> None:
    async def main() -> None:
        line = Line()
        answer = await line.ask(b"HTTP/1.0 200 OK\r\n\r\nhel", b"lo")
        line.connection.connection_lost(None)
        assert await answer.read() == b"hello"
        assert not line.free

    run(main())


def test_a_connection_that_is_to_be_closed_is_not_used_again() -> None:
    async def main() -> None:
        line = Line()
        answer = await line.ask(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx")
        assert await answer.read() == b"x"
        assert (line.free, line.connection.closed, line.transport.ended) == ([], True, "closed")

    run(main())


def cut(line: Line) -> None:
    line.connection.connection_lost(None)


def too_long(line: Line) -> None:
    line.connection.data_received(b"x" * 20)


@pytest.mark.parametrize("break_off", [pytest.param(cut, id="closed"), pytest.param(too_long, id="longer than said")])
def test_half_an_answer_is_an_error_after_what_came(break_off: Callable[[Line], None]) -> None:
    async def main() -> None:
        line = Line()
        answer = await line.ask(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")
        break_off(line)
        pieces = answer.pieces()
        assert await anext(pieces) == b"hello"
        with pytest.raises(ConnectionError):
            await anext(pieces)
        assert not line.free

    run(main())


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"SSH-2.0\r\n\r\n", id="another protocol"),
        pytest.param(b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n", id="no header"),
        pytest.param(b"HTTP/1.1 200 OK\r\nno token: x\r\n\r\n", id="no name of a header"),
        pytest.param(b"HTTP/1.1 200 OK\r\nA: \x00\r\n\r\n", id="no value of a header"),
        pytest.param(b"HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n", id="a folded line"),
        pytest.param(b"HTTP/1.1 200 OK\r\nA: " + b"a" * 70_000, id="a head without an end"),
        pytest.param(b"HTTP/1.1 200 OK\r\nA: " + b"a" * 70_000 + b"\r\n\r\n", id="a large head"),
        pytest.param(b"HTTP/1.1 100 Continue\r\n\r\n" * 5000 + PLAIN, id="one announcement after the other"),
        pytest.param(b"HTTP/1.1 101 Switching Protocols\r\n\r\n", id="a switch that nobody has asked for"),
        pytest.param(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", id="unknown codings"),
        pytest.param(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\n", id="an unknown coding"),
        pytest.param(b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", id="chunks of HTTP/1.0"),
    ],
)
def test_what_is_no_answer_is_refused(sent: bytes) -> None:
    async def main() -> None:
        line = Line()
        with pytest.raises(ConnectionError):
            await line.ask(sent)
        assert (line.connection.closed, line.transport.ended) == (True, "aborted")

    run(main())


@pytest.mark.parametrize("size", ["zz", "-5", "+5", "1_0", "", "f" * 16])
def test_a_chunk_without_a_length_is_refused(size: str) -> None:
    async def main() -> None:
        head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        with pytest.raises(ConnectionError, match=re.escape(f"a length of {size.encode()[:20]!r}")):
            await Line().ask(head + size.encode() + b"\r\n")
        answer = await Line().ask(head, size.encode() + b"\r\n")
        with pytest.raises(ConnectionError, match=re.escape(f"a length of {size.encode()[:20]!r}")):
            await answer.read()

    run(main())


@pytest.mark.parametrize("lengths", [["five"], ["-5"], ["+5"], ["5_0"], ["\u0665"], ["5", "6"], ["9" * 19]])
def test_a_length_that_says_nothing_is_refused(lengths: list[str]) -> None:
    async def main() -> None:
        fields = "".join(f"Content-Length: {length}\r\n" for length in lengths)
        with pytest.raises(ConnectionError, match="Content-Length"):
            await Line().ask(f"HTTP/1.1 200 OK\r\n{fields}\r\nhello".encode())

    run(main())


def test_a_length_may_be_said_twice() -> None:
    async def main() -> None:
        answer = await Line().ask(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello")
        assert await answer.read() == b"hello"

    run(main())


def test_a_body_that_nobody_takes_is_not_read_on() -> None:
    async def main() -> None:
        line = Line()
        answer = await line.ask(b"HTTP/1.1 200 OK\r\nContent-Length: 600000\r\n\r\n", b"x" * 300_000)
        read_while_untaken = line.transport.reading
        pieces = answer.pieces()
        assert len(await anext(pieces)) == 300_000
        assert (read_while_untaken, line.transport.reading) == (False, True)
        with pytest.raises(ConnectionError, match="over 10 bytes"):
            await (await Line().ask(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 11)).read(limit_bytes=10)

    run(main())


@pytest.mark.parametrize("sent", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello"], ids=["none", "half"])
def test_who_gives_up_closes_the_connection(sent: bytes) -> None:
    async def main() -> None:
        line = Line()
        asking = line.connection.ask(b"GET / HTTP/1.1\r\n\r\n", is_head=False)
        if sent:
            line.connection.data_received(sent)
        line.connection.given_up(asking)
        assert line.transport.ended == "aborted"

    run(main())


def test_a_free_connection_can_be_asked_before_the_last_asker_has_had_its_turn() -> None:
    async def main() -> None:
        line = Line()
        first = line.connection.ask(b"first", is_head=False)
        line.connection.data_received(PLAIN)
        assert line.free
        second = line.connection.ask(b"second", is_head=False)
        assert await (await first).read() == b"hello"
        line.connection.data_received(PLAIN)
        async with asyncio.timeout(1):
            assert await (await second).read() == b"hello"

    run(main())
