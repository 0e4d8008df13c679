"""Stored objects that were written before metadata was checked: what cannot be read of it is dropped.

Source: kubernetes/apiextensions-apiserver ``pkg/apiserver/schema/objectmeta`` (GetObjectMetaWithOptions with
DropMalformedFields, coerce with DropInvalidFields) and ``pkg/apiserver/customresource_handler.go`` (repairGeneration).
"""

from __future__ import annotations

from typing import Any

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.decode import DecodeError, decode_metadata
from controlplane.apimachinery.schema.nodes import Node

__all__ = ["repair_embedded", "repair_metadata"]


def repair_metadata(obj: Obj) -> bool:
    """Drop what is malformed or unknown in an object's metadata, in place; a missing generation is 1. Returns whether
    anything was changed."""
    changed = _drop_malformed(obj)
    metadata = obj.get("metadata")
    if type(metadata) is dict and not metadata.get("generation"):
        metadata["generation"] = 1
        changed = True
    return changed


def repair_embedded(value: Any, node: Node | None) -> bool:
    """The same for the objects embedded in a value, without a generation; ``node`` is not such an object's itself."""
    if node is None:
        return False
    changed = False
    if type(value) is dict:
        for key, item in value.items():
            child = node.child(key)
            if type(item) is dict and child is not None and child.embedded:
                changed |= _repair_one(item)
            changed |= repair_embedded(item, child)
    elif type(value) is list:
        items = node.items
        for item in value:
            if type(item) is dict and items is not None and items.embedded:
                changed |= _repair_one(item)
            changed |= repair_embedded(item, items)
    return changed


def _repair_one(embedded: Obj) -> bool:
    wrong = [key for key in ("apiVersion", "kind") if key in embedded and type(embedded[key]) is not str]
    for key in wrong:
        del embedded[key]
    return _drop_malformed(embedded) or bool(wrong)


_TEXTS = frozenset({"name", "namespace", "uid", "resourceVersion", "generateName", "selfLink"})
_MAPS = frozenset({"labels", "annotations"})
_CANONICAL_TIME_CHARS = len("2006-01-02T15:04:05Z")


def _is_plain(metadata: Any) -> bool:
    """Whether metadata is surely well formed, as that of nearly all objects. What managers have set is written by
    servers alone."""
    if type(metadata) is not dict:
        return False
    for key, value in metadata.items():
        if key in _TEXTS:
            if type(value) is not str:
                return False
        elif key in _MAPS:
            if type(value) is not dict or any(type(item) is not str for item in value.values()):
                return False
        elif key == "generation":
            if type(value) is not int:
                return False
        elif key == "creationTimestamp":
            if type(value) is not str or len(value) != _CANONICAL_TIME_CHARS or value[-1] != "Z":
                return False
        elif key != "managedFields":
            return False
    return True


def _drop_malformed(obj: Obj) -> bool:
    if "metadata" not in obj or _is_plain(obj["metadata"]):
        return False
    try:
        return bool(decode_metadata(obj))
    except DecodeError:
        pass
    metadata = obj["metadata"]
    if type(metadata) is not dict:
        return False  # not even upstream makes anything of it
    for key in list(metadata):
        try:
            decode_metadata({"metadata": {key: metadata[key]}})
        except DecodeError:
            del metadata[key]
    decode_metadata(obj)
    return True
