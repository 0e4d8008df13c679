"""What is around messages: the envelope that says what is in it, lists, and the frames of a watch.

An object as an answer is ``k8s`` and a zero byte, then a runtime.Unknown: apiVersion and kind, the object's message, an
empty content encoding and content type. The message is its field 2, and the items of a list are field 2 of the list, so
an **item** (that field's tag, its length, the message) is ready for both: an object is a constant head, its item and a
constant tail; a list joins items.

A watch is WatchEvents, each behind its length in four bytes. Its object is the answer of a GET.

Source: kubernetes/apimachinery ``pkg/runtime/serializer/protobuf``, ``pkg/util/framer``.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from controlplane.apimachinery.codec.protobuf.message import Field, Message
from controlplane.apimachinery.codec.protobuf.meta import LIST_META
from controlplane.apimachinery.codec.protobuf.scalars import TEXT, Scalar
from controlplane.apimachinery.codec.protobuf.wire import BYTES, MalformedProtobuf, delimited, varint
from controlplane.apimachinery.identity import Obj

__all__ = ["TAIL", "Envelope", "enclose", "frame", "head", "item", "list_pieces", "open_envelope"]

_MAGIC = b"k8s\x00"
_ITEM = b"\x12"
TAIL = b"\x1a\x00\x22\x00"
"""What follows an item in an answer."""


class Envelope(NamedTuple):
    """``api_version`` and ``kind`` may be empty: the receiver knows what it expects."""

    api_version: str
    kind: str
    message: bytes


def item(message: bytes) -> bytes:
    """A message as the content of an envelope, or of a list."""
    return _ITEM + delimited(message)


@lru_cache(maxsize=1024)
def head(api_version: str, kind: str) -> bytes:
    """What precedes an item in an answer."""
    return _MAGIC + b"\x0a" + delimited(_TYPE_META.encode({"apiVersion": api_version, "kind": kind}))


def enclose(obj: Obj, message: Message) -> bytes:
    """An object as an answer.

    Raises:
        NotMarshalable.
    """
    type_head = head(obj.get("apiVersion", ""), obj.get("kind", ""))
    return type_head + item(message.encode(obj)) + TAIL


def list_pieces(api_version: str, kind: str, meta: Obj, batches: Iterable[bytes]) -> list[bytes]:
    """A list as an answer, in pieces; ``batches`` are items, any number of them joined in one."""
    pieces = [b"\x0a" + delimited(LIST_META.encode(meta)), *batches]
    size_bytes = sum(map(len, pieces))
    return [head(api_version, kind) + _ITEM + varint(size_bytes), *pieces, TAIL]


def frame(event: bytes, answer: bytes) -> bytes:
    """An event of a watch: its type, and an object as an answer."""
    message = b"\x0a" + delimited(event) + _ITEM + delimited(b"\x0a" + delimited(answer))
    return len(message).to_bytes(4, "big") + message


def open_envelope(raw: bytes) -> Envelope:
    """What is in an answer, or in the body of a request.

    Raises:
        MalformedProtobuf: it is none, or its content is encoded in a further way.
    """
    if not raw:
        raise MalformedProtobuf("empty data")
    if not raw.startswith(_MAGIC):
        raise MalformedProtobuf(
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
        )
    if len(raw) == len(_MAGIC):
        raise MalformedProtobuf("empty body")
    envelope = _UNKNOWN.decode(raw[len(_MAGIC) :])
    if envelope.get("contentEncoding"):
        raise MalformedProtobuf(f"unsupported content encoding: {envelope['contentEncoding']}")
    type_meta = envelope.get("typeMeta", {})
    return Envelope(type_meta.get("apiVersion", ""), type_meta.get("kind", ""), envelope.get("raw", b""))


_MESSAGE = Scalar(BYTES, bytes, delimited, b"")
_TYPE_META = Message("TypeMeta", {1: Field("apiVersion", TEXT), 2: Field("kind", TEXT)})
_UNKNOWN = Message(
    "Unknown",
    {
        1: Field("typeMeta", _TYPE_META),
        2: Field("raw", _MESSAGE),
        3: Field("contentEncoding", TEXT),
        4: Field("contentType", TEXT),
    },
)
