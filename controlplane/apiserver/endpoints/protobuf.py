"""Objects as protobuf answers.

What is kept on an entry is its **item**, from which an answer, a list and a watch event are each one join; see
``codec.protobuf.envelope``.
"""

from __future__ import annotations

from controlplane.apimachinery.codec.json import loads
from controlplane.apimachinery.codec.protobuf.envelope import TAIL, enclose, frame, head, item, list_pieces
from controlplane.apimachinery.codec.protobuf.message import Message
from controlplane.apimachinery.codec.protobuf.meta import SHARED
from controlplane.apimachinery.identity import GVK, Obj
from controlplane.apiserver.registry.table import Served

__all__ = ["ProtobufForm", "error_answer", "protobuf_form"]


class ProtobufForm:
    """The objects of one served version in protobuf: a ``storage.api.Representation``, and its own ``encoding``."""

    __slots__ = ("_head", "_list_head", "encoding", "signature", "version")
    plain = headed = metadata_alone = False

    def __init__(self, gvk: GVK, list_kind: str, message: Message) -> None:
        self.version, self.signature = gvk.version, f"{gvk.version};protobuf"
        self.encoding = ItemEncoding(message)
        self._head = head(gvk.api_version, gvk.kind)
        self._list_head = gvk.api_version, list_kind

    def encode(self, kept: bytes, *, first: bool = False) -> bytes:
        """An answer from an item."""
        return self._head + kept + TAIL

    def answer(self, served: bytes) -> bytes:
        """An answer from an object's JSON.

        Raises:
            NotMarshalable.
        """
        return self.encode(self.encoding.encode(served))

    def frame(self, event: bytes, answer: bytes) -> bytes:
        return frame(event, answer)

    def error(self, status: Obj) -> bytes:
        return error_answer(status)

    def list_answer(self, meta: Obj, batches: list[bytes]) -> list[bytes]:
        """A list, in pieces, from items that are joined already."""
        return list_pieces(*self._list_head, meta, batches)


class ItemEncoding:
    """From an object's JSON to its item."""

    __slots__ = ("_message",)
    name = "protobuf"

    def __init__(self, message: Message) -> None:
        self._message = message

    def encode(self, served: bytes) -> bytes:
        return item(self._message.encode(loads(served)))


def protobuf_form(served: Served) -> ProtobufForm:
    """The form of a resource's objects, of a version that has a message."""
    form: ProtobufForm | None = served.memo.get(ProtobufForm)
    if form is None:
        assert served.version.message is not None, "negotiation lets no protobuf through for kinds without"
        form = ProtobufForm(served.gvk, served.resource.list_kind, served.version.message)
        served.memo[ProtobufForm] = form
    return form


def error_answer(status: Obj) -> bytes:
    """A Status."""
    return enclose(status, SHARED["v1", "Status"])
