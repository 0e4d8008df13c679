"""No ordinary request lasts longer than the request timeout, or than its own ``timeout`` parameter says.

At the deadline the handler is cancelled (what it has begun to commit is shielded further down) and the client gets a
504. Long-running requests have no deadline.

Requests with the common timeout end in the order in which they came, so one timer for the oldest serves them all: a
request costs two dictionary operations instead of a timer of its own.

Source: kubernetes/apiserver ``pkg/endpoints/filters`` (WithRequestDeadline), ``pkg/server/filters`` (WithTimeout…).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from time import monotonic

from controlplane.apimachinery.status import APIError, bad_request, timeout
from controlplane.apiserver.filters.durations import parse_duration
from controlplane.apiserver.filters.labels import resource_labels
from controlplane.apiserver.filters.metrics import TERMINATIONS
from controlplane.client.request import Handler, Request, Response

__all__ = ["with_deadline"]


class _Running:
    """One request under way: the task that runs it, and whether its time is over."""

    __slots__ = ("deadline", "expired", "task")

    def __init__(self, task: asyncio.Task[object], deadline: float) -> None:
        self.task, self.deadline, self.expired = task, deadline, False


class _Queue:
    """Requests of one timeout, oldest first, and the timer for the oldest."""

    def __init__(self) -> None:
        self._running: dict[_Running, None] = {}
        self._timer: asyncio.TimerHandle | None = None

    def enter(self, running: _Running) -> None:
        self._running[running] = None
        if self._timer is None:
            self._arm(running.deadline)

    def leave(self, running: _Running) -> None:
        del self._running[running]

    def _arm(self, deadline: float) -> None:
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(max(0.0, deadline - monotonic()), self._expire)

    def cancel(self) -> None:
        """No timer is left behind: for a queue of one request."""
        if self._timer is not None:
            self._timer.cancel()

    def _expire(self) -> None:
        self._timer = None
        now = monotonic()
        for running in self._running:
            if running.deadline > now:
                self._arm(running.deadline)
                return
            if not running.expired:
                running.expired = True
                running.task.cancel()


def with_deadline(following: Handler, *, seconds: float) -> Handler:
    """Set ``request.deadline`` and keep to it; ``seconds`` is the longest a request may take."""
    queue = _Queue()

    async def bounded(request: Request, limit: float) -> Response:
        task = asyncio.current_task()
        assert task is not None
        began = request.received_at or monotonic()
        running = _Running(task, began + limit)
        request.deadline = running.deadline
        own = queue if limit == seconds else _Queue()
        own.enter(running)
        try:
            return await following(request)
        except asyncio.CancelledError:
            if running.expired and task.uncancel() == 0:
                raise _expired(request) from None
            raise
        finally:
            own.leave(running)
            if own is not queue:
                own.cancel()

    def handle(request: Request) -> Awaitable[Response]:
        if request.info.long_running:
            return following(request)
        limit = seconds
        if "timeout=" in request.query_string:
            limit = _own_limit(request, seconds)
        return bounded(request, limit)

    return handle


def _own_limit(request: Request, longest: float) -> float:
    """What the ``timeout`` parameter asks for, if it is shorter; 0 and less ask for nothing."""
    text = request.query.first("timeout")
    if not text:
        return longest
    try:
        asked = parse_duration(text)
    except ValueError as error:
        raise bad_request(f"invalid timeout specified in the request URL - {error}") from error
    return asked if 0 < asked < longest else longest


def _expired(request: Request) -> APIError:
    TERMINATIONS.labels_cached((*resource_labels(request), "504")).inc()
    return timeout("request did not complete within the allotted timeout")
