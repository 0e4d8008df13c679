"""The head of an HTTP/1.1 answer: status line and headers, as the bytes that go on the wire.

Built by string concatenation from parts that are kept ready: an ordinary answer differs from the one before it in its
length and its Audit-Id only. Knows nothing of connections and bodies.

Source: RFC 9112; which of the framing headers an answer carries follows Go's net/http, as clients of Kubernetes see it.
"""

from __future__ import annotations

from collections.abc import Sequence
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from time import time

__all__ = ["head", "header_lines"]

_REASONS = {status.value: status.phrase for status in HTTPStatus}


class _DateLine:
    """The Date header, made once a second."""

    def __init__(self) -> None:
        self._second, self._line = 0, ""

    def now(self) -> str:
        second = int(time())
        if second != self._second:
            self._second, self._line = second, f"Date: {formatdate(second, usegmt=True)}\r\n"
        return self._line


_DATE = _DateLine()


@lru_cache(maxsize=512)
def _opening(version: str, status: int, content_type: str) -> str:
    line = f"{version} {status} {_REASONS.get(status, 'Status')}\r\n"
    return f"{line}Content-Type: {_clean(content_type)}\r\n" if content_type else line


def _clean(value: str) -> str:
    """A header value on one line: what a client sent back to it must not begin a header of its own."""
    return value.replace("\r", " ").replace("\n", " ")


def header_lines(headers: Sequence[tuple[str, str]]) -> str:
    """Headers, one a line."""
    if not headers:
        return ""
    lines = "\r\n".join(map(": ".join, headers))
    breaks = len(headers) - 1
    if lines.count("\n") != breaks or lines.count("\r") != breaks:
        lines = "\r\n".join([f"{_clean(name)}: {_clean(value)}" for name, value in headers])
    return lines + "\r\n"


def head(
    status: int,
    content_type: str,
    headers: Sequence[tuple[str, str]],
    *,
    length: int | None,
    close: bool,
    old: bool = False,
) -> bytes:
    """Status line and headers, with the empty line after them.

    Args:
        content_type: ``""`` is none.
        headers: further headers, in order, names as they are to be written; Content-Length, Transfer-Encoding,
            Connection and Date are made here and must not be among them.
        length: of the body; None: the body's end is marked by chunks (or by closing, where ``old``).
        close: the connection ends after this answer.
        old: the client speaks HTTP/1.0.
    """
    text = _opening("HTTP/1.0" if old else "HTTP/1.1", status, content_type)
    text += header_lines(headers) + _DATE.now()
    if length is not None:
        if status not in {204, 304}:
            text += f"Content-Length: {length}\r\n"
    elif not old:
        text += "Transfer-Encoding: chunked\r\n"
    if close:
        text += "Connection: close\r\n"
    elif old:
        text += "Connection: keep-alive\r\n"
    return (text + "\r\n").encode("utf-8", "surrogateescape")  # a header may be another server's, in any bytes
