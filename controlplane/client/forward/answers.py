"""The answers of other servers, sent back as they come: small ones whole, others piece by piece.

Source: kubernetes/apimachinery ``pkg/util/proxy`` and Go's ``httputil.ReverseProxy``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from controlplane.base.streams import Chunk
from controlplane.base.tasks import TaskGroup
from controlplane.client.errors import StreamBroken
from controlplane.client.forward.exchange import Answer
from controlplane.client.request import ReceivedResponse, Response, Sink, StreamResponse

__all__ = ["copy_until_gone", "passed_on", "passed_on_whole"]

WHOLE_BYTES = 64 * 1024
"""Answers that are known to be no larger are read whole; others are passed on as they come."""
UNSENT_BYTES = 256 * 1024
"""What may wait for a client that reads slowly."""


def passed_on_whole(answer: Answer, body: bytes) -> Response:
    """An answer whose body has come, to be sent back."""
    head = answer.head
    if head.insert_at:
        return ReceivedResponse(head.passed_on, body, answer.received, head.insert_at)
    status, content_type, headers = head.passed_on
    return Response(status, body, content_type=content_type, headers=[*headers])


async def passed_on(answer: Answer, *, method: str) -> Response:
    """The answer to a request of ``method``, to be sent back.

    Raises:
        ConnectionError: the other server broke off.
    """
    if answer.whole is not None:
        return passed_on_whole(answer, answer.whole)
    (status, content_type, headers), length = answer.head.passed_on, answer.head.content_length
    if method == "HEAD" or status in {204, 304} or (length is not None and length <= WHOLE_BYTES):
        try:
            return Response(status, await answer.read(), content_type=content_type, headers=[*headers])
        finally:
            answer.close()

    async def run(sink: Sink) -> None:
        try:
            await copy_until_gone(answer, sink)
        except ConnectionError as error:
            raise StreamBroken(f"the other server broke off its answer: {error}") from error

    return StreamResponse(run, status=status, content_type=content_type, headers=[*headers])


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
