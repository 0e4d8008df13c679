"""The typed verbs: paths, queries and bodies as an API server reads them; answers as objects, lists and errors."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.apimachinery.codec.json import dumps, loads
from controlplane.apimachinery.identity import GVR, Key, Obj
from controlplane.apimachinery.status import APIError
from controlplane.apimachinery.user import UserInfo
from controlplane.client.errors import BadAnswer, StreamBroken
from controlplane.client.loopback import LoopbackClient
from controlplane.client.request import Chunk, Request, Response, Sink, StreamResponse
from controlplane.client.resources import PatchType, Propagation, ResourceClient
from controlplane.client.results import error_of_response
from controlplane.client.watch import WatchEvent
from tests.aio import run
from tests.small_server import SmallServer

CONFIGMAPS = GVR("", "v1", "configmaps")
LEASES = GVR("coordination.k8s.io", "v1", "leases")
NAMESPACES = GVR("", "v1", "namespaces")
KEY = Key("shop", "cart")


def client_of(handler: Any) -> LoopbackClient:
    return LoopbackClient(handler, UserInfo(name="test"), retries=0)


class Recorder:
    """A handler that keeps the last request and answers an empty object."""

    async def handle(self, request: Request) -> Response:
        self.method, self.path, self.query = request.method, request.path, dict(request.query)
        self.content_type = request.headers.get("Content-Type", "")
        self.body: Any = loads(await request.body()) if await request.body() else None
        return Response(200, b'{"kind":"L","items":[],"metadata":{}}')


@pytest.mark.parametrize(
    ("call", "method", "path", "query", "body"),
    [
        pytest.param(
            lambda c: c.get(KEY, resource_version="0"),
            "GET",
            "/api/v1/namespaces/shop/configmaps/cart",
            {"resourceVersion": ["0"]},
            None,
            id="get",
        ),
        pytest.param(
            lambda c: c.create({"metadata": {"namespace": "shop", "name": "cart"}}, dry_run=True, field_manager="me"),
            "POST",
            "/api/v1/namespaces/shop/configmaps",
            {"dryRun": ["All"], "fieldManager": ["me"]},
            {"metadata": {"namespace": "shop", "name": "cart"}},
            id="create",
        ),
        pytest.param(
            lambda c: c.update_status({"metadata": {"namespace": "shop", "name": "cart"}}),
            "PUT",
            "/api/v1/namespaces/shop/configmaps/cart/status",
            {},
            {"metadata": {"namespace": "shop", "name": "cart"}},
            id="update status",
        ),
        pytest.param(
            lambda c: c.delete(KEY, uid="u", resource_version="7", propagation=Propagation.FOREGROUND, dry_run=True),
            "DELETE",
            "/api/v1/namespaces/shop/configmaps/cart",
            {},
            {
                "kind": "DeleteOptions",
                "apiVersion": "v1",
                "propagationPolicy": "Foreground",
                "dryRun": ["All"],
                "preconditions": {"uid": "u", "resourceVersion": "7"},
            },
            id="delete with preconditions",
        ),
        pytest.param(
            lambda c: c.delete_collection("shop", label_selector="a=b"),
            "DELETE",
            "/api/v1/namespaces/shop/configmaps",
            {"labelSelector": ["a=b"]},
            {"kind": "DeleteOptions", "apiVersion": "v1"},
            id="delete collection",
        ),
        pytest.param(
            lambda c: c.list(limit=5, continue_token="t", field_selector="metadata.name=x"),
            "GET",
            "/api/v1/configmaps",
            {"fieldSelector": ["metadata.name=x"], "limit": ["5"], "continue": ["t"]},
            None,
            id="list everywhere",
        ),
    ],
)
def test_each_verb_asks_what_an_api_server_expects(
    call: Any, method: str, path: str, query: dict[str, list[str]], body: Obj | None
) -> None:
    recorder = Recorder()
    run(call(ResourceClient(client_of(recorder.handle), CONFIGMAPS, namespaced=True)))
    assert (recorder.method, recorder.path, recorder.query, recorder.body) == (method, path, query, body)


@pytest.mark.parametrize("patch_type", list(PatchType))
def test_a_patch_names_its_type(patch_type: PatchType) -> None:
    recorder = Recorder()
    client = ResourceClient(client_of(recorder.handle), LEASES, namespaced=True)
    run(client.patch(KEY, {"a": 1}, patch_type, field_manager="me", force=True))
    assert recorder.path == "/apis/coordination.k8s.io/v1/namespaces/shop/leases/cart"
    assert recorder.content_type == patch_type.value
    assert recorder.query == {"fieldManager": ["me"], "force": ["true"]}


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a%2fb"])
def test_a_name_that_could_mean_another_path_is_refused(name: str) -> None:
    client = ResourceClient(client_of(Recorder().handle), CONFIGMAPS, namespaced=True)
    with pytest.raises(ValueError, match="cannot be a name"):
        run(client.get(Key("shop", name)))


def test_scope_is_checked_before_anything_is_sent() -> None:
    handler = Recorder().handle
    with pytest.raises(ValueError, match="is namespaced"):
        run(ResourceClient(client_of(handler), CONFIGMAPS, namespaced=True).get(Key("", "x")))
    with pytest.raises(ValueError, match="cluster-scoped"):
        run(ResourceClient(client_of(handler), NAMESPACES, namespaced=False).get(Key("a", "x")))


def test_pages_are_one_list_and_items_know_their_kind() -> None:
    server = SmallServer()
    for number in range(7):
        server.put("configmaps", f"c{number}", "shop")

    async def main() -> list[list[Obj]]:
        client = ResourceClient(client_of(server.handle), CONFIGMAPS, namespaced=True)
        return [page.items async for page in client.pages("shop", page_items=3)]

    pages = run(main())
    assert [[item["metadata"]["name"] for item in page] for page in pages] == [
        ["c0", "c1", "c2"],
        ["c3", "c4", "c5"],
        ["c6"],
    ]
    assert {(item["apiVersion"], item["kind"]) for page in pages for item in page} == {("v1", "Configmap")}


def test_a_servers_status_comes_back_as_the_same_error() -> None:
    sent = APIError(
        409,
        "Conflict",
        'Operation cannot be fulfilled on configmaps "cart": changed',
        details={"name": "cart", "kind": "configmaps"},
        retry_after_seconds=3,
    )
    got = error_of_response(Response(409, dumps(sent.status())), "PUT")
    assert got.status() == sent.status()
    assert got.retry_after_seconds == 3


@pytest.mark.parametrize(
    ("response", "method", "code", "reason", "message"),
    [
        pytest.param(
            Response(502, b"bad gateway", content_type="text/plain"),
            "GET",
            502,
            "InternalError",
            'an error on the server ("bad gateway") has prevented the request from succeeding (get configmaps cart)',
            id="a proxy's text",
        ),
        pytest.param(
            Response(409, b"<html>", content_type="text/html"),
            "POST",
            409,
            "AlreadyExists",
            "the server reported a conflict (post configmaps cart)",
            id="conflict on create",
        ),
        pytest.param(
            Response(404, b"\x00", content_type="application/octet-stream"),
            "GET",
            404,
            "NotFound",
            "the server could not find the requested resource (get configmaps cart)",
            id="not found without a body to read",
        ),
        pytest.param(
            Response(418, b"{}"),
            "GET",
            418,
            "",
            "the server responded with the status code 418 but did not return more information (get configmaps cart)",
            id="a code without a reason",
        ),
    ],
)
def test_an_answer_without_a_status_is_read_by_its_code(
    response: Response, method: str, code: int, reason: str, message: str
) -> None:
    got = error_of_response(response, method, CONFIGMAPS.gr, "cart")
    assert (got.code, got.reason, got.message) == (code, reason, message)
    assert got.details["causes"][0]["reason"] == "UnexpectedServerResponse"


def test_an_answer_that_is_not_an_object_is_named_as_such() -> None:
    async def handler(_request: Request) -> Response:
        return Response(200, b"[1]")

    with pytest.raises(BadAnswer, match="not an object"):
        run(ResourceClient(client_of(handler), CONFIGMAPS, namespaced=True).get(KEY))


def watch_of(*pieces: bytes) -> list[WatchEvent]:
    """What a watch of these pieces yields."""

    async def write(sink: Sink) -> None:
        for piece in pieces:
            sink.write(Chunk(piece))

    async def handler(_request: Request) -> Response:
        return StreamResponse(write)

    async def main() -> list[WatchEvent]:
        async with ResourceClient(client_of(handler), CONFIGMAPS, namespaced=True).watch("shop") as events:
            return [event async for event in events]

    return run(main())


def test_events_are_read_however_the_stream_is_cut() -> None:
    text = b'{"type":"ADDED","object":{"a":1}}\n{"type":"DELETED","object":{"a":2}}\n'
    expected = [WatchEvent("ADDED", {"a": 1}), WatchEvent("DELETED", {"a": 2})]
    assert watch_of(text) == expected
    assert watch_of(*(text[i : i + 1] for i in range(len(text)))) == expected


@pytest.mark.parametrize(
    ("pieces", "error"),
    [
        pytest.param((b'{"type":"ADDED","obj',), StreamBroken, id="cut within an event"),
        pytest.param((b"nonsense\n",), BadAnswer, id="not JSON"),
        pytest.param((b'{"type":"ADDED"}\n',), BadAnswer, id="no object"),
        pytest.param((b'{"type":"ADDED","object":[]}\n',), BadAnswer, id="object is a list"),
        pytest.param((b"[]\n",), BadAnswer, id="not an event"),
    ],
)
def test_what_is_no_event_ends_the_watch_with_its_error(pieces: tuple[bytes, ...], error: type[Exception]) -> None:
    with pytest.raises(error):
        watch_of(*pieces)


def test_an_error_event_is_raised_with_its_code() -> None:
    with pytest.raises(APIError) as caught:
        watch_of(b'{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}}\n')
    assert (caught.value.code, caught.value.reason) == (410, "Expired")


def test_a_watch_asks_for_initial_events_bookmarks_and_metadata() -> None:
    server = SmallServer()

    async def main() -> None:
        client = ResourceClient(client_of(server.handle), CONFIGMAPS, namespaced=True)
        async with client.watch(
            "shop", label_selector="a", send_initial_events=True, timeout_seconds=300, metadata_only=True
        ) as events:
            assert (await anext(events)).type == "BOOKMARK"

    run(main())
    (request,) = server.requests
    assert dict(request.query) == {
        "watch": ["true"],
        "labelSelector": ["a"],
        "allowWatchBookmarks": ["true"],
        "sendInitialEvents": ["true"],
        "resourceVersionMatch": ["NotOlderThan"],
        "timeoutSeconds": ["300"],
    }
    assert request.headers["Accept"] == "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
