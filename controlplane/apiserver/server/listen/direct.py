"""The short road: a request that came whole is answered from where its bytes were received.

The same handler, the same answers: only aiohttp's request object and its tasks are left out, and its parser where it
has read the same headers before, which cost more than all filters together. What the handler of a read does before it
first waits is done at once. If it waits for an ``Awaited`` (the answer of another server), it goes on where that comes;
if it waits for anything else, or the answer is a stream or a large one, the rest is a task. A write is a task from its
begin. The connection takes nothing else until its request has its answer.

Everything else goes the ordinary road: bytes that are not exactly one whole request, HEAD, HTTP/1.0, chunked bodies,
upgrades, bodies that are still coming. A connection of which it cannot be told where the next request begins stays on
the ordinary road.

Why, and what it costs: docs/decisions/0005-get-from-the-protocol.md.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine
from contextvars import Context
from typing import TYPE_CHECKING, Any, Protocol

from aiohttp.http import HttpVersion, HttpVersion11
from multidict import CIMultiDict, CIMultiDictProxy

from controlplane.apiserver.server.listen.answers import ONE_WRITE_BYTES, CompleteAnswer, StreamAnswer, one_write
from controlplane.apiserver.server.listen.known_heads import Found, KnownHeads
from controlplane.base import logs
from controlplane.base.eager import Rest, first_step
from controlplane.base.tasks import Owner
from controlplane.client.request import Handler, Request, Response

if TYPE_CHECKING:
    from controlplane.apiserver.server.listen.connection import Connection

__all__ = ["DirectRoad", "Front"]

log = logs.get(__name__)

UNKNOWN = -1
_WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})
"""They wait for their commit in any case, so each is a task from its begin: to take its first step here and to carry
the rest over costs more. And as their tasks run one after the other once all sockets have been read, each finds the
code of the one before in the processor's cache. Together a sixth of a create."""


class Front(Protocol):
    """The listener, as its connections see it. ``closing``: answers ask clients to close their connections."""

    closing: bool
    body_limit_bytes: int
    handler: Handler
    requests: Owner
    """Of the tasks of requests that had to wait."""
    waiting: set[DirectRoad]
    """Where a request waits without a task; told by ``lost`` that it is not waited for any longer."""

    def request(
        self,
        connection: Connection,
        method: str,
        target: str,
        headers: CIMultiDict[str] | CIMultiDictProxy[str],
        body: bytes,
        *,
        audit_id: str,
    ) -> Request: ...

    def answer(self, response: Response, *, close: bool = False) -> CompleteAnswer | StreamAnswer: ...

    def failed(self, error: Exception) -> Response:
        """The answer where a handler raised, which the filters do not let happen; it closes the connection."""


class _Exchange:
    """What answers need to know of a request and its connection."""

    __slots__ = ("headers", "keep_alive", "method", "protocol", "raw_path")

    version: HttpVersion = HttpVersion11

    def __init__(self, connection: Connection, found: Found) -> None:
        self.protocol = connection
        self.method, self.raw_path, self.headers = found.method, found.target, found.headers
        self.keep_alive = True

    @property
    def transport(self) -> asyncio.Transport | None:
        return self.protocol.transport


