"""What the messages of both dialects have in common: how schemas are walked, and fields that are named alike.

Schemas are written from the top down, in steps: a schema's message exists before those of the schemas in it, so depth
costs no stack.

Source: google/gnostic ``openapiv2`` and ``openapiv3`` (field numbers, and what becomes of which key).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from google.protobuf.message import Message

from controlplane.apimachinery.codec.json import dumps
from controlplane.apimachinery.identity import Obj
from controlplane.apiserver.openapi.steps import Steps

__all__ = ["Pending", "add_extension", "fill_in_steps", "set_common", "yaml_of"]

_NODES_PER_STEP = 50

M = TypeVar("M", bound=Message)
Pending = list[tuple[Obj, M]]
"""Schemas still to be written, each with its message."""
_Fill = Callable[[Obj, M, Pending[M]], None]
"""Writes one schema but for the schemas in it, which it puts to the pending ones."""

_PLAIN = {
    "$ref": "_ref",
    "format": "format",
    "title": "title",
    "description": "description",
    "pattern": "pattern",
    "exclusiveMaximum": "exclusive_maximum",
    "exclusiveMinimum": "exclusive_minimum",
    "uniqueItems": "unique_items",
    "readOnly": "read_only",
    "nullable": "nullable",
}
_INTEGERS = {
    "maxLength": "max_length",
    "minLength": "min_length",
    "maxItems": "max_items",
    "minItems": "min_items",
    "maxProperties": "max_properties",
    "minProperties": "min_properties",
}
_FLOATS = {"multipleOf": "multiple_of", "maximum": "maximum", "minimum": "minimum"}


def fill_in_steps(schema: Obj, message: M, fill: _Fill[M], level: Callable[[Obj], Obj] | None) -> Steps[None]:
    """Write a schema with all schemas in it. ``level``: gives what is written of each schema in it."""
    pending: Pending[M] = [(schema, message)]
    nodes = 0
    while pending:
        source, target = pending.pop()
        fill(source if level is None or source is schema else level(source), target, pending)
        nodes += 1
        if nodes % _NODES_PER_STEP == 0:
            yield None


def set_common(message: Any, key: str, value: Any) -> bool:
    """Set the field of a key that both dialects have alike; False if it is none of these."""
    if key in _PLAIN:
        setattr(message, _PLAIN[key], value)
    elif key in _INTEGERS:
        setattr(message, _INTEGERS[key], int(value))
    elif key in _FLOATS:
        setattr(message, _FLOATS[key], float(value))
    elif key == "required":
        message.required.extend(value)
    elif key == "enum":
        for one in value:
            message.enum.add(yaml=yaml_of(one))
    elif key == "example":
        message.example.yaml = yaml_of(value)
    elif key == "externalDocs":
        message.external_docs.url = value.get("url", "")
        message.external_docs.description = value.get("description", "")
    else:
        return False
    return True


def yaml_of(value: Any) -> str:
    """A value as YAML text."""
    return dumps(value).decode()


def add_extension(extensions: Any, key: str, value: Any) -> None:
    """Add a key that begins with ``x-`` to a list of them."""
    added = extensions.add()
    added.name = key
    added.value.yaml = yaml_of(value)
