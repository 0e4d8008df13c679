"""Structural schemas of native kinds, written compactly.

Each function makes one OpenAPI v3 schema (a JSON object, as in a custom resource definition). Extensions carry what
OpenAPI has no word for; they are taken out before a schema is published:

``x-controlplane-pointer``  true: an empty value differs from a missing one and is kept (``immutable: false``).
``x-controlplane-always``   true: an optional field that is written even when it is empty (``reportingInstance: ""``).
``x-controlplane-go-type``  the name that Kubernetes' decoder gives the type in its messages (``v1.ObjectMeta``).

Two more are for schemas of schemas: ``x-controlplane-definition``, a function that returns the schema meant (one that
is inside itself), and ``x-controlplane-union``, alternatives by the value's JSON type.

A field that is ``required`` is always written, empty if it was not given; an object that is no pointer always exists,
and a time that is no pointer is null when it was not given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from controlplane.apimachinery.identity import Obj

__all__ = [
    "ALWAYS",
    "DEFINITION",
    "GO_TYPE",
    "POINTER",
    "QUANTITY",
    "UNION",
    "always",
    "any_value",
    "anything",
    "array",
    "binary",
    "boolean",
    "integer",
    "mapping",
    "micro_time",
    "number",
    "pointer",
    "quantity",
    "record",
    "recursive",
    "string",
    "time",
    "union",
]

POINTER = "x-controlplane-pointer"
ALWAYS = "x-controlplane-always"
GO_TYPE = "x-controlplane-go-type"
DEFINITION = "x-controlplane-definition"
UNION = "x-controlplane-union"
QUANTITY = "resource.Quantity"
"""The Go type of quantities, by which they are told from other strings."""


def _described(schema: Obj, description: str) -> Obj:
    return {"description": description, **schema} if description else schema


def _named(schema: Obj, description: str, go_type: str) -> Obj:
    return _described({**schema, GO_TYPE: go_type} if go_type else schema, description)


def string(description: str = "", *, go_type: str = "string") -> Obj:
    schema: Obj = {"type": "string"}
    if go_type != "string":
        schema[GO_TYPE] = go_type
    return _described(schema, description)


def boolean(description: str = "") -> Obj:
    return _described({"type": "boolean"}, description)


def integer(description: str = "", *, bits: int = 32) -> Obj:
    return _described({"type": "integer", "format": f"int{bits}"}, description)


def number(description: str = "") -> Obj:
    return _described({"type": "number", "format": "double"}, description)


def any_value(description: str = "", *, go_type: str = "") -> Obj:
    """Any JSON value but null, kept as it is. ``go_type``: what it is in errors about a list of them."""
    return _named({UNION: {}, "x-kubernetes-preserve-unknown-fields": True}, description, go_type)


def recursive(definition: Callable[[], Obj], description: str = "") -> Obj:
    """The schema that a function returns when it is asked: one that is part of itself."""
    return _described({"type": "object", DEFINITION: definition}, description)


def union(alternatives: Mapping[str, Obj], description: str = "", *, otherwise: str = "") -> Obj:
    """One of several schemas, by the JSON type of the value (``object``, ``array``, ``boolean``). ``otherwise``: what
    the decoder says of other values; ``""``: it ignores them. Unknown fields inside are dropped silently, as upstream's
    hand-written decoders do."""
    return _described(
        {UNION: {**alternatives, "": otherwise}, "x-kubernetes-preserve-unknown-fields": True}, description
    )


def time(description: str = "") -> Obj:
    """An RFC 3339 time in whole seconds."""
    return _described({"type": "string", "format": "date-time", GO_TYPE: "v1.Time"}, description)


def micro_time(description: str = "") -> Obj:
    """An RFC 3339 time with exactly six digits of a second."""
    return _described({"type": "string", "format": "date-time", GO_TYPE: "v1.MicroTime"}, description)


def binary(description: str = "") -> Obj:
    """Bytes, in base64."""
    return _described({"type": "string", "format": "byte"}, description)


def anything(description: str = "") -> Obj:
    """Any JSON object, kept as it is."""
    return _described({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, description)


def quantity(description: str = "") -> Obj:
    """An amount with a suffix, as text or number; kept in its canonical text."""
    return _described({"type": "string", GO_TYPE: QUANTITY}, description)


def array(
    items: Obj,
    description: str = "",
    *,
    key: Sequence[str] = (),
    unique: bool = False,
    merge_key: str = "",
    go_type: str = "",
) -> Obj:
    """A list. ``key``: the fields that tell its items apart (a map list); ``unique``: a set; else replaced whole.
    ``merge_key``: the one that tells them apart in a strategic merge patch; without it such a patch replaces it.
    ``go_type``: the name of the list's type, if it has one of its own."""
    schema: Obj = {"type": "array", "items": items}
    if key:
        schema |= {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(key)}
    else:
        schema["x-kubernetes-list-type"] = "set" if unique else "atomic"
    if merge_key:
        schema |= {"x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": merge_key}
    return _named(schema, description, go_type)


def mapping(values: Obj, description: str = "", *, go_type: str = "") -> Obj:
    """``go_type``: the name of the map's type, if it has one of its own."""
    return _named({"type": "object", "additionalProperties": values}, description, go_type)


def record(
    properties: Mapping[str, Obj],
    description: str = "",
    *,
    go_type: str = "",
    required: Sequence[str] = (),
    atomic: bool = False,
) -> Obj:
    """An object with named fields. ``go_type`` with its package (``v1.LeaseSpec``). ``atomic``: an apply owns it as
    one value."""
    schema: dict[str, Any] = {"type": "object", "properties": dict(properties)}
    if atomic:
        schema["x-kubernetes-map-type"] = "atomic"
    if required:
        schema["required"] = list(required)
    if go_type:
        schema[GO_TYPE] = go_type
    return _described(schema, description)


def pointer(schema: Obj) -> Obj:
    return {**schema, POINTER: True}


def always(schema: Obj) -> Obj:
    return {**schema, ALWAYS: True}