class DirectRoad:
    """The short road of one connection. ``busy`` while a request is under way."""

    __slots__ = ("_connection", "_front", "_heads", "_held", "_owed", "_task", "_waiting", "busy")

    def __init__(self, connection: Connection, front: Front) -> None:
        self._connection, self._front = connection, front
        self._heads = KnownHeads(connection.read_head)
        self._owed = 0  # bytes of a body that the ordinary road is still to get, or UNKNOWN
        self._held = b""
        self._task: asyncio.Task[None] | None = None
        self._waiting: tuple[Rest[Response], Found] | None = None  # what goes on without a task
        self.busy = False

    def take(self, data: bytes) -> bool:
        """Answer the request that ``data`` is, if it can be told that it is one. The connection is idle."""
        if self._owed:
            return False
        found = self._heads.find(data)
        if found is None:
            return False
        connection, front = self._connection, self._front
        body = data[found.body_at :]
        if len(body) > front.body_limit_bytes:
            return False
        request = front.request(connection, found.method, found.target, found.headers, body, audit_id=found.audit_id)
        if found.method in _WRITES:
            self._begin(self._finish(request, found))
            return True
        try:
            outcome = first_step(front.handler, request)
        except asyncio.CancelledError:
            connection.force_close()
        except Exception as error:  # noqa: BLE001  # the outermost frame of a request: logged there, answered here
            self._write(front.failed(error), close=True)
        else:
            if isinstance(outcome, Rest):
                self._wait(outcome, found)
            elif not self._write(outcome):
                self._begin(self._finish(outcome, found))
        return True

    def passed(self, data: bytes, message: object | None) -> None:
        """Keep count of what the ordinary road was given. ``message``: what its parser made of it, if it found
        exactly one request beginning in it."""
        if self._owed > 0:
            self._owed -= len(data)
            if self._owed < 0:
                self._owed = UNKNOWN
        elif self._owed == 0:
            missing = self._heads.missing(data, message) if message is not None else None
            self._owed = UNKNOWN if missing is None else missing

    def hold(self, data: bytes) -> None:
        """Keep what comes while a request is under way, and ask for no more."""
        self._held += data
        transport = self._connection.transport
        if transport is not None:
            transport.pause_reading()

    def lost(self) -> None:
        """The client has gone: nobody waits for the answer."""
        if self._waiting is not None:
            self._waiting[0].cancel()
        elif self._task is not None:
            self._task.cancel()

    def _wait(self, rest: Rest[Response], found: Found) -> None:
        """Go on with a request when what it waits for is there."""
        if not rest.followed(self._go_on):
            self._begin(self._finish(rest, found), rest.context)
            return
        self._waiting, self.busy = (rest, found), True
        self._front.waiting.add(self)
        self._connection.under_way()

    def _go_on(self) -> None:
        """Take the next step of what waited without a task."""
        assert self._waiting is not None
        rest, found = self._waiting
        self._waiting = None
        self._front.waiting.discard(self)
        try:
            outcome = rest.next_step()
        except asyncio.CancelledError:
            self._ended(keep=False)
        except Exception as error:  # noqa: BLE001  # as in take()
            self._ended(keep=self._write(self._front.failed(error), close=True))
        else:
            if isinstance(outcome, Rest):
                self._wait(outcome, found)
            elif self._write(outcome):
                self._ended(keep=True)
            else:
                self._begin(self._finish(outcome, found))

    def _write(self, response: Response, *, close: bool = False) -> bool:
        """Write a small complete answer; False: it is another kind, or has to wait."""
        connection, front = self._connection, self._front
        transport = connection.transport
        if transport is None:
            return True
        if transport.get_write_buffer_size() > ONE_WRITE_BYTES:
            return False  # the client does not read its answers: the next one waits until it does
        closes, written = one_write(response, close=close or front.closing)
        if written is None:
            return False
        transport.write(written)
        if closes:
            connection.force_close()
        elif not self.busy:  # else _ended does
            connection.answered()
        return True

    def _begin(self, work: Coroutine[Any, Any, None], context: Context | None = None) -> None:
        self.busy = True
        self._connection.under_way()
        self._task = self._front.requests.start(work, name="request", context=context)

    async def _finish(self, outcome: Request | Response | Awaitable[Response], found: Found) -> None:
        """Answer a request, or write its answer, which may be still to come."""
        keep = False
        try:
            try:
                if isinstance(outcome, Request):
                    outcome = self._front.handler(outcome)
                response, failed = (outcome if isinstance(outcome, Response) else await outcome), False
            except Exception as error:  # noqa: BLE001  # as in take()
                response, failed = self._front.failed(error), True
            keep = self._write(response, close=failed) or await self._write_over_time(response, found, close=failed)
        except ConnectionError as error:
            log.debug("client has gone", path=found.target, error=error)
        finally:
            self._ended(keep=keep)

    async def _write_over_time(self, response: Response, found: Found, *, close: bool) -> bool:
        """Write a stream or a large answer; whether the connection goes on."""
        answer = self._front.answer(response, close=close)
        await answer.prepare(_Exchange(self._connection, found))
        return answer.keep_alive

    def _ended(self, *, keep: bool) -> None:
        connection = self._connection
        self._task, self.busy = None, False
        connection.request_ended()
        if not keep or connection.closing:
            connection.force_close()
            return
        connection.answered()
        if self._held:
            asyncio.get_running_loop().call_soon(self._release)

    def _release(self) -> None:
        data, self._held = self._held, b""
        transport = self._connection.transport
        if transport is not None:
            transport.resume_reading()
            self._connection.data_received(data)
