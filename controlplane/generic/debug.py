"""Paths for people who look into a running server; authorized like any path that is no resource."""

from __future__ import annotations

from collections.abc import Callable

from controlplane.apimachinery.identity import GroupResource
from controlplane.apiserver.registry.stored_forms import StoredForms
from controlplane.apiserver.server.documents import indented
from controlplane.apiserver.server.routes import Route
from controlplane.client.request import Request, Response
from controlplane.controllers.garbage_collector.dump import CONTENT_TYPE, dot_of
from controlplane.controllers.garbage_collector.graph import Graph
from controlplane.storagemigration.proof import REPORT_PATH

__all__ = ["GRAPH_PATH", "graph_route", "storage_report_route"]

GRAPH_PATH = "/debug/controllers/garbage-collector/graph"


def graph_route(graph: Callable[[], Graph]) -> Route:
    """What the garbage collector of this process knows, as DOT; ``?uid=`` (more than once, if need be) chooses. Empty
    on a server that does not lead."""

    async def handle(request: Request) -> Response:
        text = dot_of(graph(), request.query.get("uid", ()))
        headers = [("X-Content-Type-Options", "nosniff")]
        return Response(200, text.encode(), content_type=CONTENT_TYPE, headers=headers)

    return Route(GRAPH_PATH, handle, listed=False)


def storage_report_route(forms: StoredForms) -> Route:
    """What the store holds, by version and key; ``?group=&resource=`` names one resource."""

    async def handle(request: Request) -> Response:
        (group, *_), (resource, *_) = (request.query.get(name) or [""] for name in ("group", "resource"))
        report = await forms.report(GroupResource(group, resource) if resource else None)
        return Response(200, indented(report))

    return Route(REPORT_PATH, handle, listed=False)
