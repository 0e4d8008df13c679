"""The head of another server's answer: what it says, and what of it is sent back.

Answers have the heads of answers before them, so a head is read once: the same bytes mean the same.

Source: RFC 9112; kubernetes/apimachinery ``pkg/util/proxy`` for what is sent back.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from multidict import CIMultiDict, CIMultiDictProxy

from controlplane.client.request import Said

__all__ = ["KNOWN", "AnswerHead", "read_head"]

KNOWN_BYTES = 1024
"""Heads up to this length are remembered: most answers have that of one before."""
KNOWN_HEADS = 512

_OWN = re.compile(rb"\r\n(?:Audit-Id|Date): [^\r\n]*")
"""What differs from answer to answer, and says nothing to who has asked."""
_AUDIT_ID = b"\r\nAudit-Id: "
_DATE = b"\r\nDate: "
_STATUS = re.compile(rb"[1-9][0-9]{2}(?![0-9])")
_DECIMAL = re.compile(r"[0-9]{1,18}")

_MADE_HERE = frozenset({"content-length", "content-type", "date", "audit-id"})
"""Headers of an answer that are written by who sends it."""
_NOT_PASSED_ON = _MADE_HERE | {
    *("connection", "keep-alive", "proxy-authenticate", "trailer", "transfer-encoding", "upgrade"),
}


class AnswerHead(NamedTuple):
    """``headers``: all but Date and Audit-Id. ``chunked``: the body is. ``final``: it is no informational answer, which
    another one follows. ``keep``: the connection may be asked anew. ``plain_bytes``: the body's length, of
    final answers that say it, else -1.

    ``passed_on``: what of it is sent back. ``insert_at``: where in the answer's bytes further headers belong, if they
    may be sent back as they are, else 0.
    """

    status: int
    headers: CIMultiDictProxy[str]
    content_length: int | None
    plain_bytes: int
    chunked: bool
    final: bool
    keep: bool
    passed_on: Said
    insert_at: int


KNOWN: dict[bytes, AnswerHead] = {}
"""Heads with their Date, which is the same for a second; from ``read_head``."""


def read_head(raw: bytes) -> AnswerHead:
    """What a head says, without the empty line after it. Not to be changed: answers share it.

    Raises:
        ValueError: it is none of HTTP/1.
    """
    known = KNOWN.get(raw)
    if known is not None:
        return known
    said = _OWN.sub(b"", raw)
    head = _read_before(said) if len(said) <= KNOWN_BYTES else _read(said)
    if _AUDIT_ID in raw or len(raw) > KNOWN_BYTES:
        return head  # it will not come again, or is too large
    if len(KNOWN) >= KNOWN_HEADS:
        KNOWN.clear()
    head = KNOWN[raw] = head._replace(insert_at=_insert_at(raw, head))
    return head


def _read(said: bytes) -> AnswerHead:
    """Raises ValueError."""
    first, *lines = said.split(b"\r\n")
    version, _, rest = first.partition(b" ")
    if version not in (b"HTTP/1.1", b"HTTP/1.0") or not _STATUS.match(rest):
        raise ValueError(f"malformed HTTP response {first[:80]!r}")
    fields = tuple(map(_field, lines))
    headers = CIMultiDict(fields)
    lengths, connection = set(headers.getall("Content-Length", ())), headers.get("Connection", "").lower()
    if len(lengths) > 1 or not all(map(_DECIMAL.fullmatch, lengths)):
        raise ValueError(f"a Content-Length of {', '.join(sorted(lengths))[:80]!r}")
    status, length = int(rest[:3]), int(lengths.pop()) if lengths else None
    final, chunked = status >= 200, "chunked" in headers.get("Transfer-Encoding", "").lower()
    return AnswerHead(
        status=status,
        headers=CIMultiDictProxy(headers),
        content_length=length,
        plain_bytes=length if length is not None and final and not chunked else -1,
        chunked=chunked,
        final=final,
        keep="close" not in connection and (version == b"HTTP/1.1" or "keep-alive" in connection),
        passed_on=(status, headers.get("Content-Type", ""), [one for one in fields if _is_passed_on(one[0].lower())]),
        insert_at=0,
    )


_read_before = lru_cache(maxsize=KNOWN_HEADS)(_read)


def _field(line: bytes) -> tuple[str, str]:
    """Name and value. Raises ValueError."""
    name, colon, value = line.decode("utf-8", "surrogateescape").partition(":")
    if not colon or not name or name != name.strip():
        raise ValueError(f"malformed HTTP header {line[:80]!r}")
    return name, value.strip()


def _is_passed_on(name: str) -> bool:
    return name not in _NOT_PASSED_ON and not name.startswith("access-control-")


def _insert_at(raw: bytes, head: AnswerHead) -> int:
    """Where the line of the Date begins, in a head that says a length and has no header, beside what is written by
    whoever sends an answer, that is not passed on. Else 0."""
    breaks, made_here = raw.count(b"\r\n"), [name for name in head.headers if name.lower() in _MADE_HERE]
    is_plain = (
        raw.startswith(b"HTTP/1.1 ")
        and raw.count(_DATE) == 1
        and breaks == raw.count(b"\r") == raw.count(b"\n") == len(head.passed_on[2]) + len(made_here) + 1
        and sorted(map(str.lower, made_here)) in (["content-length"], ["content-length", "content-type"])
    )
    return raw.index(_DATE) + 2 if is_plain else 0
