"""A small API server for tests of clients: a ``Handler`` that can be made to fail in ways the real one is built not to.

Where it lies: no authentication, validation, defaulting, selectors, admission, subresource rules or negotiation;
patches replace top-level fields; one revision counter in memory; unpaced watches. What needs none of the faults below
is tested against the real server.

Faults: ``interfere`` answers in place of the server; ``end_streams`` ends all watches; ``compact`` forgets history;
``watch_list`` chooses how ``sendInitialEvents`` is taken; ``bookmark`` sends one to all watches.
"""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Callable
from typing import Any, NamedTuple

from controlplane.apimachinery import status
from controlplane.apimachinery.codec.json import dumps, loads
from controlplane.apimachinery.identity import GroupResource, Obj
from controlplane.client.request import Chunk, Request, Response, Sink, StreamResponse
from controlplane.client.request_info import RequestInfo, parse_request_info

__all__ = ["SmallServer"]

INITIAL_EVENTS_END = {"k8s.io/initial-events-end": "true"}


class Change(NamedTuple):
    revision: int
    resource: str
    type: str
    obj: Obj


class OpenWatch(NamedTuple):
    resource: str
    namespace: str
    sink: Sink
    ended: asyncio.Future[None]


class SmallServer:
    """State and behaviour; ``handle`` is the handler. ``requests`` are those that came, in order."""

    def __init__(self, *, watch_list: str = "served") -> None:
        self.revision = 100
        self.objects: dict[tuple[str, str, str], Obj] = {}
        self.history: list[Change] = []
        self.compacted = 0
        self.watch_list = watch_list
        """``served``, ``refused`` (422) or ``ignored`` (as servers before the feature do)."""
        self.requests: list[Request] = []
        self.watches: list[OpenWatch] = []
        self.interfere: Callable[[Request, RequestInfo], Response | None] = lambda _request, _info: None

    # -- what tests do to it ---------------------------------------------------------------------------------------

    def put(self, resource: str, name: str, namespace: str = "", **fields: Any) -> Obj:
        """Write an object as some other client would."""
        key = (resource, namespace, name)
        old = self.objects.get(key)
        meta = {"name": name, "uid": f"uid-{self.revision}", **({"namespace": namespace} if namespace else {})}
        if old is not None:
            meta["uid"] = old["metadata"]["uid"]
        obj = {"apiVersion": "v1", "kind": resource.title().removesuffix("s"), "metadata": meta, **fields}
        return self._commit(key, obj, "ADDED" if old is None else "MODIFIED")

    def remove(self, resource: str, name: str, namespace: str = "") -> None:
        """Delete an object as some other client would."""
        key = (resource, namespace, name)
        self._commit(key, copy.deepcopy(self.objects[key]), "DELETED")

    def compact(self) -> None:
        """Forget all history up to now."""
        self.compacted = self.revision
        self.history.clear()

    def end_streams(self, error: Exception | None = None) -> None:
        """End all open watches: as their timeout does, or by an error, as a lost connection does."""
        watches, self.watches = self.watches, []
        for watch in watches:
            if error is None:
                watch.ended.set_result(None)
            else:
                watch.ended.set_exception(error)

    def bookmark(self) -> None:
        """Tell all watches the revision."""
        for watch in self.watches:
            self._send(watch.sink, "BOOKMARK", self._bookmark({}))

    # -- the server ------------------------------------------------------------------------------------------------

    async def handle(self, request: Request) -> Response:
        self.requests.append(request)
        info = parse_request_info(request.method, request.path, request.query_string)
        try:
            answer = self.interfere(request, info)
            return answer if answer is not None else await self._serve(request, info)
        except status.APIError as e:
            headers = [("Retry-After", str(e.retry_after_seconds))] if e.retry_after_seconds else []
            return Response(e.code, dumps(e.status()), headers=headers)

    async def _serve(self, request: Request, info: RequestInfo) -> Response:
        key = (info.resource, info.namespace, info.name)
        gr = GroupResource(info.group, info.resource)
        match info.verb:
            case "list":
                return self._list(request, info)
            case "watch":
                return self._watch(request, info)
            case "create":
                obj = loads(await request.body())
                key = (info.resource, info.namespace, obj["metadata"]["name"])
                if key in self.objects:
                    raise status.already_exists(gr, key[2])
                obj["metadata"]["uid"] = f"uid-{self.revision}"
                return Response(201, dumps(self._commit(key, obj, "ADDED")))
            case "get" | "update" | "patch" | "delete" if key not in self.objects:
                raise status.not_found(gr, info.name)
            case "get":
                return Response(200, dumps(self.objects[key]))
            case "update":
                obj = loads(await request.body())
                expected = obj["metadata"].get("resourceVersion")
                if expected and expected != self.objects[key]["metadata"]["resourceVersion"]:
                    raise status.conflict(gr, info.name, "the object has been modified")
                return Response(200, dumps(self._commit(key, obj, "MODIFIED")))
            case "patch":
                obj = copy.deepcopy(self.objects[key]) | loads(await request.body())
                return Response(200, dumps(self._commit(key, obj, "MODIFIED")))
            case "delete":
                self.remove(info.resource, info.name, info.namespace)
                return Response(200, dumps({"kind": "Status", "apiVersion": "v1", "status": "Success"}))
            case verb:
                raise status.method_not_supported(gr, verb)

    def _commit(self, key: tuple[str, str, str], obj: Obj, event: str) -> Obj:
        self.revision += 1
        obj["metadata"]["resourceVersion"] = str(self.revision)
        if event == "DELETED":
            del self.objects[key]
        else:
            self.objects[key] = obj
        change = Change(self.revision, key[0], event, copy.deepcopy(obj))
        self.history.append(change)
        for watch in self.watches:
            if watch.resource == key[0] and watch.namespace in ("", key[1]):
                self._send(watch.sink, event, change.obj)
        return obj

    def _matching(self, info: RequestInfo) -> list[Obj]:
        return [
            obj
            for (resource, namespace, _), obj in sorted(self.objects.items())
            if resource == info.resource and info.namespace in ("", namespace)
        ]

    def _list(self, request: Request, info: RequestInfo) -> Response:
        limit, token = int(request.query.first("limit", "0")), request.query.first("continue")
        start, revision = json.loads(token) if token else (0, self.revision)
        if token and revision < self.compacted:
            raise status.expired("The provided continue parameter is too old")
        items = self._matching(info)
        page = items[start : start + limit] if limit else items[start:]
        list_meta: Obj = {"resourceVersion": str(revision)}
        if limit and start + limit < len(items):
            list_meta |= {"continue": json.dumps([start + limit, revision]), "remainingItemCount": len(items) - start}
        bare = [{k: v for k, v in item.items() if k not in ("kind", "apiVersion")} for item in page]
        kind = info.resource.title().removesuffix("s")
        return Response(200, dumps({"kind": f"{kind}List", "apiVersion": "v1", "metadata": list_meta, "items": bare}))

    def _watch(self, request: Request, info: RequestInfo) -> Response:
        after = request.query.first("resourceVersion")
        initial = request.query.flag("sendInitialEvents")
        if initial and self.watch_list == "refused":
            raise status.APIError(422, "Invalid", "sendInitialEvents: Forbidden: is forbidden for watch")
        state = self._matching(info) if initial or after in ("", "0") else []

        async def run(sink: Sink) -> None:
            if not initial and after not in ("", "0") and int(after) < self.compacted:
                self._send(sink, "ERROR", status.expired("The resourceVersion for the watch is too old.").status())
                return
            for obj in state:
                self._send(sink, "ADDED", obj)
            if initial and self.watch_list == "served":
                self._send(sink, "BOOKMARK", self._bookmark(INITIAL_EVENTS_END))
            if not state and after not in ("", "0"):
                for change in self.history:
                    if change.revision > int(after) and change.resource == info.resource:
                        self._send(sink, change.type, change.obj)
            ended = asyncio.get_running_loop().create_future()
            watch = OpenWatch(info.resource, info.namespace, sink, ended)
            self.watches.append(watch)
            try:
                await ended
            finally:
                if watch in self.watches:
                    self.watches.remove(watch)

        return StreamResponse(run)

    def _bookmark(self, annotations: dict[str, str]) -> Obj:
        list_meta = {"resourceVersion": str(self.revision), **({"annotations": annotations} if annotations else {})}
        return {"kind": "X", "apiVersion": "v1", "metadata": list_meta}

    @staticmethod
    def _send(sink: Sink, event: str, obj: Obj) -> None:
        sink.write(Chunk(dumps({"type": event, "object": obj}) + b"\n"))
