"""Custom kinds as definitions: the schema of the definition, with the fields that every object has, written as JSON.

In OpenAPI 3.0 a schema is published as it was given. Swagger 2.0 has less to say, and kubectl, which reads it, stumbles
over more: what it cannot say is left out, and where it would say too much, the type too.

Text is written as the schema is walked, in steps, since a schema may be large, and as deep as JSON may be.

Source: kubernetes/apiextensions-apiserver ``pkg/controller/openapi/builder`` and ``pkg/controller/openapi/v2``,
``pkg/apiserver/schema`` (Unfold, ToKubeOpenAPI).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from controlplane.apimachinery.codec.json import dumps
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.native import GO_TYPE, POINTER
from controlplane.apiserver.openapi.dialect import Dialect
from controlplane.apiserver.openapi.names import META
from controlplane.apiserver.openapi.native_schemas import API_VERSION, KIND, METADATA
from controlplane.apiserver.openapi.steps import Steps

__all__ = ["custom_kind"]

_NODES_PER_STEP = 100
_INT_OR_STRING = "x-kubernetes-int-or-string"
_EMBEDDED = "x-kubernetes-embedded-resource"
_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_EITHER = [{"type": "integer"}, {"type": "string"}]
_CHILDREN = ("properties", "items", "additionalProperties")
_SCHEMA_CHILDREN = _CHILDREN[1:]
_APART_IN_V3 = frozenset({*_CHILDREN, POINTER, GO_TYPE})
_APART_IN_V2 = frozenset({*_APART_IN_V3, "allOf", "anyOf", "oneOf", "not", "nullable", "default"})
_MARKS_OF_WORK = tuple(mark.encode() for mark in (_INT_OR_STRING, _EMBEDDED, POINTER, GO_TYPE))
_OBJECT_FIELDS: dict[Dialect, Obj] = {
    dialect: {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": dialect.field(META + "ObjectMeta", METADATA),
    }
    for dialect in Dialect
}
"""The fields of every object."""
_TEXTS: dict[Dialect, dict[str, bytes]] = {
    dialect: {name: dumps(schema) for name, schema in fields.items()} for dialect, fields in _OBJECT_FIELDS.items()
}
"""The same as JSON."""

_Child = Obj | bytes
"""A schema to be written, or the JSON of one."""


class _Node(NamedTuple):
    """A schema taken apart: what is written as it is, and the schemas in it."""

    plain: Obj
    properties: dict[str, _Child] | None
    children: list[tuple[str, Obj]]


def custom_kind(schema: Obj, extensions: Obj, dialect: Dialect) -> Steps[bytes]:
    """The definition of a custom kind, as JSON. ``extensions`` are added to it; ``schema`` is not changed.

    A kind whose root keeps unknown fields is an object of any fields in Swagger 2.0: kubectl would refuse all others
    if it were told of some. So is a kind without a schema, in both.
    """
    if not schema or (dialect is Dialect.V2 and schema.get(_PRESERVE)):
        return dumps({"type": "object", **extensions})
    if dialect is Dialect.V3 and not _needs_work(schema):
        properties = {**schema.get("properties", {}), **_OBJECT_FIELDS[dialect]}
        return dumps({**schema, "properties": properties, **extensions})
    root = (_in_v3 if dialect is Dialect.V3 else _in_v2)(schema)
    properties = {**(root.properties or {}), **_TEXTS[dialect]}
    return (yield from _written(_Node({**root.plain, **extensions}, properties, root.children), dialect))


def _needs_work(schema: Obj) -> bool:
    """Whether anything in it is published other than it is. Searching the text is far quicker than a walk."""
    text = dumps(schema)
    return any(mark in text for mark in _MARKS_OF_WORK)


def _written(root: _Node, dialect: Dialect) -> Steps[bytes]:
    take_apart = _in_v3 if dialect is Dialect.V3 else _in_v2
    pieces: list[bytes] = []
    pending: list[_Child] = []
    _write(root, pieces, pending)
    nodes = 0
    while pending:
        following = pending.pop()
        if isinstance(following, bytes):
            pieces.append(following)
            continue
        _write(take_apart(following), pieces, pending)
        nodes += 1
        if nodes % _NODES_PER_STEP == 0:
            yield
    return b"".join(pieces)


def _write(node: _Node, pieces: list[bytes], pending: list[_Child]) -> None:
    """Write what can be written of a node now, and put the rest on the stack."""
    pieces.append(dumps(node.plain)[:-1])
    comma = b"," if node.plain else b""
    rest: list[_Child] = []
    for key, schema in node.children:
        rest += (b'%b"%b":' % (comma, key.encode()), schema)
        comma = b","
    if node.properties is not None:
        rest.append(comma + b'"properties":{')
        comma = b""
        for name, child in node.properties.items():
            rest += (b"%b%b:" % (comma, dumps(name)), child)
            comma = b","
        rest.append(b"}")
    rest.append(b"}")
    rest.reverse()
    pending += rest


def _in_v3(schema: Obj) -> _Node:
    plain = {key: value for key, value in schema.items() if key not in _APART_IN_V3}
    if schema.get(_INT_OR_STRING) and not _says_either(schema):
        if "anyOf" in schema:
            plain["allOf"] = [{"anyOf": _EITHER}, *schema.get("allOf", ())]
        else:
            plain["anyOf"] = _EITHER
    properties = schema.get("properties")
    if schema.get(_EMBEDDED):
        properties = _embedded(plain, properties, Dialect.V3)
    return _Node(plain, properties, _children(schema, plain, _SCHEMA_CHILDREN))


def _in_v2(schema: Obj) -> _Node:
    nullable, preserved = bool(schema.get("nullable")), bool(schema.get(_PRESERVE))
    opaque = nullable or preserved
    plain = {key: value for key, value in schema.items() if key not in _APART_IN_V2}
    children = _children(schema, plain, _SCHEMA_CHILDREN[1:] if opaque else _SCHEMA_CHILDREN)
    properties = None if opaque else schema.get("properties")
    kind = schema.get("type")
    if nullable or (preserved and kind == "object") or (kind == "array" and (opaque or "items" not in schema)):
        plain.pop("type", None)
    if "required" in plain:
        _relax(plain, properties or {}, schema.get("additionalProperties"))
    if schema.get(_EMBEDDED) and not opaque:
        properties = _embedded(plain, properties, Dialect.V2)
    return _Node(plain, properties, children)


def _children(schema: Obj, plain: Obj, keys: tuple[str, ...]) -> list[tuple[str, Obj]]:
    """The schemas under these keys; where it is ``true`` or ``false`` instead, it is put to what is plain."""
    found = []
    for key in keys:
        child = schema.get(key)
        if isinstance(child, dict):
            found.append((key, child))
        elif child is not None:
            plain[key] = child
    return found


def _relax(plain: Obj, properties: Obj, values: Any) -> None:
    """A field that may be null cannot be required where null cannot be told."""
    left = [name for name in plain["required"] if not properties.get(name, {}).get("nullable")]
    if left and not (isinstance(values, dict) and values.get("nullable")):
        plain["required"] = left
    else:
        del plain["required"]


def _says_either(schema: Obj) -> bool:
    """Whether it says already that the value is a number or a text."""
    if schema.get("anyOf") == _EITHER:
        return True
    first = next(iter(schema.get("allOf", ())), None)
    return first is not None and first.get("anyOf") == _EITHER


def _embedded(plain: Obj, properties: Obj | None, dialect: Dialect) -> dict[str, _Child]:
    """The fields of a whole object inside of another."""
    required = plain.get("required", ())
    plain["required"] = [*required, *(name for name in ("kind", "apiVersion") if name not in required)]
    return {**(properties or {}), **_TEXTS[dialect]}
