"""From cel-spec's messages to our values, types and declarations."""

from __future__ import annotations

import math
from typing import Any

from controlplane.cel import equality
from controlplane.cel.functions import Function, Overload
from controlplane.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    UINT,
    Type,
    list_of,
    map_of,
    object_type,
    opaque,
    param,
    type_of_type,
)
from controlplane.cel.values import Duration, Timestamp, UInt, Value
from tests.unit.cel.conformance.textproto import Message

__all__ = ["Unsupported", "declared_function", "same", "to_type", "to_value"]

_NS = 10**9
_PRIMITIVES = {"BOOL": BOOL, "INT64": INT, "UINT64": UINT, "DOUBLE": DOUBLE, "STRING": STRING, "BYTES": BYTES}
_ANY = "[type.googleapis.com/google.protobuf."


class Unsupported(Exception):
    """The message holds something that JSON objects cannot: a protocol buffer."""


def _only(message: Message, name: str, default: Any = None) -> Any:
    return message.get(name, [default])[0]


def _double(text: str) -> float:
    return math.nan if text == "nan" else float(text.replace("infinity", "inf"))


def to_value(message: Message) -> Value:
    """The value of a ``cel.expr.Value``."""
    for kind, (content, *_) in message.items():
        match kind:
            case "null_value":
                return None
            case "bool_value":
                return content == "true"
            case "int64_value":
                return int(content, 0)
            case "uint64_value":
                return UInt(int(content, 0))
            case "double_value":
                return _double(content)
            case "string_value":
                return content.decode()
            case "bytes_value":
                return content
            case "list_value":
                return [to_value(item) for item in content.get("values", [])]
            case "map_value":
                return {
                    to_value(_only(entry, "key")): to_value(_only(entry, "value"))
                    for entry in content.get("entries", [])
                }
            case "type_value":
                return _named_type(content.decode())
            case "object_value":
                return _object(content)
            case _:
                raise Unsupported(kind)
    raise Unsupported("an empty value")


def _object(message: Message) -> Value:
    for name, (content, *_) in message.items():
        if name in (_ANY + "Timestamp]", _ANY + "Duration]"):
            ns = int(_only(content, "seconds", 0)) * _NS + int(_only(content, "nanos", 0))
            return Timestamp(ns) if "Timestamp" in name else Duration(ns)
        raise Unsupported(name)
    raise Unsupported("an empty object")


_NAMED = {"list": list_of(DYN), "map": map_of(DYN, DYN), "null_type": NULL, "type": Type("type")} | {
    type_.name: type_ for type_ in (*_PRIMITIVES.values(), TIMESTAMP, DURATION)
}


def _named_type(name: str) -> Type:
    return _NAMED[name] if name in _NAMED else opaque(name)


def to_type(message: Message) -> Type:
    """The type of a ``cel.expr.Type``."""
    for kind, (content, *_) in message.items():
        match kind:
            case "primitive":
                return _PRIMITIVES[content]
            case "dyn":
                return DYN
            case "null":
                return NULL
            case "list_type":
                return list_of(to_type(_only(content, "elem_type", {"dyn": [{}]})))
            case "map_type":
                return map_of(to_type(_only(content, "key_type")), to_type(_only(content, "value_type")))
            case "type_param":
                return param(content.decode())
            case "type":
                return type_of_type(to_type(content)) if content else Type("type")
            case "abstract_type":
                return opaque(_only(content, "name").decode(), *map(to_type, content.get("parameter_types", [])))
            case "well_known" if content in ("TIMESTAMP", "DURATION"):
                return TIMESTAMP if content == "TIMESTAMP" else DURATION
            case "message_type":
                name = content.decode()
                known = {TIMESTAMP.name: TIMESTAMP, DURATION.name: DURATION}
                return known.get(name) or object_type(name)
            case _:
                raise Unsupported(f"{kind}: {content}")
    raise Unsupported("an empty type")


def declared_function(name: str, message: Message) -> Function:
    """A function that is declared and never called."""

    def never(*_arguments: Value) -> Value:
        raise AssertionError(f"{name} is only declared")

    return Function(
        name,
        tuple(
            Overload(
                _only(overload, "overload_id").decode(),
                tuple(map(to_type, overload.get("params", []))),
                to_type(_only(overload, "result_type")),
                never,
                member=_only(overload, "is_instance_function") == "true",
            )
            for overload in message["overloads"]
        ),
    )


def same(found: Value, wanted: Value) -> bool:
    """Whether a result is the one wanted: of the same type throughout, and NaN is NaN."""
    if isinstance(wanted, Type):
        return isinstance(found, Type) and (found.name == wanted.name)
    if type(found) is not type(wanted):
        return False
    if isinstance(wanted, float) and math.isnan(wanted):
        return math.isnan(found)
    if isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(same, found, wanted))
    if isinstance(wanted, dict):
        return len(found) == len(wanted) and all(key in found and same(found[key], wanted[key]) for key in wanted)
    return equality.equal(found, wanted)
