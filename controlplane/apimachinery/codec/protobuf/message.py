"""Messages: from JSON objects to Kubernetes' protobuf and back, by a table of field numbers; nothing is generated.

A message is compiled when it is described: a look-up by name finds what writes a field, one by tag what reads it, and
each way is one walk. What is written of fields that are missing is ready beforehand, so that an object costs what is in
it, not what could be.

A Go message writes every field that is no pointer, also the empty ones, which its JSON leaves out; so empty values are
left out when they are read, and written when they are missing, unless the field is a pointer in Go (``kept``). Fields
are written in the order of their numbers and maps in that of their keys, so that equal objects give equal bytes, the
same as upstream's. Unknown fields are passed over. Of a field that does not repeat the last value counts, and parts of
a message that come one by one are one message.

Source: the encoding of protobuf (protobuf.dev/programming-guides/encoding), as gogo's generator and the field options
of kubernetes' ``generated.proto`` files have it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from controlplane.apimachinery.codec.protobuf.scalars import TEXT, Scalar
from controlplane.apimachinery.codec.protobuf.wire import (
    BYTES,
    VARINT,
    MalformedProtobuf,
    delimited,
    read_length,
    read_varint,
    skip,
    tag,
)
from controlplane.apimachinery.identity import Obj

__all__ = ["MAX_LEVELS", "Field", "Message", "NotMarshalable", "Union", "list_message"]

MAX_LEVELS = 200
"""How deep messages may be in one another when they are read: a call needs some three levels of Python's stack for
each. Upstream has no limit, but neither a kind that needs a tenth of this, schemas of custom resources aside."""

_END_GROUP = 4
"""A wire type."""
_DOUBLE_BYTES = 8
_ONE_BYTE = 0x7F
"""The largest number that is one byte on the wire."""
_KEY, _VALUE = 0x0A, 0x12
"""The tags in an entry of a map."""
_GO_NAMES = {
    "$ref": "Ref",
    "$schema": "Schema",
    "apiVersion": "APIVersion",
    "apiVersions": "APIVersions",
    "apiGroup": "APIGroup",
    "apiGroups": "APIGroups",
    "caBundle": "CABundle",
    "id": "ID",
    "jsonPatch": "JSONPatch",
    "jsonPath": "JSONPath",
    "reportingComponent": "ReportingController",
    "uid": "UID",
    "url": "URL",
}
"""How errors name a field whose name is not just capitalised."""


class NotMarshalable(ValueError):
    """An object has a value of another type than its message has, or is nested too deep to be written."""


class Union(NamedTuple):
    """A message of which JSON shows one field's value: ``wrap`` makes the message's JSON from that value, ``unwrap``
    the other way round."""

    message: Message
    wrap: Callable[[Any], Obj]
    unwrap: Callable[[Obj], Any]


def list_message(name: str, kind: Scalar) -> Union:
    """A list where only a message can stand: as the value of a map, or where none differs from empty."""
    message = Message(name, {1: Field("items", kind, many=True)})
    return Union(message, lambda items: {"items": items}, lambda obj: obj.get("items", []))


class Field(NamedTuple):
    """One field. ``many``: it repeats; ``pairs``: it is a map with text for keys. ``kept``: it is a pointer in Go, so
    that also an empty value says something. Without a name it is a message whose fields stand in its place."""

    name: str
    type: Scalar | Message | Union
    many: bool = False
    pairs: bool = False
    kept: bool = False


class Message:
    """One message. ``name`` is that of the Go type, without its package. ``later`` defines it when it is first encoded
    or decoded: of many kinds none ever is."""

    __slots__ = ("_inlines", "_later", "_missing", "_readers", "_writers", "fields", "name")

    def __init__(
        self, name: str, fields: Mapping[int, Field] | None = None, *, later: Callable[[Message], None] | None = None
    ) -> None:
        self.name, self._later = name, later
        self.fields: dict[int, Field] = {}
        self._readers: dict[int, _Reader] = {}
        self._writers: dict[str, tuple[int, _Writer]] = {}
        self._inlines: list[tuple[int, _Writer]] = []
        self._missing: list[bytes] = []
        if fields is not None:
            self.define(fields)

    def define(self, fields: Mapping[int, Field]) -> None:
        """Say what its fields are, by number: once, after its making for a message that is inside itself."""
        for place, (number, field) in enumerate(sorted(fields.items())):
            self.fields[number] = field
            self._readers[number << 3 | _wire(field)] = _reader(field)
            head = tag(number, _wire(field))
            write = place, _writer(head, field)
            if field.name:
                self._writers[field.name] = write
            else:
                self._inlines.append(write)
            self._missing.append(_missing(head, field))

    def encode(self, obj: Obj) -> bytes:
        """The bytes of an object; fields that the message does not have are left out.

        Raises:
            NotMarshalable.
        """
        self.complete()
        try:
            return self.write(obj)
        except (AttributeError, LookupError, TypeError, ValueError, struct.error) as error:
            raise NotMarshalable(f"{self.name}: a value of another type than its message has: {error}") from error
        except RecursionError as error:
            raise NotMarshalable(f"{self.name}: nested too deep for protobuf") from error

    def decode(self, data: bytes) -> Obj:
        """The object in bytes.

        Raises:
            MalformedProtobuf.
        """
        self.complete()
        return self.read(data, 0, len(data), 1, {})

    def complete(self) -> None:
        """Define it now, if that was left for later."""
        if self._later is not None:
            self._later(self)
            self._later = None

    def write(self, obj: Obj) -> bytes:
        """As ``encode``, but whatever a wrong value raises."""
        parts = self._missing.copy()
        writers = self._writers
        for name, value in obj.items():
            if value is not None and name in writers:
                place, write = writers[name]
                parts[place] = write(value)
        for place, write in self._inlines:
            parts[place] = write(obj)
        return b"".join(parts)

    def read(self, data: bytes, at: int, end: int, level: int, obj: Obj) -> Obj:
        """Read what is between two indices into ``obj``, and return it. ``level``: 1 is a message in no other. Raises
        as ``decode``."""
        if level > MAX_LEVELS:
            raise MalformedProtobuf(f"messages may be nested at most {MAX_LEVELS} levels deep")
        readers = self._readers
        while at < end:
            head, start, at = data[at], at, at + 1
            if head > _ONE_BYTE:
                head, at = read_varint(data, start, end)
            take = readers.get(head)
            if take is None:
                at = self._pass_over(data, head, start, end)
                continue
            wire_type = head & 7
            if wire_type == BYTES:
                if at < end and data[at] <= _ONE_BYTE:
                    at, stop = at + 1, at + 1 + data[at]
                else:
                    at, stop = read_length(data, at, end)
            elif wire_type == VARINT:
                _, stop = read_varint(data, at, end)
            else:
                stop = at + _DOUBLE_BYTES
            if stop > end:
                raise MalformedProtobuf("unexpected EOF")
            take(obj, data, at, stop, level)
            at = stop
        return obj

    def _pass_over(self, data: bytes, head: int, start: int, end: int) -> int:
        """Refuse a field of another type, or a tag that no message can have; pass over one that is not known."""
        number, wire_type = head >> 3 & 0xFFFFFFFF, head & 7
        if wire_type == _END_GROUP:
            raise MalformedProtobuf(f"proto: {self.name}: wiretype end group for non-group")
        if not 0 < number < 1 << 31:
            shown = number - (1 << 32) if number else 0
            raise MalformedProtobuf(f"proto: {self.name}: illegal tag {shown} (wire type {head})")
        if number in self.fields:
            raise MalformedProtobuf(f"proto: wrong wireType = {wire_type} for field {_go_name(self.fields[number])}")
        return skip(data, start, end)


def _go_name(field: Field) -> str:
    """How upstream's errors name a field."""
    name = field.name
    if not name:
        assert isinstance(field.type, Message)
        return field.type.name
    if name == "metadata" and isinstance(field.type, Message):
        return field.type.name
    parts = name.replace("x-kubernetes", "x").split("-")
    return _GO_NAMES.get(name) or "".join(part[:1].upper() + part[1:] for part in parts)


