"""The protobuf message of a kind, from its schema: what a schema lacks are the numbers of the fields.

Source: the ``generated.proto`` files of kubernetes/api.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from controlplane.apimachinery.codec.protobuf import (
    OBJECT_META,
    Field,
    Message,
    blob,
    flag,
    micro_time,
    nested,
    number,
    text,
    time,
)
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.native import GO_TYPE, POINTER, QUANTITY

__all__ = ["Numbers", "message_of"]

Numbers = Mapping[str, str]
"""By Go type, without its package: its fields, in the order of their numbers, from 1 on. ``-`` is a number that is not
used; ``+Rule`` a message whose fields JSON has among those of its parent."""

_QUANTITY = nested({1: Field("string", text)})


def message_of(schema: Obj, numbers: Numbers) -> Message:
    """The message of a kind. ``numbers``: of all records in its schema.

    Raises:
        KeyError: a record has no numbers, or a number no field.
    """
    return _message(_struct(schema), schema["properties"], numbers)


def _struct(schema: Obj) -> str:
    name: str = schema[GO_TYPE]
    return name.rpartition(".")[2]


def _message(struct: str, properties: Obj, numbers: Numbers) -> Message:
    message: dict[int, Field] = {}
    for at, name in enumerate(numbers[struct].split(), 1):
        if name == "metadata":
            message[at] = Field(name, nested(OBJECT_META))
        elif name.startswith("+"):
            message[at] = Field("", nested(_message(name[1:], properties, numbers)))
        elif name != "-":
            message[at] = _field(name, properties[name], numbers)
    return message


def _field(name: str, schema: Obj, numbers: Numbers) -> Field:
    if schema["type"] == "array":
        return Field(name, _reader(schema["items"], numbers), many=True)
    if "additionalProperties" in schema:
        return Field(name, _reader(schema["additionalProperties"], numbers), pairs=True)
    return Field(name, _reader(schema, numbers), kept=bool(schema.get(POINTER)))


def _reader(schema: Obj, numbers: Numbers) -> Callable[[Any], Any]:
    match (schema["type"], schema.get("format"), schema.get(GO_TYPE)):
        case ("object", _, _):
            return nested(_message(_struct(schema), schema["properties"], numbers))
        case ("array", _, _):
            return _list(_reader(schema["items"], numbers))
        case ("integer", _, _):
            return number
        case ("boolean", _, _):
            return flag
        case (_, "byte", _):
            return blob
        case (_, "date-time", "v1.MicroTime"):
            return micro_time
        case (_, "date-time", _):
            return time
        case (_, _, go_type) if go_type == QUANTITY:
            return _quantity
    return text


def _quantity(value: Any) -> str:
    amount: str = _QUANTITY(value).get("string", "0")
    return amount


def _list(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A list that is the value of a map, which has to be a message."""
    message = nested({1: Field("items", read, many=True)})
    return lambda value: message(value).get("items", [])
