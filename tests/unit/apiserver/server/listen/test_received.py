"""Answers that came from another server: sent as they came, unless something was done to them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from controlplane.apiserver.server.listen.answers import ONE_WRITE_BYTES, one_write
from controlplane.client.request import ReceivedResponse, Response

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nA: 1\r\n%bDate: then\r\nContent-Length: %d\r\n\r\n"


def received(body: bytes = b"hello") -> ReceivedResponse:
    came = HEAD % (b"", len(body)) + body
    return ReceivedResponse((200, "text/plain", [("A", "1")]), body, came, came.index(b"Date"))


def test_added_headers_are_put_in() -> None:
    response = received()
    response.headers += [("Audit-Id", "x"), ("Warning", "a\r\nB: c")]
    assert one_write(response, close=False) == (
        False,
        HEAD % (b"Audit-Id: x\r\nWarning: a  B: c\r\n", 5) + b"hello",
    )


def status(response: Response) -> None:
    response.status = 404


def body(response: Response) -> None:
    response.body = b"HELLO"


def content_type(response: Response) -> None:
    response.content_type = "text/html"


def taken_out(response: Response) -> None:
    response.headers.clear()


def put_before(response: Response) -> None:
    response.headers.insert(0, ("B", "2"))


def replaced(response: Response) -> None:
    response.headers[0] = ("A", "2")


@pytest.mark.parametrize("change", [status, body, content_type, taken_out, put_before, replaced])
def test_what_was_changed_is_written_anew(change: Callable[[Response], None]) -> None:
    response, plain = received(), Response(200, b"hello", content_type="text/plain", headers=[("A", "1")])
    for one in (response, plain):
        change(one)
    assert one_write(response, close=False) == one_write(plain, close=False)


@pytest.mark.parametrize("by_header", [True, False], ids=["header", "server"])
def test_a_connection_that_ends_says_so(*, by_header: bool) -> None:
    response = received()
    if by_header:
        response.headers.append(("Connection", "close"))
    closes, written = one_write(response, close=not by_header)
    assert closes
    assert written is not None
    assert b"\r\nConnection: close\r\n" in written


def test_a_large_one_is_not_one_write() -> None:
    assert one_write(received(b"x" * (ONE_WRITE_BYTES + 1)), close=False) == (False, None)


def test_bytes_that_are_no_text_are_sent_back_as_they_came() -> None:
    """One that could not be written would leave its client waiting."""
    headers = [("A", b"\xff\xfe".decode("utf-8", "surrogateescape"))]
    for response in (received(), Response(200, b"hello")):
        response.headers += headers
        _, written = one_write(response, close=False)
        assert written is not None
        assert b"\r\nA: \xff\xfe\r\n" in written
