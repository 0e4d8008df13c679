"""The parts of a schema that no rule can object to: nearly all of most schemas, found in one pass.

A part is plain if it and all below it use only keywords that are always allowed, with a known type. Whoever applies the
rules of structural schemas passes over them, at a tenth of the time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from controlplane.apimachinery.identity import Obj
from controlplane.cel.patterns import PatternError, searcher

__all__ = ["plain_parts", "plain_steps"]

_SCALARS = frozenset({"string", "integer", "boolean", "number"})
_VALUES = frozenset(
    {
        "description", "title", "type", "format", "enum", "required", "minimum", "maximum", "exclusiveMinimum",
        "exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties",
        "multipleOf", "pattern", "example", "externalDocs", "nullable",
    }
)  # fmt: skip
_OF_OBJECTS = _VALUES | {
    "properties",
    "additionalProperties",
    "x-kubernetes-map-type",
    "x-kubernetes-preserve-unknown-fields",
}
_OF_LISTS = _VALUES | {"items", "x-kubernetes-list-type", "x-kubernetes-list-map-keys"}
_OF_EITHER = _VALUES - {"type"} | {"anyOf", "x-kubernetes-int-or-string"}
_EITHER = [{"type": "integer"}, {"type": "string"}]
_LEVELS_OF_BREAKS = 4
"""Down to spec's fields' fields: what is below one of them is small."""
_NEVER_PLAIN = frozenset({"metadata", "kind", "apiVersion"})
"""Fields that may have a meaning of their own, and are looked at with their parents."""


def plain_parts(schema: Obj) -> frozenset[int]:
    """The ids of the plain schemas inside ``schema``; good as long as it is neither changed nor dropped."""
    plain: set[int] = set()
    for _ in plain_steps(schema, plain):
        pass
    return frozenset(plain)


def plain_steps(schema: Any, plain: set[int], levels: int = _LEVELS_OF_BREAKS) -> Iterator[None]:
    """Add the plain schemas inside ``schema``, and itself; with breaks in the topmost levels."""
    if type(schema) is dict:
        for inner in _inner(schema):
            if levels:
                yield from plain_steps(inner, plain, levels - 1)
            else:
                _look(inner, plain)
        _judge(schema, plain)
    yield


def _look(schema: Any, plain: set[int]) -> None:
    if type(schema) is dict:
        for inner in _inner(schema):
            _look(inner, plain)
        _judge(schema, plain)


def _inner(schema: Obj) -> list[Any]:
    """The schemas below one that may be plain."""
    return [*(schema.get("properties") or {}).values(), schema.get("items"), schema.get("additionalProperties")]


def _judge(schema: Obj, plain: set[int]) -> None:
    """See whether a schema is plain, of which all that is below has been judged."""
    type_name = schema.get("type")
    if type_name in _SCALARS:
        harmless = _VALUES.issuperset(schema)
    elif type_name == "object":
        harmless = _has_plain_fields(schema, plain) and _OF_OBJECTS.issuperset(schema)
        harmless = harmless and schema.get("x-kubernetes-map-type") in (None, "atomic", "granular")
        harmless = harmless and schema.get("x-kubernetes-preserve-unknown-fields") in (None, True)
    elif type_name == "array":
        harmless = id(schema.get("items")) in plain and _OF_LISTS.issuperset(schema) and _is_harmless_list(schema)
    else:
        harmless = schema.get("x-kubernetes-int-or-string") is True and _OF_EITHER.issuperset(schema)
        harmless = harmless and schema.get("anyOf", _EITHER) == _EITHER
    if harmless and "pattern" in schema:
        try:
            searcher(schema["pattern"])
        except PatternError:
            return
    if harmless:
        plain.add(id(schema))


def _has_plain_fields(schema: Obj, plain: set[int]) -> bool:
    properties, extra = schema.get("properties"), schema.get("additionalProperties")
    for name, inner in properties.items() if properties else ():
        if id(inner) not in plain or name in _NEVER_PLAIN:
            return False
    return extra is None or extra is True or (id(extra) in plain and not properties)


def _is_harmless_list(schema: Obj) -> bool:
    """Whether a list that merges as it says can: atomic, or a map whose keys are always there."""
    list_type, keys = schema.get("x-kubernetes-list-type"), schema.get("x-kubernetes-list-map-keys")
    if list_type in (None, "atomic"):
        return not keys
    items = schema["items"]
    if list_type != "map" or not keys or items.get("type") != "object" or items.get("nullable"):
        return False
    properties, needed = items.get("properties") or {}, items.get("required") or ()
    return len(set(keys)) == len(keys) and all(
        key in needed and key in properties and not properties[key].get("nullable") and _is_scalar(properties[key])
        for key in keys
    )


def _is_scalar(schema: Obj) -> bool:
    return schema.get("type") in _SCALARS
