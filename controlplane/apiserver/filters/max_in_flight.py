"""At most so many ordinary requests at a time, reading and changing ones apart; the others are told to come again.

Members of ``system:masters`` are never refused, so that an administrator gets through to an overloaded server.

Source: kubernetes/apiserver ``pkg/server/filters/maxinflight.go``.
"""

from __future__ import annotations

from collections.abc import Awaitable
from time import monotonic

from controlplane.apimachinery.user import MASTERS_GROUP
from controlplane.apiserver.filters.labels import resource_labels
from controlplane.apiserver.filters.metrics import INFLIGHT, TERMINATIONS
from controlplane.apiserver.filters.plain import plain_error
from controlplane.client.request import Handler, Request, Response

__all__ = ["with_max_in_flight"]

_READING = frozenset({"get", "list", "watch"})
_TEXT = "Too many requests, please try again later."
_REMEMBER_SECONDS = 1.0


class _Lane:
    """Requests of one kind that are inside, and the most there were lately."""

    __slots__ = ("_most", "_most_until", "inside", "limit")

    def __init__(self, limit: int) -> None:
        self.limit, self.inside = limit, 0
        self._most, self._most_until = 0, 0.0

    def enter(self) -> None:
        self.inside += 1
        if self.inside >= self._most:
            self._most, self._most_until = self.inside, monotonic() + _REMEMBER_SECONDS

    def most(self) -> float:
        """The most at a time in the last second or so."""
        if monotonic() > self._most_until:
            self._most = self.inside
        return self._most


def with_max_in_flight(following: Handler, *, reading: int, changing: int) -> Handler:
    """Limits of requests at a time; 0 is no limit. Needs ``request.user``."""
    lanes = {True: _Lane(reading), False: _Lane(changing)}
    INFLIGHT.labels_cached(("readOnly",)).read_from(lanes[True].most)
    INFLIGHT.labels_cached(("mutating",)).read_from(lanes[False].most)

    async def counted(request: Request, lane: _Lane) -> Response:
        lane.enter()
        try:
            return await following(request)
        finally:
            lane.inside -= 1

    def handle(request: Request) -> Awaitable[Response]:
        info = request.info
        if info.long_running:
            return following(request)
        lane = lanes[info.verb in _READING]
        if 0 < lane.limit <= lane.inside and MASTERS_GROUP not in request.user.groups:
            return _refused(request)
        return counted(request, lane)

    return handle


async def _refused(request: Request) -> Response:
    TERMINATIONS.labels_cached((*resource_labels(request), "429")).inc()
    return plain_error(429, _TEXT, ("Retry-After", "1"))
