"""What happens to a custom object's fields before it is validated: unknown ones go, empty ones go, defaults come.

Each function walks the object, in place, as far as it reaches; what the schema has beyond it costs nothing.

Source: kubernetes/apiextensions-apiserver ``pkg/apiserver/schema/{pruning,defaulting}``.
"""

from __future__ import annotations

from typing import Any

from controlplane.apimachinery.codec.json import dumps, loads
from controlplane.apimachinery.schema.nodes import META_FIELDS, Node

__all__ = ["apply_defaults", "drop_nulls", "prune"]


def prune(value: Any, node: Node) -> list[str]:
    """Drop the fields that a schema does not know. ``node`` is the root's, with ``embedded`` set.

    Returns:
        The paths of what was dropped (``spec.x``, ``spec.list[0].y``), sorted.
    """
    unknown: list[str] = []
    _prune(value, node, "", unknown)
    unknown.sort()
    return unknown


def _prune(value: Any, node: Node | None, path: str, unknown: list[str]) -> None:
    if node is not None and node.preserve:
        _skip(value, node, path, unknown)
    elif type(value) is dict:
        _prune_object(value, node, path, unknown)
    elif type(value) is list:
        items = node.items if node is not None else None
        for i, item in enumerate(value):
            if type(item) is dict or type(item) is list:
                _prune(item, items, f"{path}[{i}]", unknown)


def _prune_object(value: dict[str, Any], node: Node | None, path: str, unknown: list[str]) -> None:
    if node is None:
        unknown.extend(f"{path}.{key}" if path else key for key in value)
        value.clear()
        return
    properties, dropped = node.properties, None
    for key, item in value.items():
        if key in properties:
            if (type(item) is dict or type(item) is list) and not (node.embedded and key in META_FIELDS):
                _prune(item, node.child(key), f"{path}.{key}" if path else key, unknown)
        elif node.embedded and key in META_FIELDS:
            continue
        elif node.extra is not None or node.open_ended:
            if type(item) is dict or type(item) is list:
                _prune(item, node.additional, f"{path}.{key}" if path else key, unknown)
        else:
            if dropped is None:
                dropped = []
            dropped.append(key)
    if dropped is not None:
        for key in dropped:
            del value[key]
            if path or key not in META_FIELDS:
                unknown.append(f"{path}.{key}" if path else key)


def _skip(value: Any, node: Node | None, path: str, unknown: list[str]) -> None:
    """Keep unknown fields here, and look only into what has a schema."""
    if node is None:
        return
    if type(value) is dict:
        others = node.extra is not None or node.open_ended
        for key, item in value.items():
            if type(item) is not dict and type(item) is not list:
                continue
            if (key in node.properties or others) and not (node.embedded and key in META_FIELDS):
                _prune(item, node.child(key), f"{path}.{key}" if path else key, unknown)
    elif type(value) is list:
        for i, item in enumerate(value):
            _skip(item, node.items, f"{path}[{i}]", unknown)


def drop_nulls(value: Any, node: Node | None) -> bool:
    """Drop fields that are null and may not be, unless a default will stand for them. Returns whether any was."""
    changed = False
    if type(value) is dict:
        dropped = None
        for key, item in value.items():
            if item is None:
                child = node.child(key) if node is not None else None
                if child is not None and not child.nullable and child.default is None:
                    if dropped is None:
                        dropped = []
                    dropped.append(key)
            elif (type(item) is dict or type(item) is list) and node is not None:
                changed |= drop_nulls(item, node.child(key))
        if dropped is not None:
            changed = True
            for key in dropped:
                del value[key]
    elif type(value) is list and node is not None and (items := node.items) is not None:
        for item in value:
            if type(item) is dict or type(item) is list:
                changed |= drop_nulls(item, items)
    return changed


def apply_defaults(value: Any, node: Node | None) -> bool:
    """Fill in what is missing, or null and may not be, and has a default. Returns whether anything was."""
    if node is None:
        return False
    changed = False
    if type(value) is dict:
        for key, default in node.defaults.items():
            if key not in value or (value[key] is None and not node.properties[key].get("nullable")):
                value[key] = _copy(default)
                changed = True
        additional = node.additional
        for key, item in value.items():
            if item is None and additional is not None and not additional.nullable and key not in node.properties:
                value[key] = item = _copy(additional.default)
                changed |= item is not None
            if type(item) is dict or type(item) is list:
                changed |= apply_defaults(item, node.child(key))
    elif type(value) is list and (items := node.items) is not None:
        for i, item in enumerate(value):
            if item is None and not items.nullable and items.default is not None:
                value[i] = item = _copy(items.default)
                changed = True
            if type(item) is dict or type(item) is list:
                changed |= apply_defaults(item, items)
    return changed


def _copy(value: Any) -> Any:
    return loads(dumps(value)) if isinstance(value, (dict, list)) else value
