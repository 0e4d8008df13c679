"""Values as Kubernetes prints them in errors: its own types have no names for JSON, so the fields of Go structs show.

Source: kubernetes/apimachinery ``pkg/util/validation/field`` (ErrorBody), which encodes what it was given.
"""

from __future__ import annotations

from typing import Any

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.native import POINTER

__all__ = ["as_printed", "in_declared_order"]

_INITIALISMS = {"api": "API", "uid": "UID", "tls": "TLS"}
_ZEROS: dict[str, Any] = {"string": "", "boolean": False, "integer": 0, "number": 0}


def as_printed(value: Any, schema: Obj) -> Any:
    """A value of a schema's type with Go's names, each field there, what is missing null or zero."""
    if value is None:
        if schema.get(POINTER) or "properties" not in schema:
            return None if schema.get(POINTER) else _ZEROS.get(schema["type"])
        value = {}
    if "properties" in schema:
        return {_go_name(name): as_printed(value.get(name), child) for name, child in schema["properties"].items()}
    if schema["type"] == "array":
        return [as_printed(item, schema["items"]) for item in value]
    return _sorted(value)


def _go_name(name: str) -> str:
    for start, upper in _INITIALISMS.items():
        if name == start or (name.startswith(start) and name[len(start)].isupper()):
            return upper + name[len(start) :]
    return name[:1].upper() + name[1:]


def in_declared_order(value: Any, schema: Obj) -> Any:
    """A value whose fields stand as the schema declares them, and whose maps are sorted: how Go writes types that have
    names for JSON. What is missing stays so."""
    if isinstance(value, dict) and "properties" in schema:
        properties = schema["properties"]
        return {name: in_declared_order(value[name], properties[name]) for name in properties if name in value}
    if isinstance(value, list):
        return [in_declared_order(item, schema.get("items") or {}) for item in value]
    return _sorted(value)


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _sorted(item) for name, item in sorted(value.items())}
    return value
