"""Headers that every answer carries: Cache-Control unless the handler set one, and HSTS where it is configured.

Source: kubernetes/apiserver ``pkg/endpoints/filters`` (WithCacheControl) and ``pkg/server/filters`` (WithHSTS).
"""

from __future__ import annotations

from collections.abc import Sequence

from controlplane.apiserver.filters.afterwards import afterwards
from controlplane.client.request import Handler, Request, Response

__all__ = ["with_cache_control", "with_hsts"]

_PRIVATE = ("Cache-Control", "no-cache, private")


def with_cache_control(following: Handler) -> Handler:
    """Nothing that is served may be kept by a proxy, as it depends on who asks."""

    def add(_request: Request, response: Response) -> None:
        headers = response.headers
        for name, _ in headers:
            if name == "Cache-Control":
                return
        headers.append(_PRIVATE)

    return afterwards(following, add)


def with_hsts(following: Handler, *, directives: Sequence[str]) -> Handler:
    """Strict-Transport-Security with these directives; without any, no filter."""
    if not directives:
        return following
    line = ("Strict-Transport-Security", "; ".join(directives))

    def add(_request: Request, response: Response) -> None:
        response.headers.append(line)

    return afterwards(following, add)
