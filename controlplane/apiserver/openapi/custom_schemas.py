"""Custom kinds as definitions: the schema of the definition, with the fields that every object has.

In OpenAPI 3.0 a schema is published as it was given. Swagger 2.0 has less to say, and kubectl, which reads it, stumbles
over more: what it cannot say is left out, and where it would say too much, the type too.

Work is done in steps; a schema may be large, and as deep as JSON may be.

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
from controlplane.apiserver.openapi.steps import Steps

__all__ = ["custom_kind"]

_NODES_PER_STEP = 200
_INT_OR_STRING = "x-kubernetes-int-or-string"
_EMBEDDED = "x-kubernetes-embedded-resource"
_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_EITHER = [{"type": "integer"}, {"type": "string"}]
_UNPUBLISHED = frozenset({POINTER, GO_TYPE})
_NOT_IN_V2 = frozenset({"allOf", "anyOf", "oneOf", "not", "nullable", "default"})
_MARKS_OF_WORK = tuple(mark.encode() for mark in (_INT_OR_STRING, _EMBEDDED, *_UNPUBLISHED))

Pending = list[tuple[Obj, Obj]]
"""Schemas still to be written, each with the object to write it to."""


def custom_kind(schema: Obj, dialect: Dialect) -> Steps[Obj]:
    """The definition of a custom kind, without its extensions. ``schema`` is not changed; parts of it are shared.

    A kind whose root keeps unknown fields is an object of any fields in Swagger 2.0: kubectl would refuse all others
    if it were told of some. So is a kind without a schema, in both.
    """
    if not schema or (dialect is Dialect.V2 and schema.get(_PRESERVE)):
        return {"type": "object"}
    kind = yield from _published(schema, dialect)
    metadata = dialect.field(META + "ObjectMeta", METADATA)
    return {**kind, "properties": _object_fields(kind.get("properties", {}), metadata)}


def _published(schema: Obj, dialect: Dialect) -> Steps[Obj]:
    if dialect is Dialect.V3 and not _needs_work(schema):
        return schema
    root: Obj = {}
    pending: Pending = [(schema, root)]
    done = 0
    write = _write_v3 if dialect is Dialect.V3 else _write_v2
    while pending:
        source, target = pending.pop()
        write(source, target, pending)
        done += 1
        if done % _NODES_PER_STEP == 0:
            yield
    return root


def _needs_work(schema: Obj) -> bool:
    """Whether anything in it is published other than it is. Searching the text is far quicker than a walk."""
    text = dumps(schema)
    return any(mark in text for mark in _MARKS_OF_WORK)


def _write_v3(source: Obj, target: Obj, pending: Pending) -> None:
    for key, value in source.items():
        if key not in _UNPUBLISHED:
            target[key] = _descend(key, value, pending)
    if source.get(_INT_OR_STRING) and not _says_either(source):
        if "anyOf" in source:
            target["allOf"] = [{"anyOf": _EITHER}, *source.get("allOf", ())]
        else:
            target["anyOf"] = _EITHER
    if source.get(_EMBEDDED):
        _embed(target, Dialect.V3)


def _write_v2(source: Obj, target: Obj, pending: Pending) -> None:
    nullable, preserved = bool(source.get("nullable")), bool(source.get(_PRESERVE))
    opaque = nullable or preserved
    for key, value in source.items():
        if key in _NOT_IN_V2 or key in _UNPUBLISHED or (opaque and key in {"items", "properties"}):
            continue
        target[key] = _descend(key, value, pending)
    kind = source.get("type")
    if nullable or (preserved and kind == "object") or (kind == "array" and "items" not in target):
        target.pop("type", None)
    _relax(source, target)
    if source.get(_EMBEDDED) and not opaque:
        _embed(target, Dialect.V2)


def _relax(source: Obj, target: Obj) -> None:
    """A field that may be null cannot be required where null cannot be told."""
    required = source.get("required")
    if not required:
        return
    values = source.get("additionalProperties")
    if isinstance(values, dict) and values.get("nullable"):
        del target["required"]
        return
    fields = source["properties"] if "properties" in target else {}
    left = [name for name in required if not fields.get(name, {}).get("nullable")]
    if left:
        target["required"] = left
    else:
        del target["required"]


def _descend(key: str, value: Any, pending: Pending) -> Any:
    """The place for what ``value`` is written as: itself, unless there are schemas in it."""
    if key == "properties":
        fields: Obj = {}
        for name, child in value.items():
            fields[name] = _place(child, pending)
        return fields
    if key in {"items", "additionalProperties"} and isinstance(value, dict):
        return _place(value, pending)
    return value


def _place(schema: Obj, pending: Pending) -> Obj:
    place: Obj = {}
    pending.append((schema, place))
    return place


def _says_either(schema: Obj) -> bool:
    """Whether it says already that the value is a number or a text."""
    if schema.get("anyOf") == _EITHER:
        return True
    first = next(iter(schema.get("allOf", ())), None)
    return first is not None and first.get("anyOf") == _EITHER


def _embed(target: Obj, dialect: Dialect) -> None:
    metadata = dialect.field(META + "ObjectMeta", METADATA)
    target["properties"] = _object_fields(target.get("properties", {}), metadata)
    target["required"] = [
        *target.get("required", ()),
        *(name for name in ("kind", "apiVersion") if name not in target.get("required", ())),
    ]


def _object_fields(properties: Obj, metadata: Obj) -> Obj:
    return {**properties, "apiVersion": API_VERSION, "kind": KIND, "metadata": metadata}
