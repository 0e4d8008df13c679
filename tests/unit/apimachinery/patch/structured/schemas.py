"""A type with every kind of list and map, for the tests of merging."""

from __future__ import annotations

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.patch.structured.types import Type, object_type

__all__ = ["THING", "thing"]

THING: Type = object_type(
    {
        "properties": {
            "scalar": {"type": "string"},
            "number": {"type": "integer"},
            "set": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            "atomic": {"type": "array", "items": {"type": "string"}},
            "map": {"type": "object", "additionalProperties": {"type": "string"}},
            "atomicMap": {
                "type": "object",
                "additionalProperties": {"type": "string"},
                "x-kubernetes-map-type": "atomic",
            },
            "ports": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["port", "protocol"],
                "items": {
                    "type": "object",
                    "properties": {
                        "port": {"type": "integer"},
                        "protocol": {"type": "string", "default": "TCP"},
                        "name": {"type": "string"},
                        "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
                    },
                },
            },
            "nested": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}},
            "anything": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        }
    }
)


def thing(**fields: object) -> Obj:
    return {"apiVersion": "example.org/v1", "kind": "Thing", "metadata": {"name": "t"}, **fields}
