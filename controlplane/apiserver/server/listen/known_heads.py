"""Heads of requests that a connection has sent before: a client sends the same headers again and again.

Nothing is parsed here. What a header block means is what aiohttp's parser makes of it the first time; the same bytes
are then known to mean the same. Only the request line is read, where it is of the plainest form.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from aiohttp.http import HttpVersion11, RawRequestMessage

from controlplane.client.request import KnownHeaders

__all__ = ["Found", "KnownHeads"]

BLOCKS = 8
"""Header blocks that a connection remembers, about 3 KB each: those of a client's reads and of its writes, the latter
with the lengths of a few bodies."""
BLOCKS_OF_SERVER = 64
"""The same of a connection on which another server sends on what many clients ask."""
BLOCKS_BYTES = 32 * 1024
"""All that a connection remembers, as it came."""

_AUDIT_ID_BYTES = 80
"""Where that header can begin, from the end."""
HEAD_BYTES = 16 * 1024
"""Longer heads go to the parser each time."""

_LINE = re.compile(rb"(GET|POST|PUT|PATCH|DELETE) (/(?!/)[A-Za-z0-9._~%!$&'()*+,;=:@/?-]*) HTTP/1\.1\r\n")
_END = b"\r\n\r\n"
_AUDIT_ID = re.compile(rb"\r\nAudit-Id: ([0-9A-Za-z-]{1,64})\Z")
"""As the last header: requests that another server sends on differ in nothing else."""


class _Block(NamedTuple):
    headers: KnownHeaders
    body_bytes: int


class Found(NamedTuple):
    """A whole request: ``body_at`` is where its body begins, which ends where the data ends. ``audit_id``: what the
    header of this name says, which is not among ``headers`` then."""

    method: str
    target: str
    headers: KnownHeaders
    body_at: int
    audit_id: str


_new = tuple.__new__
"""Half the cost of calling the class, which sorts out keywords; one is made for every request."""


class KnownHeads:
    """The header blocks of one connection. ``read_head``: what the parser makes of a head with the empty line after it,
    None if it makes nothing of it."""

    __slots__ = ("_blocks", "_bytes", "_read_head")

    def __init__(self, read_head: Callable[[bytes], RawRequestMessage | None]) -> None:
        self._blocks: dict[bytes, _Block] = {}
        self._bytes = 0
        self._read_head = read_head

    def find(self, data: bytes) -> Found | None:
        """The request, if ``data`` is exactly one, whole, of the plainest form."""
        line = _LINE.match(data)
        if line is None:
            return None
        begin = line.end()
        end = data.find(_END, begin)
        if end < 0:
            return None
        lines = data[begin:end]
        block, audit_id = self._blocks.get(lines), None
        if block is None:
            audit_id = _AUDIT_ID.search(lines, max(0, len(lines) - _AUDIT_ID_BYTES))
            if audit_id is not None:
                lines = lines[: audit_id.start()]
                block = self._blocks.get(lines)
            if block is None:
                most = BLOCKS if audit_id is None else BLOCKS_OF_SERVER
                block = self._learn(data[:begin] + lines + _END, line, most)
        if block is None or end + 4 + block.body_bytes != len(data):
            return None
        if audit_id is None:
            return _new(Found, (line[1].decode(), line[2].decode(), block.headers, end + 4, ""))
        if "Audit-Id" in block.headers:  # twice
            return None
        return _new(Found, (line[1].decode(), line[2].decode(), block.headers, end + 4, audit_id[1].decode()))

    def missing(self, data: bytes, message: object) -> int | None:
        """How many bytes of its body are still to come of the request that ``data`` begins, given what the parser made
        of it; None: where the next request begins cannot be told."""
        line = _LINE.match(data)
        end = data.find(_END, line.end()) if line is not None else -1
        if line is None or end < 0 or not isinstance(message, RawRequestMessage) or not _is(message, line):
            return None
        missing = end + 4 + _body_bytes(message) - len(data)
        return missing if missing >= 0 else None

    def _learn(self, head: bytes, line: re.Match[bytes], most: int) -> _Block | None:
        """Remember the header block of a head that is of the plainest form, as one of ``most``."""
        if len(head) > HEAD_BYTES:
            return None
        message = self._read_head(head)
        if message is None or not _is(message, line) or "Expect" in message.headers:
            return None
        blocks, lines = self._blocks, head[line.end() : -len(_END)]
        self._bytes += len(lines)
        while blocks and (len(blocks) >= most or self._bytes > BLOCKS_BYTES):
            oldest = next(iter(blocks))
            self._bytes -= len(oldest)
            del blocks[oldest]
        block = blocks[lines] = _Block(KnownHeaders(message.headers), _body_bytes(message))
        return block


def _is(message: RawRequestMessage, line: re.Match[bytes]) -> bool:
    """Whether the parser read the line alike, and found nothing out of the ordinary."""
    return _plain(message) and (message.method.encode(), message.path.encode()) == line.groups()


def _body_bytes(message: RawRequestMessage) -> int:
    return int(message.headers.get("Content-Length", "0"))


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
