"""Paths that are no resources, and the order in which paths are looked up.

Exact paths first, then prefixes (the longest first), then discovery and resources; what nobody knows is a plain 404,
or 503 while not all sources of paths have been heard.

Source: behaviour of kubernetes/apiserver ``pkg/server/mux``, ``pkg/server/routes``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import NamedTuple

from controlplane.apimachinery.status import APIError, internal_error, service_unavailable
from controlplane.apiserver.authentication.serviceaccounts.documents import (
    CONFIGURATION_PATH,
    JWKS_PATH,
    MAX_AGE_SECONDS,
    IssuerDocuments,
)
from controlplane.apiserver.authentication.serviceaccounts.keys import KeyFileError
from controlplane.apiserver.filters.plain import PLAIN_TEXT, plain_error
from controlplane.apiserver.openapi.handler import OpenAPI
from controlplane.apiserver.server.documents import indented
from controlplane.apiserver.server.metrics import SLIS
from controlplane.apiserver.server.version import VersionInfo
from controlplane.base import metrics
from controlplane.base.metrics import Registry
from controlplane.client.request import Handler, Request, Response

__all__ = [
    "Route",
    "Router",
    "index_route",
    "issuer_routes",
    "metrics_routes",
    "openapi_routes",
    "page_not_found",
    "version_routes",
]

_EARLY = "the request has been made before all known HTTP paths have been installed, please try again"


class Route(NamedTuple):
    """One path, or with ``prefix`` all paths below it (it then ends in ``/``). ``listed``: shown by ``/``."""

    path: str
    handler: Handler
    prefix: bool = False
    listed: bool = True


class Router:
    """The innermost handler.

    ``resources`` answers resource requests; ``discovery`` answers the paths of discovery, or None for a path that is
    not its own; ``elsewhere`` knows which of those another server answers; ``complete`` says whether all sources of
    paths have been heard; ``catch_up`` waits until what discovery shows is no older than the request, and returns
    whether it is.
    """

    def __init__(
        self,
        routes: Sequence[Route],
        *,
        resources: Handler,
        discovery: Callable[[Request], Response | None],
        complete: Callable[[], bool],
        catch_up: Callable[[Request], Awaitable[bool]] | None = None,
        elsewhere: Callable[[str], Handler | None] | None = None,
    ) -> None:
        self._catch_up, self._elsewhere = catch_up, elsewhere
        self._exact = {route.path: route.handler for route in routes if not route.prefix}
        self._prefixes = sorted(
            ((route.path, route.handler) for route in routes if route.prefix),
            key=lambda p: (-p[0].count("/"), -len(p[0])),
        )
        self._resources, self._discovery, self._complete = resources, discovery, complete
        paths = [route.path for route in routes]
        doubles = sorted({path for path in paths if paths.count(path) > 1})
        if doubles:
            raise ValueError(f"paths are routed twice: {', '.join(doubles)}")

    def handle(self, request: Request) -> Awaitable[Response]:
        """Answer, by whoever knows the path. Raises as the handlers do; 503 while it is not known who there is."""
        if request.info.is_resource and not request.path.startswith("//"):  # no root is an empty word
            return self._resources(request)
        return self._handle_path(request)

    async def _handle_path(self, request: Request) -> Response:
        path = request.path
        exact = self._exact.get(path)
        if exact is not None:
            return await exact(request)
        for prefix, handler in self._prefixes:
            if path.startswith(prefix):
                return await handler(request)
        current = True
        if self._catch_up is not None and path.startswith("/api"):
            current = await self._catch_up(request)
        remote = self._elsewhere(path) if self._elsewhere is not None else None
        if remote is not None:
            return await remote(request)
        found = self._discovery(request) if not path.startswith("//") else None
        if found is not None:
            return found
        if not current or not self._complete():
            raise service_unavailable(_EARLY, retry_after_seconds=5)
        return page_not_found()


def page_not_found() -> Response:
    return plain_error(404, "404 page not found")


def index_route(paths: Callable[[], Iterable[str]]) -> list[Route]:
    """``/``: all paths, sorted."""

    async def handle(_: Request) -> Response:
        return Response(200, indented({"paths": sorted(set(paths()))}))

    return [Route("/", handle, listed=False), Route("/index.html", handle)]


def version_routes(info: VersionInfo) -> list[Route]:
    """``/version``, with and without a slash, to GET only."""
    document = info.document()

    async def handle(request: Request) -> Response:
        if request.method != "GET":
            raise _method_not_allowed()
        if not _accepts_json(request.headers.get("Accept", "")):
            text = "406: Not Acceptable\n\nAvailable representations: application/json"
            raise APIError(406, "NotAcceptable", text, details={})
        return Response(200, document)

    return [Route("/version", handle), Route("/version/", handle, listed=False)]


def openapi_routes(openapi: OpenAPI) -> list[Route]:
    """``/openapi/v2``, ``/openapi/v3`` and all below it."""
    return [
        Route("/openapi/v2", openapi.swagger),
        Route("/openapi/v3", openapi.root),
        Route("/openapi/v3/", openapi.document, prefix=True),
    ]


def issuer_routes(documents: IssuerDocuments) -> list[Route]:
    """What others need to verify service account tokens; none where the issuer's name is no URL to look under."""
    if not documents.available:
        return []

    def route(path: str, read: Callable[[], Awaitable[bytes]], content_type: str) -> Route:
        kept = ("Cache-Control", f"public, max-age={MAX_AGE_SECONDS}")

        async def handle(request: Request) -> Response:
            if request.method != "GET":
                raise _method_not_allowed()
            try:
                return Response(200, await read(), content_type=content_type, headers=[kept])
            except KeyFileError as error:
                raise internal_error(f"the keys of service account tokens cannot be read: {error}") from error

        return Route(path, handle)

    return [
        route(CONFIGURATION_PATH, documents.configuration, "application/json"),
        route(JWKS_PATH, documents.jwks, "application/jwk-set+json"),
    ]


def metrics_routes(prepare: Callable[[], Awaitable[None]] | None = None) -> list[Route]:
    """``/metrics``: all metrics of the process but its service level indicators; ``/metrics/slis``: those. ``prepare``
    brings metrics up to date that are counted when asked for. DELETE counts from 0 again."""

    def route(path: str, registry: Registry, prepare: Callable[[], Awaitable[None]] | None = None) -> Route:
        async def handle(request: Request) -> Response:
            if request.method == "DELETE":
                registry.reset()
                return Response(200, b"metrics reset\n", content_type=PLAIN_TEXT)
            if prepare is not None:
                await prepare()
            page = await metrics.render(request.headers.get("Accept", ""), registry=registry)
            return Response(200, page.pieces, content_type=page.content_type)

        return Route(path, handle)

    return [route("/metrics", metrics.REGISTRY, prepare), route("/metrics/slis", SLIS)]


def _method_not_allowed() -> APIError:
    text = "the server does not allow this method on the requested resource"
    return APIError(405, "MethodNotAllowed", text, details={})


def _accepts_json(accept: str) -> bool:
    kinds = {clause.partition(";")[0].strip() for clause in accept.split(",")}
    return not accept or not kinds.isdisjoint({"application/json", "application/*", "*/*"})
