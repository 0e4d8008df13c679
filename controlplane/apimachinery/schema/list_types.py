"""Lists that are sets or maps: no item, or no combination of keys, may occur twice.

Source: kubernetes/apiextensions-apiserver ``pkg/apiserver/schema/listtype``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from controlplane.apimachinery.codec.json import dumps_sorted, in_order
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.nodes import Node
from controlplane.apimachinery.validation.field import ENOUGH_ERRORS, FieldError, duplicate, invalid

__all__ = ["list_type_errors", "repeated_items"]


def list_type_errors(value: Any, node: Node | None, path: str = "") -> list[FieldError]:
    """The repeated items of all lists in a value, and what is no object in a map list."""
    errors: list[FieldError] = []
    if node is not None:
        _walk(value, node, path, errors)
    return errors


def _walk(value: Any, node: Node, path: str, errors: list[FieldError]) -> None:
    if type(value) is dict:
        for key, item in value.items():
            if (type(item) is dict or type(item) is list) and (child := node.child(key)) is not None:
                at = f"{path}.{key}" if path else key
                _walk(item, child, at if key in node.properties else f"{path}[{key}]", errors)
    elif type(value) is list:
        errors += repeated_items(value, node.schema, path)
        if (items := node.items) is not None:
            for i, item in enumerate(value):
                if type(item) is dict or type(item) is list:
                    _walk(item, items, f"{path}[{i}]", errors)


def repeated_items(value: list[Any], schema: Obj, path: str) -> list[FieldError]:
    """What one list repeats; each repeated item once, at its second place."""
    match schema.get("x-kubernetes-list-type"):
        case "set":
            places = _repeated(value)[:ENOUGH_ERRORS]
            return [duplicate(f"{path}[{i}]", in_order(value[i])) for i in places]
        case "map":
            for i, item in enumerate(value):
                if item is not None and type(item) is not dict:
                    return [invalid(f"{path}[{i}]", item, "must be an object for an array of list-type map")]
            if len(value) < 2:
                return []
            names: Sequence[str] = schema.get("x-kubernetes-list-map-keys") or ()
            keys = [{name: item[name] for name in names if name in item} if item else {} for item in value]
            return [duplicate(f"{path}[{i}]", in_order(keys[i])) for i in _repeated(keys)[:ENOUGH_ERRORS]]
    return []


def _repeated(items: list[Any]) -> list[int]:
    """The second places of items that occur more than once."""
    seen: dict[Any, int] = {}
    places = []
    for i, item in enumerate(items):
        mark: Any = (type(item), item)
        if type(item) is dict:
            if len(item) == 1:
                ((name, only),) = item.items()
                plain = type(only) is str or type(only) is int
                mark = (name, only) if plain else dumps_sorted(item)
            else:
                mark = dumps_sorted(item)
        elif type(item) is list:
            mark = dumps_sorted(item)
        times = seen[mark] = seen.get(mark, 0) + 1
        if times == 2:
            places.append(i)
    return places
