"""Filters that only look at answers: those that stand side by side become one coroutine, since each of its own would
cost a request more than what it does.
"""

from __future__ import annotations

from collections.abc import Callable

from controlplane.client.request import Handler, Request, Response

__all__ = ["Step", "afterwards"]

Step = Callable[[Request, Response], None]
"""Looks at an answer, may add headers to it. It is not called where there is none (an error, a cancellation)."""

_PARTS = "afterwards"
"""Attribute of the handlers made here: what they are put around, and their steps."""


def afterwards(following: Handler, step: Step) -> Handler:
    """``following``, then ``step`` with its answer."""
    inner: Handler
    steps: tuple[Step, ...]
    inner, steps = getattr(following, _PARTS, (following, ()))
    steps = (*steps, step)

    async def handle(request: Request) -> Response:
        response = await inner(request)
        for look in steps:
            look(request, response)
        return response

    setattr(handle, _PARTS, (inner, steps))
    return handle