_Reader = Callable[[Obj, bytes, int, int, int], None]
"""Takes a field's value into an object, from between two indices, in a message of this level."""
_ReadValue = Callable[[bytes, int, int, int], Any]
"""Makes a value."""


def _wire(field: Field) -> int:
    return field.type.wire if isinstance(field.type, Scalar) and not field.pairs else BYTES


def _value_reader(kind: Scalar | Message | Union) -> _ReadValue:
    if isinstance(kind, Message):
        read_message = kind.read
        return lambda data, at, stop, level: read_message(data, at, stop, level + 1, {})
    if isinstance(kind, Scalar):
        read = kind.read
        if kind.wire == VARINT:
            return lambda data, at, stop, _level: read(read_varint(data, at, stop)[0])
        return lambda data, at, stop, _level: read(data[at:stop])
    read_union, unwrap = kind.message.read, kind.unwrap
    return lambda data, at, stop, level: unwrap(read_union(data, at, stop, level + 1, {}))


def _reader(field: Field) -> _Reader:
    """What reads one field of an object."""
    kind, name, read = field.type, field.name, _value_reader(field.type)
    if isinstance(kind, Message) and not (field.many or field.pairs):
        return _message_reader(kind, name)
    if field.pairs:
        return _pairs_reader(name, read)
    if field.many:
        return lambda obj, data, at, stop, level: obj.setdefault(name, []).append(read(data, at, stop, level))
    kept = field.kept or isinstance(kind, Union)

    def take(obj: Obj, data: bytes, at: int, stop: int, level: int) -> None:
        value = read(data, at, stop, level)
        if value or (kept and value is not None):
            obj[name] = value
        else:
            obj.pop(name, None)

    return take


