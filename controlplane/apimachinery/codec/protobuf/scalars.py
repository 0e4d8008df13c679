"""The values in protobuf fields that are no messages of ours: how each is written, and read as JSON has it.

Times, quantities and raw JSON are small messages on the wire, but single values in JSON.

Source: kubernetes/apimachinery ``meta/v1`` (Time, MicroTime, FieldsV1), ``api/resource`` (Quantity), ``runtime``
(RawExtension).
"""

from __future__ import annotations

import struct
from base64 import b64decode, b64encode
from collections.abc import Callable
from datetime import datetime, timedelta
from math import isfinite
from typing import Any, NamedTuple

from controlplane.apimachinery.codec.json import MalformedJSON, dumps, loads
from controlplane.apimachinery.codec.protobuf.wire import (
    BYTES,
    FIXED64,
    VARINT,
    MalformedProtobuf,
    delimited,
    read_length,
    read_varint,
    skip,
    varint,
)

__all__ = [
    "BLOB",
    "DOUBLE",
    "FLAG",
    "INT32",
    "INT64",
    "MICRO_TIME",
    "QUANTITY",
    "RAW_JSON",
    "TEXT",
    "TIME",
    "Scalar",
]


class Scalar(NamedTuple):
    """``read`` makes the JSON value from what is on the wire (an int for VARINT, else bytes), None if it is the same as
    no value. ``write`` makes what follows the tag; ``empty`` is that of a value that is missing, in a field that is
    always written, b"" if it is left out even there."""

    wire: int
    read: Callable[[Any], Any]
    write: Callable[[Any], bytes]
    empty: bytes


def _read_text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise MalformedProtobuf("a string is not UTF-8") from error


def _write_text(value: str) -> bytes:
    raw = value.encode()
    return varint(len(raw)) + raw


def _read_int32(value: int) -> int:
    value &= 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


def _read_int64(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def _read_double(value: bytes) -> float:
    number: float = struct.unpack("<d", value)[0]
    if not isfinite(number):
        raise MalformedProtobuf(f"a number that JSON cannot have: {number}")
    return number


def _write_double(value: float) -> bytes:
    return struct.pack("<d", value)


def _read_blob(value: bytes) -> str:
    return b64encode(value).decode()


def _write_blob(value: str) -> bytes:
    return delimited(b64decode(value))


_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  # all of these are UTC, and naive ones are faster
_ZERO_SECONDS = -62135596800
"""0001-01-01T00:00:00Z, which is no time."""


def _instant(value: bytes) -> tuple[datetime, int] | None:
    """A Timestamp's whole seconds and nanoseconds; an empty message is no time."""
    if not value:
        return None
    seconds = nanos = at = 0
    while at < len(value):
        head, start = read_varint(value, at, len(value))
        if head == 0x08:
            number, at = read_varint(value, start, len(value))
            seconds = _read_int64(number)
        elif head == 0x10:
            number, at = read_varint(value, start, len(value))
            nanos = _read_int32(number)
        else:
            _check_head(head, {1: "Seconds", 2: "Nanos"}, "Timestamp")
            at = skip(value, at, len(value))
    if seconds == _ZERO_SECONDS and not nanos:
        return None
    try:
        return _EPOCH + timedelta(seconds=seconds), nanos
    except OverflowError as error:
        raise MalformedProtobuf(f"a time is out of range: {seconds}") from error


def _check_head(head: int, names: dict[int, str], message: str) -> None:
    """Complain of a tag that cannot stand in a message with these fields."""
    number = _read_int32(head >> 3)
    if head & 7 == 4:
        raise MalformedProtobuf(f"proto: {message}: wiretype end group for non-group")
    if number <= 0:
        raise MalformedProtobuf(f"proto: {message}: illegal tag {number} (wire type {head})")
    if number in names:
        raise MalformedProtobuf(f"proto: wrong wireType = {head & 7} for field {names[number]}")


def _read_time(value: bytes) -> str | None:
    found = _instant(value)
    return None if found is None else f"{found[0].isoformat()}Z"


def _read_micro_time(value: bytes) -> str | None:
    found = _instant(value)
    if found is None:
        return None
    micros = found[1] // 1000
    if not 0 <= micros < 1_000_000:
        raise MalformedProtobuf(f"a time's nanoseconds are out of range: {found[1]}")
    return f"{found[0].isoformat()}.{micros:06d}Z"


def _write_time(value: str) -> bytes:
    seconds = int(datetime.fromisoformat(value).timestamp())
    return delimited(b"\x08" + varint(seconds) + b"\x10\x00")


def _write_micro_time(value: str) -> bytes:
    instant = datetime.fromisoformat(value)
    seconds = int(instant.replace(microsecond=0).timestamp())
    return delimited(b"\x08" + varint(seconds) + b"\x10" + varint(instant.microsecond * 1000))


def _only_field(value: bytes, name: str, message: str) -> bytes:
    """Field 1, of bytes, of a message that has no other."""
    found, at = b"", 0
    while at < len(value):
        head, start = read_varint(value, at, len(value))
        if head == 0x0A:
            start, at = read_length(value, start, len(value))
            found = value[start:at]
        else:
            _check_head(head, {1: name}, message)
            at = skip(value, at, len(value))
    return found


def _read_quantity(value: bytes) -> str:
    return _read_text(_only_field(value, "String_", "Quantity")) or "0"


def _write_quantity(value: str) -> bytes:
    return delimited(b"\x0a" + _write_text(value))


def _read_raw_json(value: bytes) -> Any:
    raw = _only_field(value, "Raw", "RawExtension")
    if not raw:
        return None
    try:
        return loads(raw)
    except MalformedJSON as error:
        raise MalformedProtobuf(str(error)) from error


def _write_raw_json(value: Any) -> bytes:
    return delimited(b"\x0a" + delimited(dumps(value)))


def _write_flag(value: bool) -> bytes:  # noqa: FBT001  # it is the value
    return b"\x01" if value else b"\x00"


_NONE = b"\x00"
TEXT = Scalar(BYTES, _read_text, _write_text, _NONE)
FLAG = Scalar(VARINT, bool, _write_flag, _NONE)
INT32 = Scalar(VARINT, _read_int32, varint, _NONE)
INT64 = Scalar(VARINT, _read_int64, varint, _NONE)
DOUBLE = Scalar(FIXED64, _read_double, _write_double, bytes(8))
BLOB = Scalar(BYTES, _read_blob, _write_blob, b"")
TIME = Scalar(BYTES, _read_time, _write_time, _NONE)
MICRO_TIME = Scalar(BYTES, _read_micro_time, _write_micro_time, _NONE)
QUANTITY = Scalar(BYTES, _read_quantity, _write_quantity, b"\x03\x0a\x010")
RAW_JSON = Scalar(BYTES, _read_raw_json, _write_raw_json, b"")
"""Any JSON, as the only field of a message: FieldsV1, RawExtension, a schema's JSON."""
