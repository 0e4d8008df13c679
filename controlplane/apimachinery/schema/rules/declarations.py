"""What expressions know of a structural schema: types, fields, and how large values can become.

Built as far as expressions reach: a large schema has ten thousand nodes, a rule sees ten.

Source: kubernetes/apiserver ``pkg/cel/common/schemas.go`` (SchemaDeclType), ``pkg/cel/types.go``, ``limits.go``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.rules.comparison import semantics
from controlplane.apimachinery.schema.rules.escaping import escaped, escaped_if_reserved
from controlplane.apimachinery.schema.rules.readers import reader
from controlplane.cel.environment import FieldDeclaration
from controlplane.cel.estimates import UNKNOWN, Bounds
from controlplane.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    Type,
    list_of,
    map_of,
    object_type,
)
from controlplane.cel.values import Value

__all__ = ["MAX_REQUEST_BYTES", "Declared", "SchemaTypes", "declare", "with_object_meta"]

MAX_REQUEST_BYTES = 3 * 1024 * 1024
"""The largest request, by which values without limits of their own are bounded. Upstream's figure, fixed by it."""

_SIZES = {"duration": (DURATION, 3, 32), "date": (TIMESTAMP, 12, 12), "date-time": (TIMESTAMP, 21, 32)}
"""By format: the type, the smallest size in JSON, the largest."""
_SCALARS = {"boolean": (BOOL, 4), "number": (DOUBLE, 1), "integer": (INT, 1)}


def declare(schema: Obj, *, is_root: bool = False, name: str = "selfType") -> Declared | None:
    """What a schema declares; None if expressions cannot see values of it.

    ``is_root``: of a resource, which has a kind and a name whether its schema says so or not.
    """
    if schema.get("x-kubernetes-int-or-string"):
        return Declared(schema, DYN, name)
    kind = schema.get("type")
    if is_root:
        schema = with_object_meta(schema)
    if kind == "array":
        items = schema.get("items")
        inner = _inner(items, f"{name}.@idx")
        return None if inner is None else Declared(schema, list_of(inner.type, semantics(schema)), name, item=inner)
    if kind == "object":
        extra = schema.get("additionalProperties")
        if isinstance(extra, dict):
            inner = _inner(extra, f"{name}.@elem")
            if inner is None:
                return None
            return Declared(schema, map_of(STRING, inner.type, semantics(schema)), name, item=inner)
        return Declared(schema, object_type(name, semantics(schema)), name)
    if kind == "string":
        form = schema.get("format") or ""
        return Declared(schema, BYTES if form == "byte" else _SIZES.get(form, (STRING,))[0], name)
    known = _SCALARS.get(kind or "")
    return None if known is None else Declared(schema, known[0], name)


def _inner(schema: object, name: str) -> Declared | None:
    if not isinstance(schema, dict):
        return None
    return declare(schema, is_root=bool(schema.get("x-kubernetes-embedded-resource")), name=name)


def with_object_meta(schema: Obj) -> Obj:
    """The schema of a resource with what every resource has: apiVersion, kind, metadata's name and generateName."""
    properties = schema.get("properties") or {}
    meta = (properties.get("metadata") or {}).get("properties") or {}
    if (
        (properties.get("kind") or {}).get("type") == "string"
        and (properties.get("apiVersion") or {}).get("type") == "string"
        and (meta.get("name") or {}).get("type") == "string"
        and (meta.get("generateName") or {}).get("type") == "string"
    ):
        return schema
    text = {"type": "string"}
    named = {"type": "object", "properties": {"name": text, "generateName": text}}
    added = {"kind": text, "apiVersion": text, "metadata": named}
    return {**schema, "properties": {**properties, **added}}


