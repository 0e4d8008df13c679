"""The client inside the server's process: it skips the socket, not authorization or admission.

A request is a ``Request`` with ``identity`` set, given to the server's own handler chain, so filters, metrics, audit
and admission see it like any other.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from urllib.parse import urlencode

from multidict import CIMultiDict

from controlplane.apimachinery.user import UserInfo
from controlplane.base.clock import Clock, SystemClock
from controlplane.base.streams import Chunk
from controlplane.base.tasks import TaskGroup
from controlplane.client.api import JSON, ByteStream, QueryPairs
from controlplane.client.errors import StreamBroken
from controlplane.client.metrics import RequestMetrics
from controlplane.client.pipe import Pipe
from controlplane.client.request import Handler, Request, Response, StreamResponse
from controlplane.client.results import raise_for_status
from controlplane.client.retry import DEFAULT_RETRIES, send_with_retries

__all__ = ["STREAM_LIMIT_BYTES", "LoopbackClient"]

STREAM_LIMIT_BYTES = 64 * 1024 * 1024
"""Unread bytes of one stream before it is cut. Chunks are shared with other watchers, so what waits here is mostly not
memory of its own; a reader that is this far behind is better served by listing again."""


class LoopbackClient:
    """An ``APIClient`` over a handler, as one user.

    ``user`` is taken as authenticated; what it may do is the server's to decide. ``user_agent`` also names the field
    manager of its writes (up to the first slash).
    """

    def __init__(
        self,
        handler: Handler,
        user: UserInfo,
        *,
        user_agent: str = "controlplane/loopback",
        clock: Clock | None = None,
        retries: int = DEFAULT_RETRIES,
        stream_limit_bytes: int = STREAM_LIMIT_BYTES,
    ) -> None:
        self._handler, self._user, self._user_agent = handler, user, user_agent
        self._clock: Clock = clock if clock is not None else SystemClock()
        self._retries, self._stream_limit_bytes = retries, stream_limit_bytes
        self._metrics = RequestMetrics("loopback")

    def as_user(self, user: UserInfo, *, user_agent: str = "") -> LoopbackClient:
        """The same way in, as somebody else."""
        return LoopbackClient(
            self._handler,
            user,
            user_agent=user_agent or self._user_agent,
            clock=self._clock,
            retries=self._retries,
            stream_limit_bytes=self._stream_limit_bytes,
        )

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: QueryPairs = (),
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        content_type: str = JSON,
    ) -> Response:
        """Send one request and read the whole answer; see ``APIClient``. Never raises Unreachable."""
        if body:
            headers = {"Content-Type": content_type, **(headers or {})}
        response = await self._send(method, path, query, headers, body)
        return await _whole(response) if isinstance(response, StreamResponse) else response

    @asynccontextmanager
    async def stream(
        self, method: str, path: str, *, query: QueryPairs = (), headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[ByteStream]:
        """Open an answer that is read as it comes; see ``APIClient``."""
        response = await self._send(method, path, query, headers)
        raise_for_status(response, method)
        pipe = Pipe(limit_bytes=self._stream_limit_bytes)
        async with TaskGroup("loopback") as group:
            group.start(_write(response, pipe), name=path)
            try:
                yield pipe
            finally:
                pipe.close()

    async def close(self) -> None:
        """Nothing to give up."""

    async def _send(
        self,
        method: str,
        path: str,
        query: QueryPairs,
        headers: Mapping[str, str] | None,
        body: bytes = b"",
    ) -> Response:
        all_headers: CIMultiDict[str] = CIMultiDict({"User-Agent": self._user_agent, "Accept": JSON})
        if headers:
            all_headers.update(headers)
        query_string = urlencode(query) if query else ""

        async def attempt() -> Response:
            return await self._handler(
                Request(
                    method,
                    path,
                    query_string=query_string,
                    headers=all_headers.copy(),
                    body=body,
                    received_at=self._clock.monotonic(),
                    identity=self._user,
                )
            )

        return await send_with_retries(attempt, method, clock=self._clock, retries=self._retries, metrics=self._metrics)


async def _write(response: Response, pipe: Pipe) -> None:
    """Let a response write itself into a pipe, then finish the pipe as the response ended."""
    if not isinstance(response, StreamResponse):
        pipe.write(Chunk(response.content()))
        pipe.finish()
        return
    try:
        await response.run(pipe)
    except Exception as e:  # noqa: BLE001 - the reader hears of it, as of a connection that breaks
        broken = StreamBroken(f"the server ended the stream: {e!r}")
        broken.__cause__ = e
        pipe.finish(broken)
    else:
        pipe.finish()


async def _whole(response: StreamResponse) -> Response:
    """Collect an answer that is written over time."""
    pipe = Pipe(limit_bytes=STREAM_LIMIT_BYTES)
    async with TaskGroup("loopback") as group:
        group.start(_write(response, pipe), name="body")
        body = [piece async for piece in pipe]
    return Response(response.status, body, content_type=response.content_type, headers=response.headers)
