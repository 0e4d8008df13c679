"""The paths ``/openapi/v3``, ``/openapi/v3/<group and version>`` and ``/openapi/v2``.

A document asked for by its hash never changes and may be kept; one asked for by an old hash is somewhere else now.

What builds documents is imported when the first is asked for, in a thread: it would be a tenth of a server's start, and
many servers are never asked.

Source: kubernetes/kube-openapi ``pkg/handler`` and ``pkg/handler3``; kubernetes/kube-aggregator
``pkg/controllers/openapiv3/aggregator``; Go's ``http.ServeContent`` for conditions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from email.utils import formatdate, parsedate_to_datetime
from importlib import import_module
from typing import TYPE_CHECKING, Final

from controlplane.apimachinery.identity import GroupVersion
from controlplane.apimachinery.status import service_unavailable
from controlplane.apiserver.openapi.dialect import Dialect, Encoding
from controlplane.apiserver.openapi.urls import PREFIX, hashed_url
from controlplane.apiserver.registry.peers import FROM_PEER
from controlplane.apiserver.registry.remote import RemoteVersion
from controlplane.apiserver.registry.table import TableHolder
from controlplane.base.clock import Clock
from controlplane.client.negotiation import JSON, accepted_types
from controlplane.client.request import Request, Response

if TYPE_CHECKING:
    from controlplane.apiserver.openapi.publisher import Published, Publisher

__all__ = ["OpenAPI"]

_PROTOBUF = {
    "com.github.proto-openapi.spec.v2.v1.0+protobuf": Dialect.V2,
    "com.github.proto-openapi.spec.v2@v1.0+protobuf": Dialect.V2,
    "com.github.proto-openapi.spec.v3.v1.0+protobuf": Dialect.V3,
    "com.github.proto-openapi.spec.v3@v1.0+protobuf": Dialect.V3,
}
"""Subtypes that ask for protobuf, the form with an @ being the older one."""
_ANSWERED = {
    Dialect.V2: "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
    Dialect.V3: "application/com.github.proto-openapi.spec.v3.v1.0+protobuf",
}
_BEHIND = "the server cannot tell now whether this group version is served, please try again"
_GUESSED: Final = "text/plain; charset=utf-8"
"""What ``http.ServeContent`` makes of JSON whose type nobody says."""
_YEAR_SECONDS = 365 * 24 * 3600
_VARY: Final = ("Vary", "Accept")


class OpenAPI:
    """Answers the paths.

    Args:
        product: the server's version, as documents tell it (``v1.36.0``).
        catch_up: waits until the table is no older than the request, and returns whether it is; None if it always is.
        aggregated: whether an aggregator answers, which leaves the root's type to be guessed and looks for a document
            before it asks in what form.
    """

    def __init__(
        self,
        tables: TableHolder,
        *,
        product: str,
        clock: Clock,
        catch_up: Callable[[Request], Awaitable[bool]] | None = None,
        aggregated: bool = False,
    ) -> None:
        self._aggregated = aggregated
        self._tables, self._product, self._clock, self._catch_up = tables, product, clock, catch_up
        self._root_type = _GUESSED if aggregated else JSON
        self._publisher: Publisher | None = None
        self._own: Publisher | None = None
        self._asked: set[Encoding] = set()

    async def prewarm(self) -> None:
        """Build the document of Swagger 2.0 before it is asked for: in the encodings that clients have asked for since
        the start, or in JSON."""
        publisher = await self._publishing()
        for encoding in sorted(self._asked, key=lambda one: one.name) or [Encoding.JSON]:
            await publisher.swagger(encoding)

    async def root(self, request: Request) -> Response:
        """``/openapi/v3``."""
        await self._current(request)
        return _answer(request, await (await self._publishing(request)).root(), self._root_type, [])

    async def document(self, request: Request) -> Response:
        """``/openapi/v3/<key>``."""
        key = request.path.removeprefix(f"{PREFIX}/")
        remote = self._remote(key)
        if remote is not None:
            return await remote.handle(request)
        encoding = _encoding(request, Dialect.V3)
        if encoding is None and not self._aggregated:
            return Response(406, content_type="", headers=[_VARY])
        current = await self._current(request)
        document = await (await self._publishing(request)).document(key, encoding or Encoding.JSON)
        if document is None:
            if not current:
                raise service_unavailable(_BEHIND, retry_after_seconds=1)
            return Response(404, content_type="", headers=[_VARY])
        if encoding is None:
            return Response(406, content_type="", headers=[_VARY])
        media_type = _media_type(encoding, Dialect.V3)
        wanted = request.query.first("hash")
        if not wanted:
            return _answer(request, document, media_type, [_VARY])
        if wanted != document.digest:
            location = ("Location", hashed_url(key, document.digest))
            return Response(301, content_type=media_type, headers=[_VARY, ("Etag", f'"{document.digest}"'), location])
        expires = formatdate(self._clock.now() + _YEAR_SECONDS, usegmt=True)
        forever = [_VARY, ("Cache-Control", "public, immutable"), ("Expires", expires)]
        return _answer(request, document, media_type, forever)

    async def swagger(self, request: Request) -> Response:
        """``/openapi/v2``."""
        encoding = _encoding(request, Dialect.V2)
        if encoding is None:
            return Response(406, content_type="", headers=[_VARY])
        self._asked.add(encoding)
        await self._current(request)
        document = await (await self._publishing(request)).swagger(encoding)
        return _answer(request, document, _media_type(encoding, Dialect.V2), [_VARY])

    def _remote(self, key: str) -> RemoteVersion | None:
        """Whose a document is, if it is another server's."""
        remotes = self._tables.current.remotes
        match key.split("/") if remotes else ():
            case ["apis", group, version]:
                remote = remotes.get(GroupVersion(group, version))
                return remote if remote is not None and remote.openapi_hash else None
        return None

    async def _current(self, request: Request) -> bool:
        """Catch up. Where that cannot be proved, what is known is still published, as upstream's would be later."""
        return self._catch_up is None or await self._catch_up(request)

    async def _publishing(self, request: Request | None = None) -> Publisher:
        """Who makes documents: of everything, or for a peer of what this server serves itself."""
        if self._publisher is None:
            await asyncio.to_thread(import_module, "controlplane.apiserver.openapi.publisher")
        return self._made(own=request is not None and FROM_PEER in request.values and self._shows_peers())

    def _shows_peers(self) -> bool:
        """Whether there is a difference."""
        elsewhere = self._tables.current.elsewhere
        return elsewhere is not None and any(server.openapi for server in elsewhere.servers.values())

    def _made(self, *, own: bool = False) -> Publisher:
        from controlplane.apiserver.openapi.publisher import Publisher

        if own:
            if self._own is None:
                self._own = Publisher(self._tables, self._product, self._clock, with_peers=False)
            return self._own
        if self._publisher is None:
            self._publisher = Publisher(self._tables, self._product, self._clock)
        return self._publisher


def _encoding(request: Request, dialect: Dialect) -> Encoding | None:
    """What to answer in, None if nothing is acceptable."""
    for kind, subtype in accepted_types(request.headers.get("Accept") or "*/*"):
        if kind in {"application", "*"}:
            if subtype in {"json", "*"}:
                return Encoding.JSON
            if _PROTOBUF.get(subtype) is dialect:
                return Encoding.PROTOBUF
    return None


def _media_type(encoding: Encoding, dialect: Dialect) -> str:
    return JSON if encoding is Encoding.JSON else _ANSWERED[dialect]


def _answer(request: Request, document: Published, media_type: str, headers: list[tuple[str, str]]) -> Response:
    etag = f'"{document.digest}"'
    headers += [("Etag", etag), ("Last-Modified", formatdate(document.modified, usegmt=True))]
    if _unchanged(request, etag, document.modified):
        return Response(304, content_type="", headers=headers)
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
