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

__all__ = ["HEAD_LIMIT_BYTES", "KNOWN", "AnswerHead", "read_head"]

HEAD_LIMIT_BYTES = 64 * 1024
"""Of the head of an answer, with the informational answers before it."""

KNOWN_BYTES = 1024
"""Heads up to this length are remembered: most answers have that of one before."""
KNOWN_HEADS = 512

_OWN = re.compile(rb"\r\n(?:Audit-Id|Date): [^\r\n]*")
"""What differs from answer to answer, and says nothing to who has asked."""
_AUDIT_ID = b"\r\nAudit-Id: "
_DATE = b"\r\nDate: "
_STATUS = re.compile(rb"[1-9][0-9]{2}(?![0-9])")
_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROLS = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
"""What no value has in it; line breaks of one kind alone are made spaces by who writes it anew."""
_NO_BODY = frozenset({204, 304})
_SWITCHED = 101
_DECIMAL = re.compile(r"[0-9]{1,18}")

_MADE_HERE = frozenset({"content-length", "content-type", "date", "audit-id"})
"""Headers of an answer that are written by who sends it."""
_NOT_PASSED_ON = _MADE_HERE | {
    *("connection", "keep-alive", "proxy-authenticate", "trailer", "transfer-encoding", "upgrade"),
}


class AnswerHead(NamedTuple):
    """``headers``: all but Date and Audit-Id. ``chunked``: the body is. ``final``: it is no informational answer, which
    another one follows. ``no_body``: there is none, whatever length is said. ``keep``: the connection may be asked
    anew. ``plain_bytes``: the body's length, of final answers that have one and say it, else -1.

    ``passed_on``: what of it is sent back. ``insert_at``: where in the answer's bytes further headers belong, if they
    may be sent back as they are, else 0.
    """

    status: int
    headers: CIMultiDictProxy[str]
    content_length: int | None
    plain_bytes: int
    chunked: bool
    final: bool
    no_body: bool
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
    if len(said) > HEAD_LIMIT_BYTES:
        raise ValueError(f"the head of an answer is over {HEAD_LIMIT_BYTES} bytes")
    fields = tuple(map(_field, lines))
    headers = CIMultiDict(fields)
    lengths, connection = set(headers.getall("Content-Length", ())), headers.get("Connection", "").lower()
    if len(lengths) > 1 or not all(map(_DECIMAL.fullmatch, lengths)):
        raise ValueError(f"a Content-Length of {', '.join(sorted(lengths))[:80]!r}")
    coding = ", ".join(headers.getall("Transfer-Encoding", ())).lower()
    if coding and (coding != "chunked" or version == b"HTTP/1.0"):
        raise ValueError(f"unsupported transfer encoding {coding[:80]!r}")
    status, length, chunked = int(rest[:3]), int(lengths.pop()) if lengths else None, bool(coding)
    if status == _SWITCHED:
        raise ValueError("the protocol was switched when none was asked for")
    final, no_body = status >= 200, status in _NO_BODY
    return AnswerHead(
        status=status,
        headers=CIMultiDictProxy(headers),
        content_length=length,
        plain_bytes=length if length is not None and final and not (chunked or no_body) else -1,
        chunked=chunked,
        final=final,
        no_body=no_body,
        keep="close" not in connection and (version == b"HTTP/1.1" or "keep-alive" in connection),
        passed_on=(status, headers.get("Content-Type", ""), [one for one in fields if _is_passed_on(one[0].lower())]),
        insert_at=0,
    )


_read_before = lru_cache(maxsize=KNOWN_HEADS)(_read)


def _field(line: bytes) -> tuple[str, str]:
    """Name and value. Raises ValueError."""
    name, colon, value = line.partition(b":")
    if not colon or not _NAME.fullmatch(name) or _CONTROLS.search(value):
        raise ValueError(f"malformed HTTP header {line[:80]!r}")
    return name.decode(), value.decode("utf-8", "surrogateescape").strip()


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
