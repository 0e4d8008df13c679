"""The protobuf message of a kind, from its schema: what a schema lacks are the numbers of the fields.

Source: the ``generated.proto`` files of kubernetes/api, kubernetes/apiextensions-apiserver and
kubernetes/kube-aggregator.
"""

from __future__ import annotations

from collections.abc import Mapping

from controlplane.apimachinery.codec.protobuf.message import Field, Message, Union, list_message
from controlplane.apimachinery.codec.protobuf.meta import OBJECT_META
from controlplane.apimachinery.codec.protobuf.scalars import (
    BLOB,
    DOUBLE,
    FLAG,
    INT32,
    INT64,
    MICRO_TIME,
    QUANTITY,
    RAW_JSON,
    TEXT,
    TIME,
    Scalar,
)
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema import native

__all__ = ["Numbers", "message_of"]

Numbers = Mapping[str, str]
"""By Go type, without its package: its fields, in the order of their numbers, from 1 on. ``-`` is a number that is not
used; ``+Rule`` a message whose fields JSON has among those of its parent."""


def message_of(schema: Obj, numbers: Numbers) -> Message:
    """The message of a kind, made when it is first used. ``numbers``: of all records in its schema.

    ``Message.complete``, and whatever uses it first, raises:
        KeyError: a record has no numbers, or a number no field.
        TypeError: a type of field that no message of ours has.
    """
    struct, properties = _struct(schema), schema["properties"]
    return Message(struct, later=lambda message: _Builder(numbers).define(message, properties))


def _struct(schema: Obj) -> str:
    name: str = schema[native.GO_TYPE]
    return name.rpartition(".")[2]


class _Builder:
    """Messages of one kind. A schema that is inside itself is found by the identity of its properties."""

    def __init__(self, numbers: Numbers) -> None:
        self._numbers = numbers
        self._made: dict[tuple[str, int], Message] = {}

    def message(self, struct: str, properties: Obj) -> Message:
        key = struct, id(properties)
        if key not in self._made:
            self.define(Message(struct), properties)
        return self._made[key]

    def define(self, message: Message, properties: Obj) -> None:
        """Give a message its fields; it may be inside itself."""
        self._made[message.name, id(properties)] = message
        numbered = enumerate(self._numbers[message.name].split(), 1)
        message.define({at: self._field(name, properties) for at, name in numbered if name != "-"})

    def _field(self, name: str, properties: Obj) -> Field:
        if name == "metadata":
            return Field(name, OBJECT_META)
        if name.startswith("+"):
            return Field("", self.message(name[1:], properties))
        schema = properties[name]
        if schema.get("type") == "array":
            return Field(name, self._type(schema["items"]), many=True)
        if "additionalProperties" in schema:
            return Field(name, self._type(schema["additionalProperties"]), pairs=True)
        return Field(name, self._type(schema), kept=bool(schema.get(native.POINTER)))

    def _type(self, schema: Obj) -> Scalar | Message | Union:
        if native.UNION in schema:
            return self._union(schema[native.UNION])
        if native.DEFINITION in schema:
            return self._type(schema[native.DEFINITION]())
        match (schema["type"], schema.get("format"), schema.get(native.GO_TYPE)):
            case ("object", _, _):
                return self.message(_struct(schema), schema["properties"])
            case ("array", _, _):
                return list_message("", _scalar(schema["items"]))
        return _scalar(schema)

    def _union(self, alternatives: Mapping[str, Obj]) -> Scalar | Union:
        """What stands for a value of one of several types; any value at all is raw JSON."""
        if not alternatives:
            return RAW_JSON
        schema = Field("schema", self._type(alternatives["object"]), kept=True)
        if "boolean" in alternatives:
            return _schema_or_boolean(Message("JSONSchemaPropsOrBool", {1: Field("allows", FLAG), 2: schema}))
        items = self._type(alternatives["array"]["items"])
        if isinstance(items, Message):
            return _schema_or_list("JSONSchemaPropsOrArray", schema, Field("jSONSchemas", items, many=True))
        return _schema_or_list("JSONSchemaPropsOrStringArray", schema, Field("property", items, many=True))


def _schema_or_boolean(message: Message) -> Union:
    return Union(
        message,
        lambda value: {"allows": True, "schema": value} if isinstance(value, dict) else {"allows": value},
        lambda obj: obj.get("schema", obj.get("allows", False)),
    )


def _schema_or_list(name: str, schema: Field, items: Field) -> Union:
    return Union(
        Message(name, {1: schema, 2: items}),
        lambda value: {schema.name if isinstance(value, dict) else items.name: value},
        lambda obj: obj.get(schema.name, obj.get(items.name, [])),
    )


_NUMBERS = {"int32": INT32, "int64": INT64, "double": DOUBLE}


def _scalar(schema: Obj) -> Scalar:
    match (schema["type"], schema.get("format"), schema.get(native.GO_TYPE)):
        case ("boolean", _, _):
            return FLAG
        case ("integer" | "number", form, _):
            return _NUMBERS[form or ""]
        case ("string", "byte", _):
            return BLOB
        case ("string", "date-time", "v1.MicroTime"):
            return MICRO_TIME
        case ("string", "date-time", _):
            return TIME
        case ("string", _, native.QUANTITY):
            return QUANTITY
        case ("string", _, _):
            return TEXT
    raise TypeError(f"no message has a field of this type: {schema['type']!r}")
