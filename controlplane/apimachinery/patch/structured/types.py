"""Types as merging sees them: which lists are sets or maps, which values are taken or left whole.

Made from a structural OpenAPI schema, node by node on first use, so that a large schema costs only what objects touch.

Source: how kube-openapi's ``schemaconv`` reads ``x-kubernetes-list-type``, ``-list-map-keys``, ``-map-type``,
``-preserve-unknown-fields``, ``-int-or-string`` and the older ``-patch-strategy``/``-patch-merge-key``.
"""

from __future__ import annotations

from typing import Any

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.native import GO_TYPE, QUANTITY

__all__ = ["DEDUCED", "ListType", "MapType", "Type", "object_type"]

_SCALARS = {"string": "string", "integer": "numeric", "number": "numeric", "boolean": "boolean"}


def _is_loose(schema: Obj) -> bool:
    """Whether a scalar may be text or number."""
    return bool(
        schema.get("x-kubernetes-int-or-string")
        or schema.get("format") == "int-or-string"
        or schema.get(GO_TYPE) == QUANTITY
    )


class MapType:
    """An object: declared fields, and a type for all others (None: there are no others). ``atomic``: owned whole.
    ``known``: the declared fields that have been asked for, a shortcut to ``field``."""

    __slots__ = ("_element", "_element_schema", "_schemas", "atomic", "known")

    def __init__(self, properties: Obj, element: Obj | Type | None, *, atomic: bool) -> None:
        self.atomic = atomic
        self._schemas = properties
        self.known: dict[str, Type] = {}
        self._element_schema = element
        self._element: Type | None = element if isinstance(element, Type) else None

    @property
    def element(self) -> Type | None:
        if self._element is None and isinstance(self._element_schema, dict):
            self._element = Type(self._element_schema)
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
        made = self.known[name] = Type(schema)
        return made

    def default(self, name: str) -> Any:
        schema: Obj = self._schemas.get(name) or {}
        return schema.get("default")


class ListType:
    """A list. ``associative``: its items have identities: by ``keys`` (maps), or by value where there are none (a set);
    else it is owned whole."""

    __slots__ = ("_element", "_schema", "associative", "keys")

    def __init__(self, element: Obj | Type, *, associative: bool, keys: tuple[str, ...]) -> None:
        self.associative, self.keys = associative, keys
        self._schema = element
        self._element: Type | None = element if isinstance(element, Type) else None

    @property
    def element(self) -> Type:
        if self._element is None:
            assert isinstance(self._schema, dict)
            self._element = Type(self._schema)
        return self._element

    def default(self, key: str) -> Any:
        """The default of a key field, None if it has none."""
        maps = self.element.map
        return maps.default(key) if maps is not None else None


class Type:
    """What a value may be: a scalar (``string``, ``numeric``, ``boolean``, ``untyped``), a list, a map.

    Where there are several, it is whichever the value is. ``only``: the one that there is (``scalar``, ``list``,
    ``map``), or ``""``. ``exact``: whether Python's equality is JSON's for all values: nowhere may 1 stand
    beside true.
    """

    __slots__ = ("exact", "list", "map", "only", "scalar")

    def __init__(self, schema: Obj) -> None:
        self.exact = _is_exact(schema)
        self.scalar: str | None = None
        self.list: ListType | None = None
        self.map: MapType | None = None
        kind = schema.get("type")
        if _is_loose(schema):
            self.scalar = "untyped"
        elif kind in _SCALARS:
            self.scalar = _SCALARS[kind]
        elif kind == "array":
            self.list = _list_type(schema)
        elif kind == "object" and (schema.get("properties") or isinstance(schema.get("additionalProperties"), dict)):
            self.map = _map_type(schema)
        else:
            atomic = schema.get("x-kubernetes-map-type") == "atomic"
            self.scalar = None if kind == "object" else "untyped"
            self.list = None if kind == "object" else ListType(self, associative=False, keys=())
            self.map = MapType({}, self if kind is None and not atomic else DEDUCED, atomic=atomic)
        self.only = self._only()

    def _only(self) -> str:
        kinds = [kind for kind in ("scalar", "list", "map") if getattr(self, kind) is not None]
        return kinds[0] if len(kinds) == 1 else ""


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
        if kind != "object" or node.get("x-kubernetes-preserve-unknown-fields") or not declared:
            return False
        left += properties.values()
        if isinstance(others, dict):
            left.append(others)
    return False


def _list_type(schema: Obj) -> ListType:
    element = schema.get("items") or {}
    how = schema.get("x-kubernetes-list-type")
    if how == "map":
        return ListType(element, associative=True, keys=tuple(schema.get("x-kubernetes-list-map-keys") or ()))
    if how == "set":
        return ListType(element, associative=True, keys=())
    if how is None and "merge" in schema.get("x-kubernetes-patch-strategy", "").split(","):
        key = schema.get("x-kubernetes-patch-merge-key")
        return ListType(element, associative=True, keys=(key,) if key else ())
    return ListType(element, associative=False, keys=())


def _map_type(schema: Obj) -> MapType:
    element: Obj | Type | None = schema.get("additionalProperties")
    if not isinstance(element, dict):
        element = DEDUCED if schema.get("x-kubernetes-preserve-unknown-fields") else None
    return MapType(schema.get("properties") or {}, element, atomic=schema.get("x-kubernetes-map-type") == "atomic")


def _deduced() -> Type:
    """Anything: a scalar, a list owned whole, a map of anything."""
    made = Type.__new__(Type)
    made.scalar = "untyped"
    made.list = ListType(made, associative=False, keys=())
    made.map = MapType({}, made, atomic=False)
    made.only, made.exact = "", False
    return made


DEDUCED = _deduced()


def object_type(schema: Obj, metadata: Type) -> Type:
    """The type of a whole object: its schema with ``apiVersion``, ``kind`` and ``metadata`` added."""
    properties: Obj = {**(schema.get("properties") or {}), "metadata": {"type": "object"}}
    properties["apiVersion"] = properties["kind"] = {"type": "string"}
    made = Type({**schema, "type": "object", "properties": properties})
    assert made.map is not None
    made.map.known["metadata"] = metadata  # one for all kinds
    made.exact = False
    return made
