"""Our own Request and Response: what filters, endpoints and the loopback client speak, whatever carries it.

Knows nothing of aiohttp's server (the listener translates) and nothing of resources.

A handler takes a Request and returns a Response, or a StreamResponse whose bytes come later (a watch). A stream
writes ``Chunk`` values to a ``Sink``: the listener's sink sends their HTTP/1.1 framing, made once for all who send the
same chunk; the loopback client's sink reads the payload.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import parse_qsl

from multidict import CIMultiDict, CIMultiDictProxy

from controlplane.base.streams import Chunk, Sink

if TYPE_CHECKING:
    from controlplane.apimachinery.user import UserInfo
    from controlplane.client.request_info import RequestInfo

__all__ = [
    "BodyTooLarge",
    "Chunk",
    "Handler",
    "KnownHeaders",
    "Peer",
    "Query",
    "ReceivedResponse",
    "Request",
    "Response",
    "Said",
    "Sink",
    "StreamResponse",
    "UpgradeResponse",
]


class BodyTooLarge(Exception):
    """The body is over the listener's limit; ``limit_bytes`` is the limit."""

    def __init__(self, limit_bytes: int) -> None:
        super().__init__(f"Request entity too large: limit is {limit_bytes}")
        self.limit_bytes = limit_bytes


_WRONG_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


def _malformed(query: str) -> bool:
    """Whether there is what no parameter of a query can have."""
    return ";" in query or ("%" in query and _WRONG_ESCAPE.search(query) is not None)


class Query(dict[str, list[str]]):
    """Decoded query parameters, in order of appearance; a parameter without a value is ``""``. One that is malformed (a
    wrong escape, a semicolon) is passed over, as by Go's ``net/url``."""

    @classmethod
    def parse(cls, raw: str) -> Query:
        query = cls()
        if raw:
            if _malformed(raw):
                raw = "&".join(pair for pair in raw.split("&") if not _malformed(pair))
            for name, value in parse_qsl(raw, keep_blank_values=True):
                query.setdefault(name, []).append(value)
        return query

    def first(self, name: str, default: str = "") -> str:
        values = self.get(name)
        return values[0] if values else default

    def flag(self, name: str) -> bool:
        """Whether a boolean parameter is on: present and not ``false`` or ``0`` (Kubernetes' reading)."""
        values = self.get(name)
        return bool(values) and values is not None and values[0].lower() not in {"false", "0"}


class KnownHeaders(CIMultiDictProxy[str]):
    """Headers that come again as the same object, since a connection sends the same ones again and again. ``notes``:
    what was made of them, and of nothing else, by who made it, so that it is made once."""

    __slots__ = ("notes",)

    def __init__(self, headers: CIMultiDict[str] | CIMultiDictProxy[str]) -> None:
        super().__init__(headers)
        self.notes: dict[object, Any] = {}


class Peer(Protocol):
    """Who is at the other end of a connection. ``user``: whose it counts as, ``""`` for nobody's yet; ``lost``: called
    with the peer when the connection has ended."""

    user: str
    lost: Callable[[Peer], None] | None

    def der(self) -> bytes | None:
        """The leaf in DER, or None if the client sent none."""


