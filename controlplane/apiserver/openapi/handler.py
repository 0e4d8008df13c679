"""The paths ``/openapi/v3``, ``/openapi/v3/<group and version>`` and ``/openapi/v2``.

A document asked for by its hash never changes and may be kept; one asked for by an old hash is somewhere else now.

Source: kubernetes/kube-openapi ``pkg/handler`` and ``pkg/handler3``; Go's ``http.ServeContent`` for conditions.
"""

from __future__ import annotations

from email.utils import formatdate, parsedate_to_datetime
from typing import Final

from controlplane.apiserver.openapi.plan import PREFIX, hashed_url
from controlplane.apiserver.openapi.publisher import Published, Publisher
from controlplane.apiserver.registry.table import TableHolder
from controlplane.base.clock import Clock
from controlplane.client.negotiation import JSON, accepted_types
from controlplane.client.request import Request, Response

__all__ = ["OpenAPI"]

_YEAR_SECONDS = 365 * 24 * 3600
_VARY: Final = ("Vary", "Accept")


class OpenAPI:
    """Answers the paths. ``product``: the server's version, as documents tell it (``v1.36.0``)."""

    def __init__(self, tables: TableHolder, *, product: str, clock: Clock) -> None:
        self._publisher, self._clock = Publisher(tables, product, clock), clock

    async def root(self, request: Request) -> Response:
        """``/openapi/v3``."""
        return _answer(request, await self._publisher.root(), JSON, [])

    async def document(self, request: Request) -> Response:
        """``/openapi/v3/<key>``."""
        key = request.path.removeprefix(f"{PREFIX}/")
        media_type = _media_type(request)
        if media_type is None:
            return Response(406, headers=[_VARY])
        document = await self._publisher.document(key)
        if document is None:
            return Response(404)
        wanted = request.query.first("hash")
        if not wanted:
            return _answer(request, document, media_type, [_VARY])
        if wanted != document.digest:
            location = ("Location", hashed_url(key, document.digest))
            return Response(301, headers=[_VARY, ("Etag", f'"{document.digest}"'), location])
        expires = formatdate(self._clock.now() + _YEAR_SECONDS, usegmt=True)
        forever = [_VARY, ("Cache-Control", "public, immutable"), ("Expires", expires)]
        return _answer(request, document, media_type, forever)

    async def swagger(self, request: Request) -> Response:
        """``/openapi/v2``."""
        media_type = _media_type(request)
        if media_type is None:
            return Response(406, headers=[_VARY])
        return _answer(request, await self._publisher.swagger(), media_type, [_VARY])


def _media_type(request: Request) -> str | None:
    """The form to answer in, None if none is acceptable."""
    for kind, subtype in accepted_types(request.headers.get("Accept") or "*/*"):
        if kind in {"application", "*"} and subtype in {"json", "*"}:
            return JSON
    return None


def _answer(request: Request, document: Published, media_type: str, headers: list[tuple[str, str]]) -> Response:
    etag = f'"{document.digest}"'
    headers += [("Etag", etag), ("Last-Modified", formatdate(document.modified, usegmt=True))]
    if _unchanged(request, etag, document.modified):
        return Response(304, content_type=media_type, headers=headers)
    return Response(200, document.body, content_type=media_type, headers=headers)


def _unchanged(request: Request, etag: str, modified: int) -> bool:
    """Whether the client has this content already. A tag decides alone where there is one."""
    tags = request.headers.get("If-None-Match")
    if tags is not None:
        return any(tag.strip().removeprefix("W/") in {etag, "*"} for tag in tags.split(","))
    since = request.headers.get("If-Modified-Since")
    if since is None or request.method not in {"GET", "HEAD"}:
        return False
    try:
        return modified <= parsedate_to_datetime(since).timestamp()
    except ValueError:
        return False
