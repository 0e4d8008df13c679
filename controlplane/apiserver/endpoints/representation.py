"""The forms in which objects leave: as they are, as a Table for people, or as their metadata alone.

Each is a ``Representation`` that starts from the served JSON of one object, so that watches share encoded frames among
all who asked for the same form; lists are put together from the same pieces.

Source: kubernetes/apiserver ``pkg/endpoints/handlers/response.go``; kubernetes/apimachinery ``pkg/apis/meta/v1``
(Table, PartialObjectMetadata).
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Protocol

from controlplane.apimachinery.codec.json import dumps, loads
from controlplane.apimachinery.codec.objects import decode_metadata
from controlplane.apimachinery.codec.protobuf.envelope import enclose, frame
from controlplane.apimachinery.codec.protobuf.meta import SHARED
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.meta import creation_timestamp, metadata, name
from controlplane.apimachinery.resource import Column
from controlplane.apimachinery.status import bad_request, not_acceptable
from controlplane.apiserver.endpoints.protobuf import error_answer, protobuf_form
from controlplane.apiserver.registry.table import Served
from controlplane.base.clock import Clock
from controlplane.client.negotiation import PROTOBUF, Answer, Conversion
from controlplane.client.request import Request
from controlplane.storage.api import Encoding, Representation

__all__ = ["ListForm", "Plain", "represent_list", "represent_object"]

DEFAULT_COLUMNS = (
    Column(name="Name", cell=name, format="name", description="The object's name, unique in its namespace."),
    Column(
        name="Created At",
        cell=creation_timestamp,
        type="date",
        description="When the object was stored, server's time.",
    ),
)
"""Of resources that define none."""


class ListForm(Protocol):
    """A form of a whole list: what kind it is, and what each object becomes in it."""

    def item(self, obj: Obj) -> Obj:
        """What an object, which may be taken apart for it, becomes in the list."""

    def list_of(self, meta: Obj, items: list[Obj]) -> Obj:
        """The list, from its metadata and its items, which are its last field."""


class JSONLines:
    """Events as lines of JSON."""

    __slots__ = ()
    encoding: Encoding | None = None
    plain = headed = metadata_alone = False

    def frame(self, event: bytes, answer: bytes) -> bytes:
        return b'{"type":"%b","object":%b}\n' % (event, answer)

    def error(self, status: Obj) -> bytes:
        return dumps(status)


class Plain(JSONLines):
    """The served JSON as it is."""

    __slots__ = ("signature", "version")
    plain = True

    def __init__(self, version: str) -> None:
        self.version, self.signature = version, version

    def encode(self, kept: bytes, *, first: bool = False) -> bytes:
        return kept


class MetadataForm(JSONLines):
    """Metadata alone, as PartialObjectMetadata of ``meta_version`` of meta.k8s.io."""

    __slots__ = ("_api_version", "signature", "version")
    metadata_alone = True

    def __init__(self, version: str, meta_version: str) -> None:
        self.version, self._api_version = version, f"meta.k8s.io/{meta_version}"
        self.signature = f"{version};metadata;{meta_version}"

    def item(self, obj: Obj) -> Obj:
        return self.of(metadata(obj))

    def of(self, meta: Obj) -> Obj:
        return {"kind": "PartialObjectMetadata", "apiVersion": self._api_version, "metadata": meta}

    def encode(self, kept: bytes, *, first: bool = False) -> bytes:
        return dumps(self.of(decode_metadata(kept)))

    def list_of(self, meta: Obj, items: list[Obj]) -> Obj:
        return {
            "kind": "PartialObjectMetadataList",
            "apiVersion": self._api_version,
            "metadata": meta,
            "items": items,
        }


class ProtobufMetadataForm(MetadataForm):
    """The same in protobuf."""

    __slots__ = ()

    def __init__(self, version: str, meta_version: str) -> None:
        super().__init__(version, meta_version)
        self.signature += ";protobuf"

    def encode(self, kept: bytes, *, first: bool = False) -> bytes:
        return enclose(self.of(decode_metadata(kept)), SHARED["meta.k8s.io/v1", "PartialObjectMetadata"])

    def frame(self, event: bytes, answer: bytes) -> bytes:
        return frame(event, answer)

    def error(self, status: Obj) -> bytes:
        return error_answer(status)


class TableForm(JSONLines):
    """Rows and columns. ``include``: what of the object each row holds, ``Metadata``, ``Object`` or ``None``. Ages are
    those at the time of encoding, by ``clock``."""

    __slots__ = ("_api_version", "_clock", "_columns", "_include", "_metadata", "signature", "version")
    headed = True

    def __init__(self, served: Served, meta_version: str, include: str, clock: Clock) -> None:
        self._clock = clock
        self.version, self._api_version = served.version.name, f"meta.k8s.io/{meta_version}"
        self._columns = served.version.columns or DEFAULT_COLUMNS
        self._include, self._metadata = include, MetadataForm(self.version, meta_version)
        self.signature = f"{self.version};table;{meta_version};{include}"

    def encode(self, kept: bytes, *, first: bool = False) -> bytes:
        obj = loads(kept)
        revision = metadata(obj).get("resourceVersion")
        meta: Obj = {"resourceVersion": revision} if revision else {}
        return dumps(self._table(meta, [self.item(obj)], headed=first))

    def item(self, obj: Obj) -> Obj:
        now = datetime.fromtimestamp(self._clock.now(), UTC)
        return {"cells": [column.value(obj, now) for column in self._columns], "object": self._object(obj)}

    def list_of(self, meta: Obj, items: list[Obj]) -> Obj:
        return self._table(meta, items, headed=True)

    def _table(self, meta: Obj, rows: list[Obj], *, headed: bool) -> Obj:
        return {
            "kind": "Table",
            "apiVersion": self._api_version,
            "metadata": meta,
            "columnDefinitions": [_definition(column) for column in self._columns] if headed else None,
            "rows": rows,
        }

    def _object(self, obj: Obj) -> Obj | None:
        if self._include == "None":
            return None
        return obj if self._include == "Object" else self._metadata.item(obj)


def _definition(column: Column) -> dict[str, Any]:
    return {
        "name": column.name,
        "type": column.type,
        "format": column.format,
        "description": column.description,
        "priority": column.priority,
    }


def represent_object(request: Request, served: Served, answer: Answer, clock: Clock) -> Representation:
    """The form of one object, in an answer that is no YAML.

    Raises:
        APIError: 406, it was asked for as a list; 400, a bad ``includeObject``.
    """
    conversion = answer.conversion
    if conversion is None:
        return protobuf_form(served) if answer.media_type == PROTOBUF else Plain(served.version.name)
    if conversion.kind == "PartialObjectMetadataList":
        raise not_acceptable(f"you requested {conversion.kind}, but the requested object is not a list")
    if answer.media_type == PROTOBUF:
        return ProtobufMetadataForm(served.version.name, conversion.version)
    return _form(request, served, conversion, clock)


def represent_list(request: Request, served: Served, conversion: Conversion, clock: Clock) -> ListForm:
    """The form of a list. Raises as ``represent_object``, for a single object's form."""
    if conversion.kind == "PartialObjectMetadata":
        raise not_acceptable(f"you requested {conversion.kind}, but the requested object is a list")
    return _form(request, served, conversion, clock)


def _form(request: Request, served: Served, conversion: Conversion, clock: Clock) -> MetadataForm | TableForm:
    if conversion.kind != "Table":
        return MetadataForm(served.version.name, conversion.version)
    include = request.query.first("includeObject") or "Metadata"
    if include not in ("Metadata", "Object", "None"):
        raise bad_request(
            f'Unable to convert to Table as requested: includeObject: Invalid value: "{include}": '
            "must be 'Metadata', 'Object', 'None', or empty"
        )
    return TableForm(served, conversion.version, include, clock)
