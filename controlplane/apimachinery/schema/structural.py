"""Structural schemas: the rules that make pruning and defaulting well defined.

Outside of ``allOf``, ``anyOf``, ``oneOf`` and ``not`` the shape of values is said, whole; inside, only what values are
allowed, and of no field that is not named outside.

Source: kubernetes/apiextensions-apiserver ``pkg/apiserver/schema`` (validation.go, complete.go, convert.go).
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from itertools import chain
from typing import Any

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.validation.field import ENOUGH_ERRORS, FieldError, forbidden, invalid, required
from controlplane.cel.patterns import PatternError, searcher

__all__ = ["says_something", "structural_errors", "structural_findings", "unsupported_keyword"]

_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED = "x-kubernetes-embedded-resource"
_INT_OR_STRING = "x-kubernetes-int-or-string"
_EITHER = ({"type": "integer"}, {"type": "string"})
_UNSUPPORTED = (
    ("id", "id"),
    ("$schema", "schema"),
    ("$ref", "$ref"),
    ("patternProperties", "patternProperties"),
    ("dependencies", "dependencies"),
    ("additionalItems", "additionalItems"),
    ("definitions", "definitions"),
)
_SHAPE_KEYWORDS = (
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    (_PRESERVE, "must be false to be structural"),
    (_EMBEDDED, "must be false to be structural"),
    (_INT_OR_STRING, "must be false to be structural"),
    ("x-kubernetes-list-map-keys", "must be empty to be structural"),
    ("x-kubernetes-list-type", "must be undefined to be structural"),
    ("x-kubernetes-map-type", "must be undefined to be structural"),
    ("x-kubernetes-validations", "must be empty to be structural"),
)
_NO_TYPE = {
    "root": "must not be empty at the root",
    "item": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}


class _Level(Enum):
    ROOT = "root"
    ITEM = "item"
    FIELD = "field"


_NO_PARTS: frozenset[int] = frozenset()


def unsupported_keyword(schema: Obj, plain: frozenset[int] = _NO_PARTS) -> str:
    """Why a schema, or one inside it, cannot be made structural at all; ``""`` if it can be. ``plain``: its plain
    parts (``plain.plain_parts``), which need not be looked at."""
    for keyword, shown in _UNSUPPORTED:
        if schema.get(keyword) not in (None, "", {}) or (keyword == "additionalItems" and keyword in schema):
            return f"OpenAPIV3Schema '{shown}' is not supported"
    if schema.get(_PRESERVE) is False:
        return "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined"
    if isinstance(schema.get("items"), list):
        return "OpenAPIV3Schema 'items' must be a schema, but is an array"
    for inner in _inner(schema):
        if id(inner) not in plain and (why := unsupported_keyword(inner, plain)):
            return why
    return ""


def _inner(schema: Obj) -> Iterator[Obj]:
    for keyword in ("allOf", "anyOf", "oneOf"):
        yield from schema.get(keyword) or ()
    for keyword in ("not", "items", "additionalProperties"):
        if isinstance(schema.get(keyword), dict):
            yield schema[keyword]
    yield from (schema.get("properties") or {}).values()


def structural_errors(schema: Obj, path: str, plain: frozenset[int] = _NO_PARTS) -> list[FieldError]:
    """What keeps a schema, which has no unsupported keyword, from being structural; sorted by text."""
    return [error for error in structural_findings(schema, path, plain) if error is not None]


def structural_findings(schema: Obj, path: str, plain: frozenset[int] = _NO_PARTS) -> Iterator[FieldError | None]:
    """The same, with None where there may be a break. Looks no further once enough has been found."""
    errors: list[FieldError] = []
    for found in chain(_invariants(schema, _Level.ROOT, path, plain), _completeness(schema, schema, path, path)):
        if found is None:
            yield None
        else:
            errors.append(found)
            if len(errors) == ENOUGH_ERRORS:
                break
    yield from sorted(errors, key=str)


def _invariants(schema: Obj, level: _Level, path: str, plain: frozenset[int]) -> Iterator[FieldError | None]:
    if id(schema) in plain and level is not _Level.ROOT:
        return
    yield None
    type_name = schema.get("type") or ""
    properties = schema.get("properties") or {}
    extra = schema.get("additionalProperties")
    preserve, embedded = bool(schema.get(_PRESERVE)), bool(schema.get(_EMBEDDED))
    items = schema.get("items")
    if items is not None:
        yield from _invariants(items, _Level.ITEM, f"{path}.items", plain)
    elif type_name == "array":
        yield required(f"{path}.items", "must be specified")
    for name, inner in properties.items():
        if id(inner) not in plain:
            yield from _invariants(inner, _Level.FIELD, f"{path}.properties[{name}]", plain)
    if extra is not None:
        if level is _Level.ROOT:
            yield forbidden(f"{path}.additionalProperties", "must not be used at the root")
        if isinstance(extra, dict):
            yield from _invariants(extra, _Level.FIELD, f"{path}.additionalProperties", plain)
        if embedded:
            at = f"{path}.additionalProperties"
            yield forbidden(at, "must not be used if x-kubernetes-embedded-resource is set")
    if schema.get(_INT_OR_STRING):
        for given, keyword in ((preserve, _PRESERVE), (embedded, _EMBEDDED)):
            if given:
                yield invalid(f"{path}.{keyword}", True, "must be false if x-kubernetes-int-or-string is true")
    yield from _values(schema, level, path, skip_any=_is_either(schema), skip_first=_is_either_among_all(schema))
    yield from _type_errors(schema, type_name, level, path)
    if properties:
        yield from _meta_fields(properties, path, checked=level is _Level.ROOT or embedded, level=level)
    elif embedded and not preserve:
        yield required(
            f"{path}.properties",
            "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
        )


def _type_errors(schema: Obj, type_name: str, level: _Level, path: str) -> Iterator[FieldError]:
    if schema.get(_EMBEDDED) and type_name != "object":
        why = "must be object if x-kubernetes-embedded-resource is true"
        yield invalid(f"{path}.type", type_name, why) if type_name else required(f"{path}.type", why)
    elif not type_name and not schema.get(_INT_OR_STRING) and not schema.get(_PRESERVE):
        yield required(f"{path}.type", _NO_TYPE[level.value])
    if level is _Level.ROOT and type_name and type_name != "object":
        yield invalid(f"{path}.type", type_name, "must be object at the root")


def _meta_fields(properties: Obj, path: str, *, checked: bool, level: _Level) -> Iterator[FieldError]:
    """kind, apiVersion and metadata, where they have their usual meaning."""
    if checked:
        for name in ("kind", "apiVersion"):
            if name in properties and properties[name].get("type") != "string":
                given = properties[name].get("type") or ""
                yield invalid(f"{path}.properties[{name}].type", given, "must be string")
    metadata = properties.get("metadata")
    if metadata is None:
        return
    at = f"{path}.properties[metadata]"
    if checked and metadata.get("type") != "object":
        yield invalid(f"{at}.type", metadata.get("type") or "", "must be object")
    if level is _Level.ROOT:
        more = {key for key, value in metadata.items() if says_something(key, value)} - {"type", "default"}
        if set(metadata.get("properties") or ()) <= {"name", "generateName"}:
            more -= {"properties"}
        if more:
            yield forbidden(
                at, "must not specify anything other than name and generateName, but metadata is implicitly specified"
            )


def says_something(keyword: str, value: Any) -> bool:
    """Whether a keyword is more than its absence; of numbers and of additionalProperties every value is."""
    if value is False:
        return keyword == "additionalProperties"
    return value is not None and value not in ("", [], {}) if not isinstance(value, (int, float)) else True


def _is_either(schema: Obj) -> bool:
    given = schema.get("anyOf")
    return isinstance(given, list) and len(given) == 2 and tuple(given) == _EITHER


def _is_either_among_all(schema: Obj) -> bool:
    given: list[Obj] = schema.get("allOf") or []
    return bool(given) and _is_either(given[0])


def _values(
    schema: Obj, level: _Level, path: str, *, skip_any: bool = False, skip_first: bool = False
) -> Iterator[FieldError | None]:
    """The junctors and the pattern of a schema."""
    if not skip_any:
        for i, inner in enumerate(schema.get("anyOf") or ()):
            yield from _nested(inner, level, f"{path}.anyOf[{i}]")
    for i, inner in enumerate(schema.get("allOf") or ()):
        yield from _nested(inner, level, f"{path}.allOf[{i}]", skip_any=skip_first and i == 0)
    for i, inner in enumerate(schema.get("oneOf") or ()):
        yield from _nested(inner, level, f"{path}.oneOf[{i}]")
    if schema.get("not") is not None:
        yield from _nested(schema["not"], level, f"{path}.not")
    if pattern := schema.get("pattern"):
        try:
            searcher(pattern)
        except PatternError as error:
            yield invalid(f"{path}.pattern", pattern, f"must be a valid regular expression, but isn't: {error}")


def _nested(schema: Obj, level: _Level, path: str, *, skip_any: bool = False) -> Iterator[FieldError | None]:
    """A schema inside a junctor: it says nothing of shapes."""
    yield None
    yield from _values(schema, level, path, skip_any=skip_any)
    if isinstance(schema.get("items"), dict):
        yield from _nested(schema["items"], level, f"{path}.items")
    properties = schema.get("properties") or {}
    for name, inner in properties.items():
        yield from _nested(inner, _Level.FIELD, f"{path}.properties[{name}]")
    if schema.get("type"):
        yield forbidden(f"{path}.type", "must be empty to be structural")
    if schema.get("additionalProperties") not in (None, False):
        yield forbidden(f"{path}.additionalProperties", "must be undefined to be structural")
    if schema.get("default") is not None:
        yield forbidden(f"{path}.default", "must be undefined to be structural")
    for keyword, why in _SHAPE_KEYWORDS:
        if schema.get(keyword):
            yield forbidden(f"{path}.{keyword}", why)
    if "metadata" in properties:
        yield forbidden(f"{path}.properties[metadata]", "must not be specified in a nested context")


def _completeness(values: Obj, schema: Obj, schema_path: str, path: str) -> Iterator[FieldError | None]:
    """The junctors of a schema against its shape: what they name must be named outside."""
    if values.get("not") is not None:
        yield from _nested_completeness(values["not"], schema, schema_path, f"{path}.not")
    for keyword in ("allOf", "anyOf", "oneOf"):
        for i, inner in enumerate(values.get(keyword) or ()):
            yield from _nested_completeness(inner, schema, schema_path, f"{path}.{keyword}[{i}]")


def _nested_completeness(values: Obj, schema: Any, schema_path: str, path: str) -> Iterator[FieldError | None]:
    yield None
    if not isinstance(schema, dict):
        yield required(schema_path, f"because it is defined in {path}")
        return
    yield from _completeness(values, schema, schema_path, path)
    if isinstance(values.get("items"), dict):
        yield from _nested_completeness(values["items"], schema.get("items"), f"{schema_path}.items", f"{path}.items")
    known = schema.get("properties") or {}
    for name, inner in (values.get("properties") or {}).items():
        below, at = f"{schema_path}.properties[{name}]", f"{path}.properties[{name}]"
        if name not in known:
            yield required(below, f"because it is defined in {at}")
        else:
            yield from _nested_completeness(inner, known[name], below, at)
