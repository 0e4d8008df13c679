"""A small client that speaks protobuf only, by google.protobuf and the numbers of ``kubernetes.proto``: as Go clients
that prefer it do."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, NamedTuple

from tests.integration.plane import Plane
from tests.property.protobuf_reference import empty, from_json, to_json

__all__ = ["PROTOBUF", "Answer", "ProtobufClient", "unwrap", "wrap"]

PROTOBUF = "application/vnd.kubernetes.protobuf"
MAGIC = b"k8s\x00"


class Answer(NamedTuple):
    """``message`` is the content of the envelope, with its apiVersion and kind."""

    status: int
    content_type: str
    api_version: str
    kind: str
    message: bytes

    def json(self, reference: str) -> Any:
        """The content as JSON; complains if it lacks a field that Go always writes."""
        return _parsed(reference, self.message)

    def items(self, reference: str) -> tuple[Any, list[Any]]:
        """The metadata and items of a list."""
        return split_list(self.message, reference)


def _parsed(reference: str, raw: bytes) -> Any:
    message = empty(reference)
    message.ParseFromString(raw)
    return to_json(message)


def split_list(raw: bytes, reference: str) -> tuple[Any, list[Any]]:
    """Field 1 and the fields 2 of a message."""
    metadata, items, at = None, [], 0
    while at < len(raw):
        number, at = raw[at] >> 3, at + 1
        size = shift = 0
        while True:
            byte, at = raw[at], at + 1
            size |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        value, at = raw[at : at + size], at + size
        if number == 1:
            metadata = _parsed("meta_ListMeta", value)
        else:
            items.append(_parsed(reference, value))
    return metadata, items


def wrap(api_version: str, kind: str, message: bytes) -> bytes:
    """An object in its envelope."""
    unknown: Any = empty("runtime_Unknown")
    unknown.typeMeta.apiVersion, unknown.typeMeta.kind = api_version, kind
    unknown.raw, unknown.contentEncoding, unknown.contentType = message, "", ""
    raw: bytes = unknown.SerializeToString()
    return MAGIC + raw


def unwrap(raw: bytes) -> tuple[str, str, bytes]:
    """An envelope's apiVersion, kind and content."""
    assert raw.startswith(MAGIC), raw
    unknown: Any = empty("runtime_Unknown")
    unknown.ParseFromString(raw[len(MAGIC) :])
    return unknown.typeMeta.apiVersion, unknown.typeMeta.kind, unknown.raw


def _event(raw: bytes, status: int, content_type: str) -> tuple[str, Answer]:
    event: Any = empty("meta_WatchEvent")
    event.ParseFromString(raw)
    return event.type, Answer(status, content_type, *unwrap(event.object.raw))


class ProtobufClient:
    """Sends and accepts nothing but protobuf."""

    def __init__(self, plane: Plane) -> None:
        self._plane = plane

    async def call(
        self, method: str, path: str, body: bytes | None = None, *, accept: str = PROTOBUF, content_type: str = PROTOBUF
    ) -> Answer:
        headers = {"Accept": accept, "Content-Type": content_type}
        url = self._plane.running.url + path
        async with self._plane.http.request(
            method, url, data=body, ssl=self._plane.admin_tls, headers=headers
        ) as response:
            return Answer(response.status, response.headers["Content-Type"], *unwrap(await response.read()))

    async def send(self, method: str, path: str, obj: Any, reference: str) -> Answer:
        """Create or replace an object that is given as JSON."""
        raw = from_json(reference, obj).SerializeToString()
        return await self.call(method, path, wrap(obj["apiVersion"], obj["kind"], raw))

    async def watch(self, path: str, *, accept: str = f"{PROTOBUF};stream=watch") -> AsyncGenerator[tuple[str, Answer]]:
        """The events of a watch, by their types."""
        url = self._plane.running.url + path
        async with self._plane.http.get(url, ssl=self._plane.admin_tls, headers={"Accept": accept}) as response:
            while size := await response.content.read(4):
                size += await response.content.readexactly(4 - len(size)) if len(size) < 4 else b""
                raw = await response.content.readexactly(int.from_bytes(size, "big"))
                yield _event(raw, response.status, response.headers["Content-Type"])

    async def watch_messages(self, path: str) -> AsyncGenerator[tuple[str, Answer]]:
        """The same over a WebSocket, where each event is a message."""
        headers = {"Accept": f"{PROTOBUF};stream=watch", "Origin": "http://localhost"}
        url = self._plane.running.url + path
        async with self._plane.http.ws_connect(url, ssl=self._plane.admin_tls, headers=headers) as socket:
            while True:
                yield _event(await socket.receive_bytes(), 101, "")
