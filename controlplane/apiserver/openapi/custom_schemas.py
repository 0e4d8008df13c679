"""Custom kinds as definitions: the schema of the definition, with the fields that every object has.

In OpenAPI 3.0 a schema is published as it was given. Swagger 2.0 has less to say, and kubectl, which reads it, stumbles
over more: what it cannot say is left out, and where it would say too much, the type too.

Schemas are taken one level at a time (``published_level``), with the schemas in them as they were given: whoever writes
them goes down by himself, so no second tree is made, and a schema may be large, and as deep as JSON may be.

Source: kubernetes/apiextensions-apiserver ``pkg/controller/openapi/builder`` and ``pkg/controller/openapi/v2``,
``pkg/apiserver/schema`` (Unfold, ToKubeOpenAPI).
"""

from __future__ import annotations

from typing import Any

from controlplane.apimachinery.codec.json import dumps
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.native import GO_TYPE, POINTER
from controlplane.apiserver.openapi.dialect import Dialect
from controlplane.apiserver.openapi.names import META
from controlplane.apiserver.openapi.native_schemas import API_VERSION, KIND, METADATA

__all__ = ["custom_kind", "is_published_as_given", "published_level"]

_INT_OR_STRING = "x-kubernetes-int-or-string"
_EMBEDDED = "x-kubernetes-embedded-resource"
_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_EITHER = [{"type": "integer"}, {"type": "string"}]
_NOT_IN_V3 = frozenset({POINTER, GO_TYPE})
_NOT_IN_V2 = frozenset({*_NOT_IN_V3, "allOf", "anyOf", "oneOf", "not", "nullable", "default"})
_OPAQUE_IN_V2 = frozenset({*_NOT_IN_V2, "properties", "items"})
_MARKS_OF_WORK = tuple(mark.encode() for mark in (_INT_OR_STRING, _EMBEDDED, *_NOT_IN_V3))
_OBJECT_FIELDS: dict[Dialect, Obj] = {
    dialect: {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": dialect.field(META + "ObjectMeta", METADATA),
    }
    for dialect in Dialect
}
"""The fields of every object. They are published as they are, one level or more."""


def custom_kind(schema: Obj, extensions: Obj, dialect: Dialect) -> Obj:
    """The topmost level of a custom kind. ``extensions`` are added to it; ``schema`` is not changed.

    A kind whose root keeps unknown fields is an object of any fields in Swagger 2.0: kubectl would refuse all others
    if it were told of some. So is a kind without a schema, in both.
    """
    if not schema or (dialect is Dialect.V2 and schema.get(_PRESERVE)):
        return {"type": "object", **extensions}
    level = published_level(schema, dialect)
    return {**level, "properties": {**level.get("properties", {}), **_OBJECT_FIELDS[dialect]}, **extensions}


def is_published_as_given(schema: Obj, dialect: Dialect) -> bool:
    """Whether all levels are what they were. Searching the text for what changes them is far quicker than a walk."""
    if dialect is Dialect.V2:
        return False
    text = dumps(schema)
    return not any(mark in text for mark in _MARKS_OF_WORK)


def published_level(schema: Obj, dialect: Dialect) -> Obj:
    """What is published of one level of a schema; the schemas below are as they were."""
    return _in_v3(schema) if dialect is Dialect.V3 else _in_v2(schema)


def _in_v3(schema: Obj) -> Obj:
    level = {key: value for key, value in schema.items() if key not in _NOT_IN_V3}
    if schema.get(_INT_OR_STRING) and not _says_either(schema):
        if "anyOf" in schema:
            level["allOf"] = [{"anyOf": _EITHER}, *schema.get("allOf", ())]
        else:
            level["anyOf"] = _EITHER
    if schema.get(_EMBEDDED):
        _embed(level, Dialect.V3)
    return level


def _in_v2(schema: Obj) -> Obj:
    nullable, preserved = bool(schema.get("nullable")), bool(schema.get(_PRESERVE))
    opaque = nullable or preserved
    left_out = _OPAQUE_IN_V2 if opaque else _NOT_IN_V2
    level = {key: value for key, value in schema.items() if key not in left_out}
    kind = schema.get("type")
    if nullable or (preserved and kind == "object") or (kind == "array" and "items" not in level):
        level.pop("type", None)
    if "required" in level:
        _relax(level)
    if schema.get(_EMBEDDED) and not opaque:
        _embed(level, Dialect.V2)
    return level


def _relax(level: Obj) -> None:
    """A field that may be null cannot be required where null cannot be told."""
    properties, values = level.get("properties", {}), level.get("additionalProperties")
    left = [name for name in level["required"] if not properties.get(name, {}).get("nullable")]
    if left and not (isinstance(values, dict) and values.get("nullable")):
        level["required"] = left
    else:
        del level["required"]


def _says_either(schema: Obj) -> bool:
    """Whether it says already that the value is a number or a text."""
    if schema.get("anyOf") == _EITHER:
        return True
    first: Any = next(iter(schema.get("allOf", ())), None)
    return first is not None and first.get("anyOf") == _EITHER


def _embed(level: Obj, dialect: Dialect) -> None:
    """Add the fields of a whole object inside of another."""
    required = level.get("required", ())
    level["required"] = [*required, *(name for name in ("kind", "apiVersion") if name not in required)]
    level["properties"] = {**level.get("properties", {}), **_OBJECT_FIELDS[dialect]}
