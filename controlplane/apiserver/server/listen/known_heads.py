"""Heads of requests that a connection has sent before: a client sends the same headers again and again.

Nothing is parsed here. What a header block means is what aiohttp's parser made of it the first time; the same bytes are
then known to mean the same. Only the request line is read, where it is of the plainest form; whatever is not goes to
the parser.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from aiohttp.http import HttpVersion11, RawRequestMessage
from multidict import CIMultiDictProxy

__all__ = ["Found", "KnownHeads"]

BLOCKS = 8
"""Header blocks that a connection remembers, about 3 KB each: those of a client's reads and of its writes, the latter
with the lengths of a few bodies."""

HEAD_BYTES = 16 * 1024
"""Longer heads are not remembered."""

_LINE = re.compile(rb"(GET|POST|PUT|PATCH|DELETE) (/(?!/)[A-Za-z0-9._~%!$&'()*+,;=:@/?-]*) HTTP/1\.1\r\n")
_END = b"\r\n\r\n"


class _Block(NamedTuple):
    headers: CIMultiDictProxy[str]
    body_bytes: int


class Found(NamedTuple):
    """A whole request: ``body_at`` is where its body begins, which ends where the data ends."""

    method: str
    target: str
    headers: CIMultiDictProxy[str]
    body_at: int


class KnownHeads:
    """The header blocks of one connection."""

    __slots__ = ("_blocks",)

    def __init__(self) -> None:
        self._blocks: dict[bytes, _Block] = {}

    def find(self, data: bytes) -> Found | None:
        """The request, if ``data`` is exactly one, whole, with a known header block."""
        line = _LINE.match(data)
        if line is None:
            return None
        begin = line.end()
        end = data.find(_END, begin)
        if end < 0:
            return None
        block = self._blocks.get(data[begin:end])
        if block is None or end + 4 + block.body_bytes != len(data):
            return None
        return Found(line[1].decode(), line[2].decode(), block.headers, end + 4)

    def learn(self, data: bytes, message: object) -> int | None:
        """Remember the header block that ``data`` begins with, given what the parser made of it.

        Returns:
            How many bytes of the body are still to come; None: where the next request begins cannot be told.
        """
        line = _LINE.match(data)
        end = data.find(_END, line.end()) if line is not None else -1
        if line is None or end < 0 or not isinstance(message, RawRequestMessage) or not _plain(message):
            return None
        if (message.method.encode(), message.path.encode()) != line.groups():
            return None
        body_bytes = int(message.headers.get("Content-Length", "0"))
        missing = end + 4 + body_bytes - len(data)
        if missing < 0:
            return None
        if end - line.end() <= HEAD_BYTES and "Expect" not in message.headers:
            if len(self._blocks) >= BLOCKS:
                del self._blocks[next(iter(self._blocks))]
            self._blocks[data[line.end() : end]] = _Block(message.headers, body_bytes)
        return missing


def _plain(message: RawRequestMessage) -> bool:
    """Whether the connection goes on after it, as it is, and its body's length is said."""
    return (
        message.version == HttpVersion11
        and not message.should_close
        and not message.upgrade
        and not message.chunked
        and message.compression is None
        and "Transfer-Encoding" not in message.headers
        and "Upgrade" not in message.headers
    )
