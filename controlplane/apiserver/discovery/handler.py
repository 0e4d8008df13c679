"""The paths of discovery: ``/api``, ``/apis``, their groups and versions, with and without a slash at the end.

Documents are those of the current table, and made anew after it has been swapped; their compact JSON is kept.

Source: kubernetes/apiserver ``pkg/endpoints/discovery``; for the aggregated form KEP-3352.
"""

from __future__ import annotations

from collections.abc import Callable

from controlplane.apimachinery.codec.json import dumps
from controlplane.apimachinery.identity import GroupVersion, Obj
from controlplane.apimachinery.status import APIError, unknown_resource
from controlplane.apiserver.discovery.documents import Aggregated, Documents
from controlplane.apiserver.registry.table import ResourceTable, TableHolder
from controlplane.client.encoding import encode, wants_pretty
from controlplane.client.negotiation import PROTOBUF, Answer, Conversion, Form, find, negotiate
from controlplane.client.request import Handler, Request, Response

__all__ = ["Discovery"]

_LEGACY = Form()
_AGGREGATED = Form(
    conversions=frozenset({Conversion("apidiscovery.k8s.io", "v2", "APIGroupDiscoveryList")}), plain=False
)
_AGGREGATED_PARAMETERS = ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


class Discovery:
    """Answers discovery's paths.

    Args:
        tables: what is served. ``server_address``: host and port to tell clients, asked once a table.
    """

    def __init__(self, tables: TableHolder, server_address: Callable[[], str] = lambda: "") -> None:
        self._server_address = server_address
        self._documents = Documents(tables.current, server_address())
        self._ready: dict[tuple[str, ...], bytes] = {}
        self._tables = tables
        tables.subscribe(self._outdate)

    def _outdate(self, table: ResourceTable) -> None:
        self._documents = Documents(table, self._server_address())
        self._ready = {}

    def handle(self, request: Request) -> Response | None:
        """Answer, or None if the path is not discovery's or nobody serves its group.

        Raises:
            APIError: 404 for an unknown version of a known group; 405; 406.
        """
        match request.path.strip("/").split("/"):
            case ["api"]:
                return self._root(request, self._documents.core, lambda: self._documents.aggregated_core)
            case ["apis"]:
                return self._root(request, self._documents.groups, lambda: self._documents.aggregated_groups)
            case ["api", version]:
                if self._documents.core is None:
                    return None
                return self._document(request, self._documents.version("", version), ("", version))
            case ["apis", group]:
                document = self._documents.group(group)
                return None if document is None else self._document(request, document, (group,))
            case ["apis", group, version]:
                if self._documents.group(group) is None:
                    return None
                document = self._documents.version(group, version)
                if document is None and self._documents.is_custom(group):
                    return None
                return self._document(request, document, (group, version))
        return None

    def elsewhere(self, path: str) -> Handler | None:
        """Who answers a path of discovery that is another server's; None for all others."""
        remotes = self._tables.current.remotes
        if not remotes:
            return None
        match path.strip("/").split("/"):
            case ["apis", group, version]:
                remote = remotes.get(GroupVersion(group, version))
            case ["api"] | ["api", "v1"]:
                remote = remotes.get(GroupVersion("", "v1"))
            case _:
                return None
        return remote.handle if remote is not None else None

    def paths(self) -> list[str]:
        """All paths that have a document now."""
        return self._documents.paths()

    def _root(self, request: Request, legacy: Obj | None, aggregated: Callable[[], Aggregated]) -> Response | None:
        if legacy is None:
            return None
        accept = request.headers.get("Accept")
        answer = find(accept, _AGGREGATED) if accept else None
        if answer is None:
            return self._document(request, legacy, (request.path.strip("/"),))
        _only_get(request)
        document = aggregated()
        headers = [("ETag", document.etag), ("Vary", "Accept"), ("Cache-Control", "public")]
        content_type = answer.media_type + _AGGREGATED_PARAMETERS
        if request.headers.get("If-None-Match") == document.etag:
            return Response(304, b"", content_type=content_type, headers=headers)
        body = self._body(request, document.value, answer, (request.path.strip("/"), "aggregated"), ready=document.body)
        return Response(200, body, content_type=content_type, headers=headers)

    def _document(self, request: Request, document: Obj | None, key: tuple[str, ...]) -> Response:
        if document is None:
            raise unknown_resource()
        _only_get(request)
        answer = negotiate(request.headers.get("Accept"), _LEGACY)
        if not answer.plain or wants_pretty(request):
            return Response(200, self._body(request, document, answer, key), content_type=answer.media_type)
        body = self._ready.get(key)
        if body is None:
            body = self._ready[key] = dumps(document)
        return Response(200, body)

    def _body(
        self, request: Request, document: Obj, answer: Answer, key: tuple[str, ...], *, ready: bytes | None = None
    ) -> bytes:
        """A document in the form agreed on; kept in protobuf, which is read by programs."""
        if answer.media_type != PROTOBUF:
            return encode(request, document, answer, ready=ready)
        body = self._ready.get((*key, PROTOBUF))
        if body is None:
            body = self._ready[(*key, PROTOBUF)] = encode(request, document, answer)
        return body


def _only_get(request: Request) -> None:
    if request.method != "GET":
        message = "the server does not allow this method on the requested resource"
        raise APIError(405, "MethodNotAllowed", message, details={})
