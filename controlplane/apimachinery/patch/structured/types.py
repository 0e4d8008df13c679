"""Types as merging sees them: which lists are sets or maps, which values are taken or left whole.

Made from a structural OpenAPI schema, node by node on first use, so that a large schema costs only what objects touch.

Source: how kube-openapi's ``schemaconv`` reads ``x-kubernetes-list-type``, ``-list-map-keys``, ``-map-type``,
``-preserve-unknown-fields``, ``-int-or-string`` and the older ``-patch-strategy``/``-patch-merge-key``.
"""

from __future__ import annotations

from typing import Any

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.native import GO_TYPE, QUANTITY
from controlplane.apimachinery.schema.object_meta import OBJECT_META

__all__ = ["DEDUCED", "ListType", "MapType", "Type", "object_type"]

_SCALARS = {"string": "string", "integer": "numeric", "number": "numeric", "boolean": "boolean"}
_STRING: Obj = {"type": "string"}
_TEXT_FORMATS = (None, "", "byte")
"""A string of any other format may be of another type: a time, text or a number."""


class MapType:
    """An object: declared fields, and a type for all others (None: there are no others). ``atomic``: owned whole.
    ``known``: the declared fields that have been asked for, a shortcut to ``field``. ``leaves``: all its fields are
    scalars of one type, as labels are."""

    __slots__ = ("_element", "_open", "_others", "_schemas", "atomic", "known", "leaves")

    def __init__(self, schema: Obj, *, is_open: bool) -> None:
        """``is_open``: fields that are not declared are kept, here and below."""
        self.atomic = schema.get("x-kubernetes-map-type") == "atomic"
        self.known: dict[str, Type] = {}
        self._schemas: Obj = schema.get("properties") or {}
        if schema.get("x-kubernetes-embedded-resource"):
            self._schemas = {"apiVersion": _STRING, "kind": _STRING, **self._schemas, "metadata": OBJECT_META}
            self.known["metadata"] = _METADATA  # one for all, and never open
        self._open = is_open
        self._others: Any = schema.get("additionalProperties")
        if self._others is None:
            self._others = is_open or not self._schemas
        self.leaves = not self._schemas and isinstance(self._others, dict) and self._others.get("type") in _SCALARS
        self._element: Type | None = None

    @property
    def element(self) -> Type | None:
        if self._element is None and self._others is not False:
            self._element = DEDUCED if self._others is True else Type(self._others, is_open=self._open)
        return self._element

    def declares(self, name: str) -> bool:
        """Whether the field has a declaration of its own."""
        return name in self._schemas

    def field(self, name: str) -> Type | None:
        """The type of a field, declared or not; None if it may not be there."""
        known = self.known.get(name)
        if known is not None:
            return known
        schema = self._schemas.get(name)
        if schema is None:
            return self.element
        made = self.known[name] = Type(schema, is_open=self._open)
        return made

    def default(self, name: str) -> Any:
        schema: Obj = self._schemas.get(name) or {}
        return schema.get("default")


class ListType:
    """A list. ``associative``: its items have identities: by ``keys`` (maps), or by value where there are none (a set);
    else it is owned whole."""

    __slots__ = ("_element", "_open", "_schema", "associative", "keys")

    def __init__(self, schema: Obj, *, is_open: bool) -> None:
        self.associative, self.keys = _relationship(schema)
        self._schema: Obj | None = schema.get("items")
        self._open = is_open
        self._element: Type | None = None

    @property
    def element(self) -> Type:
        if self._element is None:
            self._element = DEDUCED if self._schema is None else Type(self._schema, is_open=self._open)
        return self._element

    def default(self, key: str) -> Any:
        """The default of a key field, None if it has none."""
        maps = self.element.map
        return maps.default(key) if maps is not None else None


def _relationship(schema: Obj) -> tuple[bool, tuple[str, ...]]:
    """Whether items have identities, and the keys that give them."""
    how = schema.get("x-kubernetes-list-type")
    if how == "map":
        return True, tuple(schema.get("x-kubernetes-list-map-keys") or ())
    if how is not None:
        return how == "set", ()
    if schema.get("x-kubernetes-patch-strategy") in ("merge", "merge,retainKeys"):
        key = schema.get("x-kubernetes-patch-merge-key")
        return True, (key,) if key else ()
    return False, ()


class Type:
    """What a value may be: a scalar (``string``, ``numeric``, ``boolean``, ``untyped``), a list, a map.

    Where there are several, it is whichever the value is. ``only``: the one that there is (``scalar``, ``list``,
    ``map``), or ``""``. ``exact``: whether Python's equality is JSON's for all values: nowhere may 1 stand beside true.
    ``free``: whether every value is of it.
    """

    __slots__ = ("exact", "free", "list", "map", "only", "scalar")

    def __init__(self, schema: Obj, *, is_open: bool = False) -> None:
        is_open = is_open or bool(schema.get("x-kubernetes-preserve-unknown-fields"))
        kind = schema.get("type")
        self.scalar = _scalar(schema)
        self.list = None if kind not in (None, "array") else ListType(schema, is_open=is_open)
        self.map = None if kind not in (None, "object") else MapType(schema, is_open=is_open)
        self.exact = not is_open and _is_exact(schema)
        self.only = _only(self)
        self.free = kind is None and not any(map(schema.get, _LIMITS))


def _only(type_: Type) -> str:
    kinds = [kind for kind in ("scalar", "list", "map") if getattr(type_, kind) is not None]
    return kinds[0] if len(kinds) == 1 else ""


def _scalar(schema: Obj) -> str | None:
    kind, format_ = schema.get("type"), schema.get("format")
    if kind is None:
        return "untyped"
    if kind == "string" and (format_ not in _TEXT_FORMATS or schema.get(GO_TYPE) == QUANTITY):
        return "untyped"
    return _SCALARS.get(kind)


_LIMITS = ("properties", "additionalProperties", "items", "x-kubernetes-list-type", "x-kubernetes-patch-strategy")
"""What makes a schema without a type refuse some value."""
_OPENING = ("x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource")
_EXACT_NODES = 256
"""Of a schema, looked through for a type; one that is larger counts as not exact, and its parts are asked."""


def _is_exact(schema: Obj) -> bool:
    """Whether there are only declared scalars in it."""
    left = [schema]
    for _ in range(_EXACT_NODES):
        if not left:
            return True
        node = left.pop()
        kind = node.get("type")
        if kind in _SCALARS or node.get("x-kubernetes-int-or-string"):
            continue
        if kind == "array":
            left.append(node.get("items") or {})
            continue
        properties, others = node.get("properties") or {}, node.get("additionalProperties")
        declared = properties or isinstance(others, dict)
        if kind != "object" or not declared or others is True or any(map(node.get, _OPENING)):
            return False
        left += properties.values()
        if isinstance(others, dict):
            left.append(others)
    return False


def object_type(schema: Obj) -> Type:
    """The type of a whole object: its schema with ``apiVersion``, ``kind`` and ``metadata`` added."""
    return Type({**schema, "type": "object", "x-kubernetes-embedded-resource": True})


DEDUCED = Type({"x-kubernetes-preserve-unknown-fields": True})
"""Anything: a scalar, a list owned whole, a map of anything."""
_METADATA = Type(OBJECT_META)
