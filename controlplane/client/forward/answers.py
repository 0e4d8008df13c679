"""The answers of other servers, sent back as they come: small ones whole, others piece by piece.

Source: kubernetes/apimachinery ``pkg/util/proxy`` and Go's ``httputil.ReverseProxy``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import lru_cache

from controlplane.base.streams import Chunk
from controlplane.base.tasks import TaskGroup
from controlplane.client.forward.exchange import Answer
from controlplane.client.request import Response, Sink, StreamResponse

__all__ = ["answer_headers", "copy_until_gone", "passed_on"]

WHOLE_BYTES = 64 * 1024
"""Answers that are known to be no larger are read whole; others are passed on as they come."""
UNSENT_BYTES = 256 * 1024
"""What may wait for a client that reads slowly."""

_NOT_PASSED_ON = frozenset(
    {
        *("connection", "keep-alive", "proxy-authenticate", "trailer", "transfer-encoding", "upgrade"),
        *("content-length", "content-type", "date", "audit-id"),
    }
)
"""Headers of an answer that are made here, or are the connection's."""


def answer_headers(answer: Answer) -> list[tuple[str, str]]:
    """The headers that go along with an answer's body."""
    return [*_passed_on(answer.fields)]


@lru_cache(maxsize=256)
def _passed_on(fields: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    return tuple(pair for pair in fields if _is_passed_on(pair[0].lower()))


def _is_passed_on(name: str) -> bool:
    return name not in _NOT_PASSED_ON and not name.startswith("access-control-")


async def passed_on(answer: Answer, *, method: str) -> Response:
    """The answer to a request of ``method``, to be sent back.

    Raises:
        ConnectionError: the other server broke off.
    """
    content_type, headers = answer.headers.get("Content-Type", ""), [*_passed_on(answer.fields)]
    length = answer.content_length
    if method == "HEAD" or answer.status in {204, 304} or (length is not None and length <= WHOLE_BYTES):
        body = answer.read_now()
        if body is None:
            try:
                body = await answer.read()
            finally:
                answer.close()
        return Response(answer.status, body, content_type=content_type, headers=headers)

    async def run(sink: Sink) -> None:
        await copy_until_gone(answer, sink)

    return StreamResponse(run, status=answer.status, content_type=content_type, headers=headers)


async def copy_until_gone(answer: Answer, sink: Sink, *, cut: Callable[[bytes], bytes] | None = None) -> None:
    """Copy an answer's body, until it ends or the client has gone. ``cut``: makes what is written of each piece.

    Raises:
        ConnectionError: the other server broke off, so what came is not whole.
    """
    try:
        async with TaskGroup("proxied") as group:
            copying = group.start(_copy(answer, sink, cut), name="copy")
            gone = group.start(sink.until_closed(), name="gone")
            await asyncio.wait({copying, gone}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        answer.close()


async def _copy(answer: Answer, sink: Sink, cut: Callable[[bytes], bytes] | None) -> None:
    async for piece in answer.pieces():
        made = piece if cut is None else cut(piece)
        if made:
            sink.write(Chunk(made))
        if sink.buffered_bytes() > UNSENT_BYTES:
            drained = asyncio.Event()
            sink.on_drain(drained.set)
            await drained.wait()
