"""Schemas of references from one object to another.

Source: kubernetes' core/v1 ObjectReference and LocalObjectReference.
"""

from __future__ import annotations

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.native import pointer, record, string

__all__ = ["LOCAL_OBJECT_REFERENCE", "REFERENCE_NUMBERS", "object_reference"]

REFERENCE_NUMBERS = {
    "ObjectReference": "kind namespace name uid apiVersion resourceVersion fieldPath",
    "LocalObjectReference": "name",
}
"""Of the protobuf messages."""

LOCAL_OBJECT_REFERENCE = record(
    {"name": string("Name of the object.")},
    "An object in the same namespace.",
    go_type="v1.LocalObjectReference",
    atomic=True,
)


def object_reference(description: str, *, optional: bool = False) -> Obj:
    """A reference to any object; ``optional``: it may be missing rather than empty."""
    schema = record(
        {
            "kind": string("Kind of the object."),
            "namespace": string("Namespace of the object; empty if it has none."),
            "name": string("Name of the object."),
            "uid": string("UID of the object.", go_type="types.UID"),
            "apiVersion": string("Group and version in which the object is meant."),
            "resourceVersion": string("Resource version of the object that is meant."),
            "fieldPath": string("The part of the object that is meant, if not the whole: spec.containers{name}."),
        },
        description,
        go_type="v1.ObjectReference",
        atomic=True,
    )
    return pointer(schema) if optional else schema
