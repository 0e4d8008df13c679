"""How values of a schema compare and add: sets without order, map lists by their keys, objects field by field.

Source: kubernetes/apiserver ``pkg/cel/common/valuesunstructured.go``.
"""

from __future__ import annotations

from typing import Any

from controlplane.apimachinery.identity import Obj
from controlplane.cel.equality import equal
from controlplane.cel.types import Semantics

__all__ = ["SchemaSemantics", "semantics"]


def semantics(schema: Obj) -> SchemaSemantics | None:
    """What a schema asks of ``==`` and ``+`` beyond the language; None if nothing."""
    return SchemaSemantics(schema) if _is_special(schema) else None


def _is_special(schema: Obj) -> bool:
    """Whether order, somewhere in values of the schema, does not count."""
    if schema.get("type") == "array":
        items = schema.get("items")
        return schema.get("x-kubernetes-list-type") in ("map", "set") or (
            isinstance(items, dict) and _is_special(items)
        )
    extra = schema.get("additionalProperties")
    if isinstance(extra, dict) and _is_special(extra):
        return True
    return any(_is_special(inner) for inner in (schema.get("properties") or {}).values())


class SchemaSemantics(Semantics):
    """Of one schema."""

    __slots__ = ("schema",)

    def __init__(self, schema: Obj) -> None:
        self.schema = schema

    def equal(self, left: object, right: object) -> bool:
        """Equality by the schema."""
        return _equal(self.schema, left, right)

    def add(self, left: list[object], right: list[object]) -> list[object]:
        """Union of sets; map lists merged by key, the right one's items in the left one's places."""
        match self.schema.get("x-kubernetes-list-type"):
            case "set":
                return _union(left, right)
            case "map":
                return _merged(self.schema, left, right)
            case _:
                return left + right


def _equal(schema: Obj | None, left: Any, right: Any) -> bool:
    if schema is None:
        return equal(left, right)
    if type(left) is dict and type(right) is dict:
        return _equal_objects(schema, left, right)
    if type(left) is not list or type(right) is not list:
        return equal(left, right)
    if len(left) != len(right):
        return False
    items: Obj | None = schema.get("items")
    match schema.get("x-kubernetes-list-type"):
        case "set":
            return {_key(item) for item in left} == {_key(item) for item in right}
        case "map":
            known, others = _by_keys(schema, left), _by_keys(schema, right)
            return known.keys() == others.keys() and all(_equal(items, known[key], others[key]) for key in known)
        case _:
            return all(_equal(items, one, other) for one, other in zip(left, right, strict=True))


def _equal_objects(schema: Obj, left: Obj, right: Obj) -> bool:
    if len(left) != len(right):
        return False
    properties = schema.get("properties") or {}
    extra = schema.get("additionalProperties")
    for name, value in left.items():
        if name not in right:
            return False
        inner = properties.get(name)
        if inner is None and isinstance(extra, dict):
            inner = extra
        if not _equal(inner, value, right[name]):
            return False
    return True


def _key(value: Any) -> Any:
    """A value as a member of a set; JSON's true is not 1."""
    if type(value) is list:
        return ("list", tuple(map(_key, value)))
    if type(value) is dict:
        return ("map", frozenset((key, _key(item)) for key, item in value.items()))
    return (type(value) is bool, value)


def _by_keys(schema: Obj, items: list[Any]) -> dict[Any, Any]:
    keys = schema.get("x-kubernetes-list-map-keys") or ()
    return {tuple(_key(item.get(key)) for key in keys) if type(item) is dict else _key(item): item for item in items}


def _union(left: list[Any], right: list[Any]) -> list[Any]:
    seen = {_key(item) for item in left}
    joined = list(left)
    for item in right:
        key = _key(item)
        if key not in seen:
            seen.add(key)
            joined.append(item)
    return joined


def _merged(schema: Obj, left: list[Any], right: list[Any]) -> list[Any]:
    merged = _by_keys(schema, left)
    merged.update(_by_keys(schema, right))
    return list(merged.values())
