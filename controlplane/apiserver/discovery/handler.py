"""The paths of discovery: ``/api``, ``/apis``, their groups and versions, with and without a slash at the end.

Documents are those of the current table, and made anew after it has been swapped; their compact JSON is kept.

Source: kubernetes/apiserver ``pkg/endpoints/discovery``; for the aggregated form KEP-3352.
"""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus

from controlplane.apimachinery.codec.json import dumps
from controlplane.apimachinery.identity import GroupVersion, Obj
from controlplane.apimachinery.status import APIError, service_unavailable, unknown_resource
from controlplane.apiserver.discovery.documents import Aggregated, Documents, EncodedGroups
from controlplane.apiserver.discovery.merged_documents import Known, MergedDocuments
from controlplane.apiserver.discovery.metrics import NO_PEER_REQUESTS
from controlplane.apiserver.registry.peers import FROM_PEER, NOT_ALL_HEARD
from controlplane.apiserver.registry.table import ResourceTable, TableHolder
from controlplane.client.encoding import encode, wants_pretty
from controlplane.client.negotiation import PROTOBUF, Answer, Conversion, Form, find, negotiate
from controlplane.client.request import Handler, Request, Response

__all__ = ["Discovery"]

_LEGACY = Form()
_UNROUTED = Form(routed=False)
"""Of all groups, of a group, and of the versions of custom ones: who answers these upstream minds no method either."""
_OWN_GROUP = "apiregistration.k8s.io"
"""The group whose document upstream has a route for."""
_AGGREGATED = Form(
    conversions=frozenset({Conversion("apidiscovery.k8s.io", "v2", "APIGroupDiscoveryList")}), plain=False
)
RETRY_SECONDS = 1
_NO_PEER = "nopeer"
"""The profile of aggregated discovery that shows what this server serves itself."""
_AGGREGATED_PARAMETERS = ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


class Discovery:
    """Answers discovery's paths.

    Args:
        tables: what is served. ``server_address``: host and port to tell clients, asked once a table.
    """

    def __init__(self, tables: TableHolder, server_address: Callable[[], str] = lambda: "") -> None:
        self._server_address = server_address
        self._tables = tables
        self._encoded, self._known = EncodedGroups(), Known({}, EncodedGroups())
        self._outdate(tables.current)
        tables.subscribe(self._outdate)

    def _outdate(self, table: ResourceTable) -> None:
        own = Documents(table, self._server_address(), self._encoded)
        self._own = self._shown = _View(own)
        if table.elsewhere is not None:
            self._shown = _View(MergedDocuments(own, table.elsewhere, self._known))

    def handle(self, request: Request) -> Response | None:
        """Answer, or None if the path is not discovery's or nobody serves its group.

        Raises:
            APIError: 404 for an unknown version of a known group; 405; 406; 503 for what is unknown as long as another
            server has not said what it serves.
        """
        try:
            found = self._answer(request)
        except APIError as error:
            if error.code == HTTPStatus.NOT_FOUND and self._may_be_elsewhere(request):
                raise service_unavailable(NOT_ALL_HEARD, RETRY_SECONDS) from error
            raise
        if found is None and self._may_be_elsewhere(request):
            raise service_unavailable(NOT_ALL_HEARD, RETRY_SECONDS)
        return found

    def _may_be_elsewhere(self, request: Request) -> bool:
        """Whether what is unknown here may be known to a server that is shown here as soon as it is heard."""
        elsewhere = self._tables.current.elsewhere
        return (
            elsewhere is not None
            and elsewhere.whole
            and FROM_PEER not in request.values
            and request.path.startswith(("/api/", "/apis/"))
            and not elsewhere.all_heard()
        )

    def _answer(self, request: Request) -> Response | None:
        """As ``handle``, by what is known."""
        view = self._own if FROM_PEER in request.values else self._shown
        documents = view.documents
        match request.path.strip("/").split("/"):
            case ["api"]:
                return self._root(request, view, documents.core, lambda chosen: chosen.aggregated_core, _LEGACY)
            case ["apis"] if request.path.endswith("/"):
                return view.document(request, documents.groups, ("apis",), _UNROUTED)
            case ["apis"]:
                return self._root(request, view, documents.groups, lambda chosen: chosen.aggregated_groups, _UNROUTED)
            case ["api", version]:
                if documents.core is None:
                    return None
                return view.document(request, documents.version("", version), ("", version), _LEGACY)
            case ["apis", group]:
                document = documents.group(group)
                form = _LEGACY if group == _OWN_GROUP else _UNROUTED
                return None if document is None else view.document(request, document, (group,), form)
            case ["apis", group, version]:
                if documents.group(group) is None:
                    return None
                document = documents.version(group, version)
                custom = documents.is_custom(group)
                if document is None and custom:
                    return None
                return view.document(request, document, (group, version), _UNROUTED if custom else _LEGACY)
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
        return self._shown.documents.paths()

    def _root(
        self,
        request: Request,
        view: _View,
        legacy: Obj | None,
        aggregated: Callable[[Documents | MergedDocuments], Aggregated],
        form: Form,
    ) -> Response | None:
        if legacy is None:
            return None
        accept = request.headers.get("Accept")
        answer = find(accept, _AGGREGATED._replace(routed=form.routed)) if accept else None
        path = request.path.strip("/")
        if answer is None:
            return view.document(request, legacy, (path,), form)
        _check_method(request, form)
        if answer.profile == _NO_PEER:
            NO_PEER_REQUESTS.inc()
            view = self._own
        document = aggregated(view.documents)
        headers = [("ETag", document.etag), ("Vary", "Accept"), ("Cache-Control", "public")]
        content_type = answer.media_type + _AGGREGATED_PARAMETERS
        if request.headers.get("If-None-Match") == document.etag:
            return Response(304, b"", content_type=content_type, headers=headers)
        body = view.body(request, document.value, answer, (path, "aggregated"), ready=document.body)
        return Response(200, body, content_type=content_type, headers=headers)


class _View:
    """Documents, and what has been encoded of them."""

    def __init__(self, documents: Documents | MergedDocuments) -> None:
        self.documents = documents
        self._ready: dict[tuple[str, ...], bytes] = {}

    def document(self, request: Request, document: Obj | None, key: tuple[str, ...], form: Form) -> Response:
        """Answer with a document in its legacy form.

        Raises:
            APIError: 404 if there is none; 405; 406.
        """
        if document is None:
            raise unknown_resource()
        _check_method(request, form)
        answer = negotiate(request.headers.get("Accept"), form)
        if not answer.plain or wants_pretty(request):
            return Response(200, self.body(request, document, answer, key), content_type=answer.media_type)
        body = self._ready.get(key)
        if body is None:
            body = self._ready[key] = dumps(document)
        return Response(200, body)

    def body(
        self, request: Request, document: Obj, answer: Answer, key: tuple[str, ...], *, ready: bytes | None = None
    ) -> bytes:
        """A document in the form agreed on; kept in protobuf, which is read by programs."""
        if answer.media_type != PROTOBUF:
            return encode(request, document, answer, ready=ready)
        body = self._ready.get((*key, PROTOBUF))
        if body is None:
            body = self._ready[(*key, PROTOBUF)] = encode(request, document, answer)
        return body


def _check_method(request: Request, form: Form) -> None:
    if form.routed and request.method != "GET":
        message = "the server does not allow this method on the requested resource"
        raise APIError(405, "MethodNotAllowed", message, details={})
