"""At most so many connections for each user, who is known with the first request: that is when it is told.

A connection is the last user's that made a request on it; one of a front proxy's is nobody's. Members of
``system:masters`` are never refused. The number of all connections is the listener's to bound (``listen/door.py``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable

from controlplane.apimachinery.user import MASTERS_GROUP
from controlplane.apiserver.authentication.front_proxy import BY_FRONT_PROXY
from controlplane.apiserver.filters.labels import resource_labels
from controlplane.apiserver.filters.metrics import TERMINATIONS
from controlplane.apiserver.filters.plain import plain_error
from controlplane.client.request import Handler, Peer, Request, Response

__all__ = ["with_max_connections"]

_TEXT = "This user has too many connections, please try again later."


def with_max_connections(following: Handler, *, per_user: int) -> Handler:
    """``per_user`` 0 is no limit. Needs ``request.user``, as it was authenticated."""
    if not per_user:
        return following
    held: Counter[str] = Counter()

    def leave(peer: Peer) -> None:
        name, peer.user = peer.user, ""
        held[name] -= 1
        if not held[name]:
            del held[name]

    def handle(request: Request) -> Awaitable[Response]:
        peer, user = request.peer, request.user
        if peer is None or peer.user == user.name or BY_FRONT_PROXY in request.values:
            return following(request)
        if held[user.name] >= per_user and MASTERS_GROUP not in user.groups:
            return _refused(request)
        if peer.user:
            leave(peer)
        peer.user, peer.lost = user.name, leave
        held[user.name] += 1
        return following(request)

    return handle


async def _refused(request: Request) -> Response:
    TERMINATIONS.labels_cached((*resource_labels(request), "429")).inc()
    return plain_error(429, _TEXT, ("Connection", "close"), ("Retry-After", "1"))
