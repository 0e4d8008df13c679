"""No namespace is finalized while the store holds something of it, on stores that several servers share: a server may
be away, and its resources forgotten, whose objects would be left behind for ever.

Whoever may do everything is not asked: an administrator can let a namespace go whose content nobody will ever serve
again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from controlplane.apimachinery.status import service_unavailable
from controlplane.apimachinery.user import MASTERS_GROUP
from controlplane.client.request import Handler, Request, Response

__all__ = ["LeftBehind", "with_namespace_content"]

LeftBehind = Callable[[str], Awaitable[Mapping[str, int]]]
"""What is in the store of a namespace and is not served here, counted."""


def with_namespace_content(following: Handler, *, left_behind: LeftBehind | None) -> Handler:
    """Refuse to finalize namespaces with content that nobody serves; without ``left_behind`` nothing is refused."""
    if left_behind is None:
        return following

    async def guarded(request: Request) -> Response:
        name = request.info.name
        found = await left_behind(name)
        if found:
            counted = ", ".join(f"{count} {folder}" for folder, count in sorted(found.items()))
            raise service_unavailable(
                f"namespace {name} is not empty: the store has content of it that no server serves now: {counted}"
            )
        return await following(request)

    def handle(request: Request) -> Awaitable[Response]:
        info = request.info
        finalizes = info.subresource == "finalize" and info.resource == "namespaces" and not info.group
        return guarded(request) if finalizes and MASTERS_GROUP not in request.user.groups else following(request)

    return handle