class Declared:
    """One schema as expressions see it. ``item``: of a list's items, or a map's values."""

    def __init__(self, schema: Obj, declared: Type, name: str, *, item: Declared | None = None) -> None:
        self.schema = schema
        self.type = declared
        self.name = name
        self.item = item

    @cached_property
    def fields(self) -> dict[str, Declared]:
        """An object's fields by their escaped names, without those that expressions cannot see or name."""
        if self.type.kind != "object":
            return {}
        found: dict[str, Declared] = {}
        for name, schema in (self.schema.get("properties") or {}).items():
            identifier = escaped(name)
            inner = _inner(schema, f"{self.name}.{identifier}") if identifier is not None else None
            if identifier is not None and inner is not None:
                found[identifier] = inner
        return found

    @cached_property
    def keys(self) -> dict[str, str]:
        """The properties' own names, by escaped name."""
        names = self.schema.get("properties") or {}
        return {identifier: name for name in names if (identifier := escaped(name)) is not None}

    @cached_property
    def min_bytes(self) -> int:
        """The smallest JSON of a value."""
        if self.type is DYN:
            return 1
        match self.schema.get("type"):
            case "object" if self.item is None:
                return self._min_object_bytes()
            case "string":
                return _SIZES.get(self.schema.get("format") or "", (STRING, 2))[1]
            case "array" | "object":
                return 2
            case kind:
                return _SCALARS[kind or ""][1]

    def _min_object_bytes(self) -> int:
        total = 2
        properties = self.schema.get("properties") or {}
        for name in set(self.schema.get("required") or ()):
            schema = properties.get(name)
            if schema is not None and schema.get("default") is None:
                inner = _inner(schema, f"{self.name}.{name}")
                total += len(name) + inner.min_bytes + 4 if inner is not None else 0
        return total

    @cached_property
    def max_elements(self) -> int:
        """The most items, entries or characters (by upstream's reckoning: bytes) of a value."""
        schema = self.schema
        if self.type is DYN:
            return _max_of_length(schema) if "maxLength" in schema else MAX_REQUEST_BYTES - 2
        if self.item is not None:
            is_list = self.type.kind == "list"
            limit = schema.get("maxItems" if is_list else "maxProperties")
            if limit is not None:
                return max(int(limit), 0)
            smallest = self.item.min_bytes
            return (MAX_REQUEST_BYTES - 2) // (smallest + (1 if is_list else 6))
        if schema.get("type") != "string":
            return 0
        form = schema.get("format") or ""
        if form in _SIZES:
            return _SIZES[form][2]
        if form == "byte":
            return max(int(schema["maxLength"]), 0) if "maxLength" in schema else MAX_REQUEST_BYTES - 2
        if "maxLength" in schema:
            return _max_of_length(schema)
        enum = schema.get("enum")
        if enum:
            return max((len(value.encode()) for value in enum if isinstance(value, str)), default=0)
        return MAX_REQUEST_BYTES - 2

    @property
    def cardinality(self) -> int:
        """How often a value could occur in the largest request."""
        return MAX_REQUEST_BYTES // (self.min_bytes + 1)

    def sizes(self, path: tuple[str, ...], declared: Type) -> Bounds | None:
        """The size of what is at a path below this, whose first part names this itself."""
        del declared
        if not path:
            return None
        node: Declared | None = self
        for part in path[1:]:
            assert node is not None
            if part in ("@items", "@values"):
                node = node.item
            elif part == "@keys":
                return UNKNOWN._replace(most=0) if node.type.kind == "map" else None
            else:
                node = node.fields.get(part)
            if node is None:
                return None
        assert node is not None
        return Bounds(0, node.max_elements)


def _max_of_length(schema: Obj) -> int:
    """A character can take four bytes."""
    return max(int(schema["maxLength"]), 0) * 4


class SchemaTypes:
    """The object types below one declaration, for the checker."""

    __slots__ = ("_known",)

    def __init__(self, root: Declared) -> None:
        self._known: dict[str, Declared] = {}
        self._add(root)

    def _add(self, declared: Declared) -> None:
        node: Declared | None = declared
        while node is not None and node.item is not None:
            node = node.item
        if node is not None and node.type.kind == "object":
            self._known[node.name] = node

    def field(self, type_name: str, field: str) -> FieldDeclaration | None:
        """A field of an object type. Words of the language name a property with and without their underscores."""
        owner = self._known.get(type_name)
        field = escaped_if_reserved(field)
        found = owner.fields.get(field) if owner is not None else None
        if owner is None or found is None:
            return None
        self._add(found)
        read: Callable[[Value], Value] | None = reader(found.schema)
        return FieldDeclaration(owner.keys[field], found.type, read, bool(found.schema.get("nullable")))

    def type(self, name: str) -> Type | None:
        """None: the types of a schema have no names that expressions may use."""
        del name
        return None

    def construct(self, type_name: str, fields: dict[str, Value]) -> Value:
        """Never called: no expression can name the type."""
        raise TypeError(f"{type_name} cannot be constructed: {sorted(fields)}")