def _message_reader(message: Message, name: str) -> _Reader:
    read = message.read
    if not name:

        def take_inline(obj: Obj, data: bytes, at: int, stop: int, level: int) -> None:
            read(data, at, stop, level + 1, obj)

        return take_inline

    def take(obj: Obj, data: bytes, at: int, stop: int, level: int) -> None:
        obj[name] = read(data, at, stop, level + 1, obj.get(name) or {})

    return take


def _pairs_reader(name: str, read: _ReadValue) -> _Reader:
    """Of a map, of which each entry is a message of key and value, each empty if it is missing."""

    def take(obj: Obj, data: bytes, at: int, stop: int, level: int) -> None:
        key, value_at, value_stop, source = "", 0, 0, b""
        while at < stop:
            head, start = read_varint(data, at, stop)
            if head == _KEY:
                start, at = read_length(data, start, stop)
                key = TEXT.read(data[start:at])
            elif head == _VALUE:
                value_at, at = read_length(data, start, stop)
                value_stop, source = at, data
            else:
                at = skip(data, at, stop)
        obj.setdefault(name, {})[key] = read(source, value_at, value_stop, level)

    return take


_Writer = Callable[[Any], bytes]
"""Makes the bytes of a field, its tag included."""


def _value_writer(kind: Scalar | Message | Union) -> Callable[[Any], bytes]:
    """What makes the bytes after a tag."""
    if isinstance(kind, Scalar):
        return kind.write
    if isinstance(kind, Message):
        write = kind.write
        return lambda value: delimited(write(value))
    write_union, wrap = kind.message.write, kind.wrap
    return lambda value: delimited(write_union(wrap(value)))


def _writer(head: bytes, field: Field) -> _Writer:
    """What writes one field from its value, or from the whole object if it has no name."""
    write = _value_writer(field.type)
    if field.pairs:
        key = TEXT.write
        return lambda pairs: b"".join(
            [head + delimited(b"\x0a" + key(name) + b"\x12" + write(pairs[name])) for name in sorted(pairs)]
        )
    if field.many:
        return lambda values: b"".join([head + write(value) for value in values])
    return lambda value: head + write(value)


def _missing(head: bytes, field: Field) -> bytes:
    """What is written of a field that an object does not have."""
    if field.kept or field.many or field.pairs or not field.name:
        return b""
    if isinstance(field.type, Scalar):
        return head + field.type.empty if field.type.empty else b""
    return head + _value_writer(field.type)({})
