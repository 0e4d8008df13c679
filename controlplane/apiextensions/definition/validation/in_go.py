"""Parts of definitions as upstream shows them in errors: all fields of its unversioned types, by their names in Go.

Source: kubernetes/apiextensions-apiserver ``pkg/apis/apiextensions/types.go`` and ``types_jsonschema.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from controlplane.apimachinery.codec.json import in_order
from controlplane.apimachinery.identity import Obj

__all__ = ["items_in_go", "rule_in_go", "schema_in_go", "version_in_go"]

_Shown = Callable[[Any], Any]
_Field = tuple[str, str, Any, _Shown | None]
"""The name of a field, its name in Go, what it is without a value, and how a value is shown (None: as it is)."""


def version_in_go(version: Obj) -> Obj:
    """A version in its stored form."""
    return _in_go(_VERSION, version)


def schema_in_go(schema: Obj) -> Obj:
    return _in_go(_SCHEMA, schema)


def items_in_go(items: Any) -> Obj:
    """The ``items`` of a schema: one schema, or several."""
    return {
        "Schema": schema_in_go(items) if isinstance(items, dict) else None,
        "JSONSchemas": _schemas(items) if isinstance(items, list) else None,
    }


def rule_in_go(rule: Obj) -> Obj:
    return _in_go(_RULE, rule)


def _in_go(fields: Iterable[_Field], value: Obj) -> Obj:
    shown: Obj = {}
    for key, name, empty, show in fields:
        given = value.get(key)
        shown[name] = empty if given is None else show(given) if show is not None else given
    return shown


def _each(show: _Shown) -> _Shown:
    return lambda values: [show(value) for value in values]


def _schemas(values: list[Obj]) -> list[Obj]:
    return [schema_in_go(value) for value in values]


def _by_name(values: Mapping[str, Obj]) -> Obj:
    return {name: schema_in_go(values[name]) for name in sorted(values)}


def _or_boolean(value: Any) -> Obj:
    return {"Allows": value is not False, "Schema": schema_in_go(value) if isinstance(value, dict) else None}


def _dependencies(values: Mapping[str, Any]) -> Obj:
    def one(value: Any) -> Obj:
        is_schema = isinstance(value, dict)
        return {"Schema": schema_in_go(value) if is_schema else None, "Property": None if is_schema else value}

    return {name: one(values[name]) for name in sorted(values)}


def _texts(*keys: str) -> tuple[_Field, ...]:
    """Texts whose names in Go are theirs with a capital."""
    return tuple((key, key[0].upper() + key[1:], "", None) for key in keys)


def _flags(*keys: str) -> tuple[_Field, ...]:
    return tuple((key, key[0].upper() + key[1:], False, None) for key in keys)


def _optional(*keys: str, show: _Shown | None = None) -> tuple[_Field, ...]:
    return tuple((key, key[0].upper() + key[1:], None, show) for key in keys)


_RULE: tuple[_Field, ...] = (
    *_texts("rule", "message", "messageExpression"),
    *_optional("reason"),
    *_texts("fieldPath"),
    *_optional("optionalOldSelf"),
)

_SCHEMA: tuple[_Field, ...] = (
    ("id", "ID", "", None),
    ("$schema", "Schema", "", None),
    ("$ref", "Ref", None, None),
    *_texts("description", "type"),
    *_flags("nullable"),
    *_texts("format", "title"),
    *_optional("default", show=in_order),
    *_optional("maximum"),
    *_flags("exclusiveMaximum"),
    *_optional("minimum"),
    *_flags("exclusiveMinimum"),
    *_optional("maxLength", "minLength"),
    *_texts("pattern"),
    *_optional("maxItems", "minItems"),
    *_flags("uniqueItems"),
    *_optional("multipleOf"),
    *_optional("enum", show=in_order),
    *_optional("maxProperties", "minProperties", "required"),
    *_optional("items", show=items_in_go),
    *_optional("allOf", "oneOf", "anyOf", show=_schemas),
    *_optional("not", show=schema_in_go),
    *_optional("properties", show=_by_name),
    *_optional("additionalProperties", show=_or_boolean),
    *_optional("patternProperties", show=_by_name),
    *_optional("dependencies", show=_dependencies),
    *_optional("additionalItems", show=_or_boolean),
    *_optional("definitions", show=_by_name),
    *_optional(
        "externalDocs",
        show=lambda docs: {"Description": docs.get("description") or "", "URL": docs.get("url") or ""},
    ),
    *_optional("example", show=in_order),
    ("x-kubernetes-preserve-unknown-fields", "XPreserveUnknownFields", None, None),
    ("x-kubernetes-embedded-resource", "XEmbeddedResource", False, None),
    ("x-kubernetes-int-or-string", "XIntOrString", False, None),
    ("x-kubernetes-list-map-keys", "XListMapKeys", None, None),
    ("x-kubernetes-list-type", "XListType", None, None),
    ("x-kubernetes-map-type", "XMapType", None, None),
    ("x-kubernetes-validations", "XValidations", None, _each(rule_in_go)),
)

_SCALE: tuple[_Field, ...] = (*_texts("specReplicasPath", "statusReplicasPath"), *_optional("labelSelectorPath"))

_COLUMN: tuple[_Field, ...] = (
    *_texts("name", "type", "format", "description"),
    ("priority", "Priority", 0, None),
    *_texts("JSONPath"),
)

_VERSION: tuple[_Field, ...] = (
    *_texts("name"),
    *_flags("served", "storage", "deprecated"),
    *_optional("deprecationWarning"),
    *_optional(
        "schema",
        show=lambda holder: _in_go(_optional("openAPIV3Schema", show=schema_in_go), holder),
    ),
    *_optional(
        "subresources",
        show=lambda given: {
            "Status": given.get("status"),
            "Scale": None if given.get("scale") is None else _in_go(_SCALE, given["scale"]),
        },
    ),
    *_optional("additionalPrinterColumns", show=_each(lambda column: _in_go(_COLUMN, column))),
    *_optional("selectableFields", show=_each(lambda field: {"JSONPath": field.get("jsonPath") or ""})),
)