class Request:
    """One request on its way through the filters.

    Set by the carrier: ``method`` (upper case), ``path`` (percent-decoded, as Kubernetes matches it), ``query_string``
    (raw), ``headers``, ``peer``, ``remote`` (address text), ``received_at`` (monotonic seconds), ``audit_id`` where it
    has been taken out of the headers.
    ``identity`` is set by the loopback client alone, never by a listener: who the request is made as, authenticated
    already (authorization and admission still apply).
    Set by filters: ``info``, ``user``, ``audit_id``, ``deadline`` (monotonic seconds; None has none).
    ``warnings`` are sent as Warning headers. ``values`` holds what a plugged-in filter wants to pass on.
    ``annotations``: what admission notes about the request, for its audit event; empty until there is something.
    """

    __slots__ = (
        "__weakref__",
        "_body",
        "_query",
        "_read",
        "annotations",
        "audit_id",
        "deadline",
        "headers",
        "identity",
        "info",
        "method",
        "path",
        "peer",
        "query_string",
        "received_at",
        "remote",
        "user",
        "values",
        "warnings",
    )

    info: RequestInfo
    user: UserInfo

    def __init__(
        self,
        method: str,
        path: str,
        *,
        query_string: str = "",
        headers: Mapping[str, str] | CIMultiDict[str] | CIMultiDictProxy[str] | None = None,
        body: bytes | None = b"",
        read: Callable[[], Awaitable[bytes]] | None = None,
        peer: Peer | None = None,
        remote: str = "",
        received_at: float = 0.0,
        identity: UserInfo | None = None,
        audit_id: str = "",
    ) -> None:
        self.method, self.path, self.query_string = method, path, query_string
        self.headers: CIMultiDict[str] | CIMultiDictProxy[str] = (
            headers if isinstance(headers, (CIMultiDict, CIMultiDictProxy)) else CIMultiDict(headers or {})
        )
        self.peer, self.remote, self.received_at = peer, remote, received_at
        self.identity = identity
        self.audit_id = audit_id
        self.deadline: float | None = None
        self.warnings: list[str] = []
        self.values: dict[str, Any] = {}
        self.annotations: dict[str, str] = {}
        self._body = body if read is None else None
        self._read = read
        self._query: Query | None = None

    def annotate(self, key: str, value: str) -> None:
        """Note something for the audit event; what is noted first under a key stays."""
        self.annotations.setdefault(key, value)

    @property
    def query(self) -> Query:
        """The decoded query parameters; parsed on first use."""
        if self._query is None:
            self._query = Query.parse(self.query_string)
        return self._query

    def body_nowait(self) -> bytes | None:
        """The whole body, if it has been read or came with the request."""
        return self._body

    async def body(self) -> bytes:
        """The whole body; may be called again.

        Raises:
            BodyTooLarge: over the carrier's limit.
        """
        if self._body is None:
            assert self._read is not None
            self._body = await self._read()
        return self._body


class Response:
    """A complete answer. ``body`` is one byte string or a sequence of pieces to be sent one after another; its total
    length is ``length``. ``headers`` are pairs; Content-Length and Date are the carrier's."""

    __slots__ = ("_measured", "body", "content_type", "headers", "status")

    def __init__(
        self,
        status: int = 200,
        body: bytes | Sequence[bytes] = b"",
        *,
        content_type: str = "application/json",
        headers: list[tuple[str, str]] | None = None,
    ) -> None:
        self.status, self.body, self.content_type = status, body, content_type
        self._measured: tuple[Sequence[bytes], int] | None = None
        self.headers: list[tuple[str, str]] = headers if headers is not None else []

    @property
    def length(self) -> int:
        body = self.body
        if isinstance(body, bytes):
            return len(body)
        if self._measured is None or self._measured[0] is not body:  # there may be a hundred thousand pieces
            self._measured = body, sum(map(len, body))
        return self._measured[1]

    def content(self) -> bytes:
        """The body in one piece."""
        return self.body if isinstance(self.body, bytes) else b"".join(self.body)


Said = tuple[int, str, list[tuple[str, str]]]
"""The status, content type and further headers of an answer."""


class ReceivedResponse(Response):
    """A complete answer that came from another server. It may be sent as it came, ``received``, head and all, as long
    as nothing of it is changed: its status, content type and the begin of its headers are as ``said``, and its body is
    ``whole``. Further headers belong at ``insert_at`` then, each a whole line."""

    __slots__ = ("insert_at", "received", "said", "whole")

    def __init__(self, said: Said, body: bytes, received: bytes, insert_at: int) -> None:
        self.said = said
        self.status, self.content_type, known = said
        self.headers = known.copy()
        self.body = self.whole = body
        self.received, self.insert_at = received, insert_at


class StreamResponse(Response):
    """An answer whose body is written over time by ``run(sink)``; the stream ends when it returns or raises.

    It consists of events: lines if it ``is_text``, else each after its length in four bytes. A client that asks for a
    WebSocket gets each event as a message.
    """

    __slots__ = ("is_text", "run")

    def __init__(
        self,
        run: Callable[[Sink], Awaitable[None]],
        *,
        status: int = 200,
        content_type: str = "application/json",
        headers: list[tuple[str, str]] | None = None,
        is_text: bool = True,
    ) -> None:
        super().__init__(status, b"", content_type=content_type, headers=headers)
        self.run, self.is_text = run, is_text


class UpgradeResponse(Response):
    """From now on the connection speaks another protocol. ``head``: what the client gets first. ``run(incoming, sink)``
    reads what the client sends and writes to it; the connection ends when it returns or raises."""

    __slots__ = ("head", "run")

    Run = Callable[[AsyncIterator[bytes], Sink], Awaitable[None]]

    def __init__(self, head: bytes, run: Run) -> None:
        super().__init__(101, content_type="")
        self.head, self.run = head, run


Handler = Callable[[Request], Awaitable[Response]]
