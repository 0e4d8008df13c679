"""What somebody else may have put into the store: an object with every field of its kind, and that with one place of
it replaced by something else, or missing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from controlplane.apiextensions.definition.resource import DEFINITIONS
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.resource import Resource
from controlplane.apimachinery.schema.native import DEFINITION, GO_TYPE, QUANTITY, UNION
from controlplane.apis.builtin import BUILTIN

__all__ = ["LONG", "STORED_KINDS", "filled", "spoilt", "spoilt_objects"]

LONG = bool(os.environ.get("CONTROLPLANE_TEST_LONG"))
STORED_KINDS = tuple(resource for resource in (*BUILTIN, DEFINITIONS) if resource.stored)
_OTHERS: tuple[Any, ...] = ("text", ["a"], 5, {"a": {"b": 1}}, None, [None], [[]], [{}], {}, {"a": None}, True, 1.5)
_TEXTS: dict[tuple[str | None, str | None], str] = {
    ("date-time", "v1.Time"): "2026-01-01T00:00:00Z",
    ("date-time", "v1.MicroTime"): "2026-01-01T00:00:00.000000Z",
    (None, QUANTITY): "1",
}


def filled(schema: Obj) -> Any:
    """A value with every field of a native schema, each list and map with one item."""
    if UNION in schema or DEFINITION in schema:
        return {}
    match schema.get("type"):
        case "object" if "properties" in schema:
            return {name: filled(field) for name, field in schema["properties"].items()}
        case "object":
            return {"k": filled(schema["additionalProperties"])} if "additionalProperties" in schema else {}
        case "array":
            return [filled(schema["items"])]
        case "string" if schema.get("format") == "byte":
            return "eA=="
        case "string":
            return _TEXTS.get((schema.get("format"), schema.get(GO_TYPE)), "x")
        case "boolean":
            return True
        case _:
            return 1


def spoilt(value: Any, depth: int) -> Iterator[Any]:
    """The value with one place of it, at most this deep, of another type or (a field) missing."""
    yield from _OTHERS
    if not depth:
        return
    if isinstance(value, dict):
        for name in value:
            yield {key: kept for key, kept in value.items() if key != name}
            for other in spoilt(value[name], depth - 1):
                yield {**value, name: other}
    elif isinstance(value, list) and value:
        for other in spoilt(value[0], depth - 1):
            yield [other]


def spoilt_objects(resource: Resource, depth: int) -> Iterator[Obj]:
    """Objects of a kind, as they are stored, with sound metadata but something else unsound in most of them."""
    version = next(one for one in resource.versions if one.name == resource.storage_version)
    whole = {key: value for key, value in filled(version.schema).items() if key not in ("apiVersion", "kind")}
    whole.pop("metadata", None)
    for number, fields in enumerate(fields for fields in spoilt(whole, depth) if isinstance(fields, dict)):
        metadata = {"name": f"spoilt{number}", **({"namespace": "default"} if resource.namespaced else {})}
        yield {"kind": resource.kind, "apiVersion": resource.storage_gvk.api_version, "metadata": metadata, **fields}
