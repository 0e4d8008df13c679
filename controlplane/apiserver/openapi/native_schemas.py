"""Native kinds as definitions: each type that has a Go name becomes a definition of its own, referred to by name.

What Kubernetes publishes of a type: descriptions, list types, merge keys and strategies, and in OpenAPI 3.0 the empty
value as the default of a field that always exists. The marks that the decoder reads are taken out.

Source: the form of kubernetes' generated definitions (``pkg/generated/openapi``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controlplane.apimachinery.identity import GroupVersion, Obj
from controlplane.apimachinery.schema.native import GO_TYPE, POINTER
from controlplane.apimachinery.schema.object_meta import OBJECT_META
from controlplane.apiserver.openapi.dialect import Dialect
from controlplane.apiserver.openapi.names import INT_OR_STRING, META, go_type_name

__all__ = ["API_VERSION", "KIND", "METADATA", "NativeSchemas", "of_metadata"]

API_VERSION: Obj = {
    "description": "The version of the schema that this object is written in: group and version, or the version alone "
    "for the core group.",
    "type": "string",
}
KIND: Obj = {
    "description": "What kind of object this is, in CamelCase; it cannot be changed.",
    "type": "string",
}
METADATA = "Name, namespace, labels and all else that every object has."

_INT_OR_STRING = "x-kubernetes-int-or-string"
_NAMED_SCALARS = frozenset({"v1.Time", "v1.MicroTime", "resource.Quantity", "intstr.IntOrString"})
"""Types that are no records and have a definition nevertheless."""
_SHARED = frozenset({"runtime.RawExtension", "v1.FieldsV1"})
_ZEROS: Mapping[str, Any] = {"string": "", "boolean": False, "integer": 0, "number": 0}
_OURS = "x-controlplane-"
"""Begins the extensions that are marks for the decoder."""
_DEFINITION = "x-controlplane-definition"
"""A function that gives the schema which is meant, for one that is inside itself."""
_NOT_AS_IT_IS = frozenset({"properties", "items", "additionalProperties", "x-kubernetes-preserve-unknown-fields"})


class NativeSchemas:
    """Collects the definitions of the types that are met, in one dialect.

    Args:
        gv: whose kinds are published. ``found``: definition by name; those that all documents share are not in it.
    """

    def __init__(self, gv: GroupVersion, dialect: Dialect) -> None:
        self._gv, self._dialect = gv, dialect
        self.found: dict[str, Obj] = {}

    def kind(self, schema: Obj, *, metadata: bool = True) -> Obj:
        """A kind from its schema: with ``apiVersion``, ``kind`` and, unless it has none, ``metadata``."""
        properties: Obj = {"apiVersion": API_VERSION, "kind": KIND}
        if metadata:
            properties["metadata"] = self._dialect.field(META + "ObjectMeta", METADATA, default={})
        required = set(schema.get("required", ()))
        for name, child in schema.get("properties", {}).items():
            if name not in properties:
                properties[name] = self._field(child, required=name in required)
        return {**self._kept(schema), "type": "object", "properties": properties}

    def record(self, schema: Obj) -> Obj:
        """A type with named fields, the fields' types in definitions of their own."""
        required = set(schema.get("required", ()))
        return {
            **self._kept(schema),
            "properties": {
                name: self._field(child, required=name in required)
                for name, child in schema.get("properties", {}).items()
            },
        }

    def _field(self, schema: Obj, *, required: bool) -> Obj:
        return self._schema(schema, existing=required and not schema.get(POINTER))

    def _schema(self, schema: Obj, *, existing: bool) -> Obj:
        """``existing``: a scalar here is never missing, so its empty value is its default."""
        if _DEFINITION in schema:
            described = {"description": schema["description"]} if "description" in schema else {}
            schema = {**schema[_DEFINITION](), **described}
        go_type = schema.get(GO_TYPE, "")
        if _INT_OR_STRING in schema:
            return self._dialect.field(INT_OR_STRING, schema.get("description", ""))
        if go_type in _NAMED_SCALARS or go_type in _SHARED:
            return self._dialect.field(go_type_name(go_type, self._gv), schema.get("description", ""))
        if go_type and "properties" in schema:
            name = go_type_name(go_type, self._gv)
            if name not in self.found:
                self.found[name] = {}  # it may contain itself
                self.found[name] = self.record(schema)
            description = schema.get("description", "")
            if self._dialect is Dialect.V3 and description == self.found[name].get("description"):
                description = ""  # it is told there, and kubectl explain would tell it twice
            exists_empty = not schema.get(POINTER) and not schema.get("required")
            default: Obj | None = {} if exists_empty else None
            return {**self._dialect.field(name, description, default=default), **_patch_rules(schema)}
        out = self._kept(schema)
        if "properties" in schema:
            out |= self.record(schema)
        if "items" in schema:
            out["items"] = self._schema(schema["items"], existing=True)
        values = schema.get("additionalProperties")
        if values is not None:
            out["additionalProperties"] = self._schema(values, existing=True) if isinstance(values, dict) else values
        zero = _ZEROS.get(schema.get("type", ""))
        if existing and zero is not None and self._dialect is Dialect.V3:
            out["default"] = zero
        return out

    def _kept(self, schema: Obj) -> Obj:
        """What is published of a schema as it is."""
        return {
            key: value
            for key, value in schema.items()
            if key not in _NOT_AS_IT_IS
            and not key.startswith(_OURS)
            and not (key == "default" and self._dialect is Dialect.V2)
        }


def _patch_rules(schema: Obj) -> Obj:
    return {key: value for key, value in schema.items() if key.startswith("x-kubernetes-patch-")}


def of_metadata(dialect: Dialect) -> dict[str, Obj]:
    """The definitions of ObjectMeta and the types it is made of."""
    schemas = NativeSchemas(GroupVersion("", "v1"), dialect)
    schemas.found[META + "ObjectMeta"] = schemas.record(OBJECT_META)
    return schemas.found
