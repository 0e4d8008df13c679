"""Paths for people who look into a running server; authorized like any path that is no resource."""

from __future__ import annotations

from collections.abc import Callable

from controlplane.apiserver.server.routes import Route
from controlplane.client.request import Request, Response
from controlplane.controllers.garbage_collector.dump import CONTENT_TYPE, dot_of
from controlplane.controllers.garbage_collector.graph import Graph

__all__ = ["GRAPH_PATH", "graph_route"]

GRAPH_PATH = "/debug/controllers/garbage-collector/graph"


def graph_route(graph: Callable[[], Graph]) -> Route:
    """What the garbage collector of this process knows, as DOT; ``?uid=`` (more than once, if need be) chooses. Empty
    on a server that does not lead."""

    async def handle(request: Request) -> Response:
        text = dot_of(graph(), request.query.get("uid", ()))
        headers = [("X-Content-Type-Options", "nosniff")]
        return Response(200, text.encode(), content_type=CONTENT_TYPE, headers=headers)

    return Route(GRAPH_PATH, handle, listed=False)
