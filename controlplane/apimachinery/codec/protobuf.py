"""Kubernetes' protobuf bodies to JSON values: Go clients and kubectl send built-in kinds in this form.

Only reading: answers are JSON, which the same clients accept. A kind describes its message by a table of field numbers;
nothing is generated.

A Go message writes every field that is no pointer, also the empty ones, which its JSON leaves out; so empty values are
left out here too, unless the field is a pointer in Go (``kept``).

Source: the encoding of protobuf (protobuf.dev/programming-guides/encoding), the envelope of
kubernetes/apimachinery ``pkg/runtime/serializer/protobuf``, field numbers of its ``generated.proto`` files.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from controlplane.apimachinery.codec.json import loads
from controlplane.apimachinery.identity import Obj

__all__ = [
    "DELETE_OPTIONS",
    "OBJECT_META",
    "Field",
    "MalformedProtobuf",
    "Message",
    "blob",
    "decode_envelope",
    "flag",
    "micro_time",
    "nested",
    "number",
    "text",
    "time",
]

MAGIC = b"k8s\x00"


class MalformedProtobuf(ValueError):
    """The bytes are not such a message; the message says what is wrong."""


class Field(NamedTuple):
    """One field. ``read`` makes its JSON value from the wire's (an int, or bytes); ``many``: it repeats; ``pairs``: it
    is a map. ``kept``: also an empty value says something.
    Without a name it is a message whose fields stand in its place."""

    name: str
    read: Callable[[Any], Any]
    many: bool = False
    pairs: bool = False
    kept: bool = False


Message = Mapping[int, Field]
"""By field number."""


def decode_envelope(raw: bytes, message: Message) -> Obj:
    """The object in an enveloped body, with the ``apiVersion`` and ``kind`` that the envelope names.

    Raises:
        MalformedProtobuf.
    """
    if not raw.startswith(MAGIC):
        raise MalformedProtobuf(
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
        )
    envelope = _read(raw[len(MAGIC) :], _UNKNOWN)
    if envelope.get("contentEncoding"):
        raise MalformedProtobuf(f"unsupported content encoding: {envelope['contentEncoding']}")
    obj: Obj = {key: value for key, value in envelope.get("typeMeta", {}).items() if value}
    obj.update(_read(envelope.get("raw", b""), message))
    return obj


def text(value: Any) -> str:
    """A string."""
    try:
        return _bytes(value).decode()
    except UnicodeDecodeError as error:
        raise MalformedProtobuf("a string is not UTF-8") from error


def number(value: Any) -> int:
    """A signed integer of up to 64 bits (in two's complement on the wire)."""
    if not isinstance(value, int):
        raise MalformedProtobuf("a number is not a varint")
    return value - (1 << 64) if value >= 1 << 63 else value


def flag(value: Any) -> bool:
    return bool(number(value))


def blob(value: Any) -> str:
    """Bytes, as JSON has them."""
    return b64encode(_bytes(value)).decode()


def time(value: Any) -> str | None:
    """A time in whole seconds; None for the zero time, which is an empty message."""
    seconds = _read(_bytes(value), _TIME).get("seconds")
    return None if seconds is None else _instant(seconds).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_time(value: Any) -> str | None:
    """A time with microseconds."""
    parts = _read(_bytes(value), _TIME)
    if "seconds" not in parts:
        return None
    instant = _instant(parts["seconds"]).replace(microsecond=parts.get("nanos", 0) // 1000 % 1_000_000)
    return instant.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def nested(message: Message) -> Callable[[Any], Obj]:
    """A message in a message."""
    return lambda value: _read(_bytes(value), message)


def _raw_bytes(value: Any) -> bytes:
    return _bytes(value)


def _raw_json(value: Any) -> Any:
    """FieldsV1: JSON in the only field of a message."""
    return loads(_read(_bytes(value), _FIELDS_V1).get("Raw", b"{}"))


def _instant(seconds: int) -> datetime:
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError) as error:
        raise MalformedProtobuf(f"a time is out of range: {seconds}") from error


def _bytes(value: Any) -> bytes:
    if not isinstance(value, bytes):
        raise MalformedProtobuf("a field is not length-delimited")
    return value


def _read(raw: bytes, message: Message) -> Obj:
    """Fields by name; unknown numbers are passed over, as protobuf has it."""
    obj: Obj = {}
    for field_number, value in _fields(raw):
        field = message.get(field_number)
        if field is None:
            continue
        if field.pairs:
            entry = dict(_fields(_bytes(value)))
            obj.setdefault(field.name, {})[text(entry.get(1, b""))] = field.read(entry.get(2, b""))
        elif not field.name:
            obj.update(field.read(value))
        elif field.many:
            obj.setdefault(field.name, []).append(field.read(value))
        else:
            made = field.read(value)
            if made is not None and (field.kept or made or isinstance(made, dict)):
                obj[field.name] = made
    return obj


def _fields(raw: bytes) -> Iterator[tuple[int, int | bytes]]:
    at = 0
    while at < len(raw):
        tag, at = _varint(raw, at)
        wire_type = tag & 7
        if wire_type == 0:
            value: int | bytes
            value, at = _varint(raw, at)
        elif wire_type in _FIXED_BYTES:
            value, at = _slice(raw, at, _FIXED_BYTES[wire_type])
        elif wire_type == 2:
            size, at = _varint(raw, at)
            value, at = _slice(raw, at, size)
        else:
            raise MalformedProtobuf(f"wire type {wire_type} is not known")
        yield tag >> 3, value


_FIXED_BYTES = {1: 8, 5: 4}


def _slice(raw: bytes, at: int, size: int) -> tuple[bytes, int]:
    if at + size > len(raw):
        raise MalformedProtobuf("unexpected EOF")
    return raw[at : at + size], at + size


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(raw):
            raise MalformedProtobuf("unexpected EOF")
        byte = raw[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at
    raise MalformedProtobuf("a varint is longer than 64 bits")


_TIME: Message = {1: Field("seconds", number, kept=True), 2: Field("nanos", number)}
_FIELDS_V1: Message = {1: Field("Raw", _raw_bytes)}
_TYPE_META: Message = {1: Field("apiVersion", text), 2: Field("kind", text)}
_UNKNOWN: Message = {
    1: Field("typeMeta", nested(_TYPE_META)),
    2: Field("raw", _raw_bytes),
    3: Field("contentEncoding", text),
}
_OWNER_REFERENCE: Message = {
    5: Field("apiVersion", text, kept=True),
    1: Field("kind", text, kept=True),
    3: Field("name", text, kept=True),
    4: Field("uid", text, kept=True),
    6: Field("controller", flag, kept=True),
    7: Field("blockOwnerDeletion", flag, kept=True),
}
_MANAGED_FIELDS: Message = {
    1: Field("manager", text),
    2: Field("operation", text),
    3: Field("apiVersion", text),
    4: Field("time", time),
    6: Field("fieldsType", text),
    7: Field("fieldsV1", _raw_json),
    8: Field("subresource", text),
}
OBJECT_META: Message = {
    1: Field("name", text),
    2: Field("generateName", text),
    3: Field("namespace", text),
    4: Field("selfLink", text),
    5: Field("uid", text),
    6: Field("resourceVersion", text),
    7: Field("generation", number),
    8: Field("creationTimestamp", time),
    9: Field("deletionTimestamp", time),
    10: Field("deletionGracePeriodSeconds", number, kept=True),
    11: Field("labels", text, pairs=True),
    12: Field("annotations", text, pairs=True),
    13: Field("ownerReferences", nested(_OWNER_REFERENCE), many=True),
    14: Field("finalizers", text, many=True),
    17: Field("managedFields", nested(_MANAGED_FIELDS), many=True),
}
DELETE_OPTIONS: Message = {
    1: Field("gracePeriodSeconds", number, kept=True),
    2: Field(
        "preconditions",
        nested({1: Field("uid", text, kept=True), 2: Field("resourceVersion", text, kept=True)}),
    ),
    3: Field("orphanDependents", flag, kept=True),
    4: Field("propagationPolicy", text, kept=True),
    5: Field("dryRun", text, many=True),
}
