"""Which part of an object before an update belongs to which part after it: by field, and in map lists by their keys.

Items of other lists have no counterpart, since their place says nothing.

Source: kubernetes/apiserver ``pkg/cel/common/equality.go``.
"""

from __future__ import annotations

from typing import Any, Final

from controlplane.apimachinery.schema.nodes import Node

__all__ = ["ABSENT", "old_field", "old_item", "unchanged"]

ABSENT: Final = object()
"""In place of an old value: there is none to compare with."""


def old_field(node: Node, name: str, old: Any) -> Any:
    """What a field held before; ABSENT if it cannot be told."""
    if type(old) is not dict or name not in old or node.child(name) is None:
        return ABSENT
    return old[name]


def old_item(node: Node, item: Any, old: Any) -> Any:
    """The item of a map list that had this one's keys before; ABSENT if there was none, or the list is no map."""
    schema = node.schema
    if type(old) is not list or type(item) is not dict or schema.get("x-kubernetes-list-type") != "map":
        return ABSENT
    keys = schema.get("x-kubernetes-list-map-keys") or ()
    wanted = [item.get(key) for key in keys]
    for other in old:
        if type(other) is dict and [other.get(key) for key in keys] == wanted:
            return other
    return ABSENT


def unchanged(node: Node | None, value: Any, old: Any) -> bool:
    """Whether a value is what it was; map lists may be in another order."""
    if node is None or old is ABSENT:
        return False
    if type(value) is dict and type(old) is dict:
        return len(value) == len(old) and all(
            unchanged(node.child(name), item, old_field(node, name, old)) for name, item in value.items()
        )
    if type(value) is list and type(old) is list:
        if len(value) != len(old):
            return False
        if node.schema.get("x-kubernetes-list-type") != "map" or node.items is None:
            return bool(value == old)
        return all(unchanged(node.items, item, old_item(node, item, old)) for item in value)
    return type(value) is type(old) and bool(value == old)
