"""At most so many watches open for each user; whoever asks for more is told to come again.

A watch costs little while nothing happens and its share of every event, for as long as its client likes: the limit of
requests at a time does not hold it. Members of ``system:masters`` are never refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable

from controlplane.apimachinery.status import too_many_requests
from controlplane.apimachinery.user import MASTERS_GROUP
from controlplane.apimachinery.validation.field import go_quoted
from controlplane.apiserver.filters.labels import resource_labels
from controlplane.apiserver.filters.metrics import TERMINATIONS
from controlplane.apiserver.filters.streams import around_stream
from controlplane.client.request import Handler, Request, Response, StreamResponse

__all__ = ["with_max_watches"]


def with_max_watches(following: Handler, *, per_user: int) -> Handler:
    """``per_user`` 0 is no limit. Needs ``request.user``. Those in this process are the server's own."""
    if not per_user:
        return following
    watches: Counter[str] = Counter()

    async def counted(request: Request, name: str) -> Response:
        if watches[name] >= per_user:
            TERMINATIONS.labels_cached((*resource_labels(request), "429")).inc()
            raise too_many_requests(f"user {go_quoted(name)} has {per_user} watches open, and may have no more")
        response = await following(request)
        if isinstance(response, StreamResponse):

            def began() -> None:
                watches[name] += 1

            def ended() -> None:
                watches[name] -= 1
                if not watches[name]:
                    del watches[name]

            around_stream(response, began=began, ended=ended)
        return response

    def handle(request: Request) -> Awaitable[Response]:
        if request.info.verb != "watch" or request.identity is not None or MASTERS_GROUP in request.user.groups:
            return following(request)
        return counted(request, request.user.name)

    return handle
