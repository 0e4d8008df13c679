"""The parts of a schema that no rule can object to: nearly all of most schemas, found in one pass.

A part is plain if it and all below it use only keywords that are always allowed, with a known type. Whoever applies the
rules of structural schemas passes over them, at a tenth of the time.
"""

from __future__ import annotations

from typing import Any

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.patterns import PatternError, searcher

__all__ = ["plain_parts"]

_SCALARS = frozenset({"string", "integer", "boolean", "number"})
_HARMLESS = frozenset(
    {
        "description", "title", "type", "format", "enum", "required", "minimum", "maximum", "exclusiveMinimum",
        "exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties",
        "multipleOf", "properties", "items", "additionalProperties", "pattern", "example", "externalDocs",
    }
)  # fmt: skip
_NEVER_PLAIN = frozenset({"metadata", "kind", "apiVersion"})
"""Fields that may have a meaning of their own, and are looked at with their parents."""


def plain_parts(schema: Obj) -> frozenset[int]:
    """The ids of the plain schemas inside ``schema``; good as long as it is neither changed nor dropped."""
    plain: set[int] = set()
    _look(schema, plain)
    return frozenset(plain)


def _look(schema: Any, plain: set[int]) -> bool:
    """Whether a schema is plain; those inside that are go to ``plain``."""
    if type(schema) is not dict:
        return False
    harmless = _HARMLESS.issuperset(schema)
    type_name = schema.get("type")
    if type_name in _SCALARS:
        harmless = harmless and not ("properties" in schema or "items" in schema or "additionalProperties" in schema)
    elif type_name == "object":
        properties, extra = schema.get("properties"), schema.get("additionalProperties")
        for name, inner in properties.items() if properties else ():
            harmless = (_look(inner, plain) and name not in _NEVER_PLAIN) and harmless
        if extra is not None:
            harmless = (extra is True or _look(extra, plain)) and not properties and harmless
        harmless = harmless and "items" not in schema
    elif type_name == "array":
        harmless = _look(schema.get("items"), plain) and harmless
        harmless = harmless and not ("properties" in schema or "additionalProperties" in schema)
    else:
        _look_inside(schema, plain)
        return False
    if harmless and "pattern" in schema:
        try:
            searcher(schema["pattern"])
        except PatternError:
            return False
    if harmless:
        plain.add(id(schema))
    return harmless


def _look_inside(schema: Obj, plain: set[int]) -> None:
    for inner in (schema.get("properties") or {}).values():
        _look(inner, plain)
    for keyword in ("items", "additionalProperties"):
        _look(schema.get(keyword), plain)
