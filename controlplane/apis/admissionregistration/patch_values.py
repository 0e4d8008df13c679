"""What expressions of mutating policies make: ``Object{spec: Object.spec{size: 1}}`` and ``JSONPatch{op: "add", ...}``.

Any name is an object's type that begins with ``Object`` and goes on with the path to where the object stands; any field
may be set. Whether names and paths agree is seen when the value is used.

Source: kubernetes/apiserver ``pkg/cel/mutation``.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Any

from controlplane.cel.environment import FieldDeclaration, Provider
from controlplane.cel.errors import EvalError
from controlplane.cel.library.jsonpatch import PATCH_FIELDS, JSONPatch
from controlplane.cel.timestamps import format_duration, format_timestamp
from controlplane.cel.types import DYN, Type, object_type
from controlplane.cel.values import Duration, Optional, Timestamp, Value

__all__ = ["ObjectValue", "PatchTypes", "json_of", "misplaced"]

_ROOT = "Object"


class ObjectValue:
    """An object under construction."""

    __slots__ = ("cel_type", "fields")

    def __init__(self, name: str, fields: Mapping[str, Value]) -> None:
        self.cel_type, self.fields = object_type(name), fields

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectValue) and self.cel_type == other.cel_type and self.fields == other.fields

    def __hash__(self) -> int:
        return hash(self.cel_type)


class PatchTypes:
    """The types of patches, and those of ``others``."""

    __slots__ = ("_others",)

    def __init__(self, others: Provider) -> None:
        self._others = others

    def field(self, type_name: str, field: str) -> FieldDeclaration | None:
        if type_name == "JSONPatch":
            found = PATCH_FIELDS.get(field)
            return None if found is None else FieldDeclaration(field, found)
        if _is_object(type_name):
            return FieldDeclaration(field, DYN)
        return self._others.field(type_name, field)

    def type(self, name: str) -> Type | None:
        if name == "JSONPatch" or _is_object(name):
            return object_type(name)
        return self._others.type(name)

    def construct(self, type_name: str, fields: dict[str, Value]) -> Value:
        if type_name == "JSONPatch":
            return JSONPatch(fields)
        return ObjectValue(type_name, fields)


def _is_object(name: str) -> bool:
    return name == _ROOT or name.startswith(f"{_ROOT}.")


def misplaced(value: ObjectValue) -> list[str]:
    """Which objects in one stand elsewhere than their types say, if it stands where its own does."""
    return list(_misplaced(value, value.cel_type.name))


def _misplaced(value: Value, path: str) -> Iterator[str]:
    if isinstance(value, ObjectValue):
        name = value.cel_type.name
        if name != path:
            yield (
                f'unexpected type name "{name}", expected "{path}", which matches field name path from root Object type'
            )
        for field, inner in value.fields.items():
            yield from _misplaced(inner, f"{path}.{field}")
    elif isinstance(value, list):
        for item in value:
            yield from _misplaced(item, path)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _misplaced(item, path)


def json_of(value: Value, *, in_doubles: bool = False) -> Any:
    """The JSON value of a CEL value; objects that were there before stay as they are. ``in_doubles``: integers that a
    double cannot hold become texts, as where cel-go makes a protobuf value of it.

    Raises:
        EvalError: it has none.
    """
    if isinstance(value, ObjectValue):
        return {name: json_of(inner, in_doubles=in_doubles) for name, inner in value.fields.items()}
    kind = type(value)
    if kind is list:
        return [json_of(item, in_doubles=in_doubles) for item in value]
    if kind is dict:
        for key in value:
            if not isinstance(key, str):
                raise EvalError(f"map key {key!r} is not a string")
        return {key: json_of(item, in_doubles=in_doubles) for key, item in value.items()}
    if kind is bytes:
        return base64.b64encode(value).decode()
    if isinstance(value, Timestamp):
        return format_timestamp(value)
    if isinstance(value, Duration):
        return format_duration(value)
    if value is None or kind in (bool, str, float):
        return value
    if isinstance(value, int):
        return int(value) if not in_doubles or abs(value) < 2**53 else str(int(value))
    if isinstance(value, Optional):
        return json_of(value.value, in_doubles=in_doubles)
    raise EvalError(_no_json(value))


def _no_json(value: Value) -> str:
    if isinstance(value, Type):
        return "type conversion not supported for 'type'"
    name = value.cel_type.name.rpartition(".")[2]
    return f"type conversion error from '{_GO_NAMES.get(name, name)}' to '*structpb.Value'"


_GO_NAMES = {"NamedFormat": "Format"}
"""Types of Kubernetes' libraries that have another name in Go."""
