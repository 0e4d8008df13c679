"""A structural schema as a tree of nodes, made as far as values reach into it.

A large schema has ten thousand nodes, of which an object meets a hundred; so a node makes its children when they are
first asked for, and whoever works on values keeps what it has compiled for a node on the node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from controlplane.apimachinery.identity import Obj

__all__ = ["META_FIELDS", "TYPE_FIELDS", "Node"]

TYPE_FIELDS = frozenset({"apiVersion", "kind"})
META_FIELDS = TYPE_FIELDS | {"metadata"}
"""Fields that every resource has, whether its schema names them or not."""

_NONE: Mapping[str, Obj] = {}


class Node:
    """One schema.

    ``properties`` and ``extra`` (the schema of other fields, None if there is none) are as given; ``child`` and
    ``items`` give nodes. ``open_ended``: other fields are allowed and have no schema (``additionalProperties: true``).
    ``defaults``: by property, the default it has. ``check``: made by the module of this name, None before.
    """

    __slots__ = (
        "_children",
        "_extra",
        "_items",
        "check",
        "defaults",
        "embedded",
        "extra",
        "nullable",
        "open_ended",
        "preserve",
        "properties",
        "schema",
    )

    def __init__(self, schema: Obj, *, embedded: bool = False) -> None:
        self.schema = schema
        self.properties: Mapping[str, Obj] = schema.get("properties") or _NONE
        extra = schema.get("additionalProperties")
        self.extra: Obj | None = extra if isinstance(extra, dict) else None
        self.open_ended = isinstance(extra, bool)  # even false: upstream prunes nothing then, and refuses instead
        self.preserve = bool(schema.get("x-kubernetes-preserve-unknown-fields"))
        self.embedded = embedded or bool(schema.get("x-kubernetes-embedded-resource"))
        self.nullable = bool(schema.get("nullable"))
        self.defaults: dict[str, Any] = {
            name: given["default"] for name, given in self.properties.items() if given.get("default") is not None
        }
        self.check: Callable[[Any], bool] | None = None
        self._children: dict[str, Node] = {}
        self._extra: Node | None = None
        self._items: Node | None = None

    @property
    def default(self) -> Any:
        """What stands for a missing value; None: nothing does."""
        return self.schema.get("default")

    def child(self, name: str) -> Node | None:
        """The node of a field: its property's, else that of other fields; None if its value has no schema."""
        node = self._children.get(name)
        if node is not None:
            return node
        given = self.properties.get(name)
        if given is None:
            return self.additional
        node = self._children[name] = Node(given)
        return node

    @property
    def additional(self) -> Node | None:
        """The node of fields that are no properties."""
        if self._extra is None and self.extra is not None:
            self._extra = Node(self.extra)
        return self._extra

    @property
    def items(self) -> Node | None:
        """The node of a list's items."""
        if self._items is None:
            given = self.schema.get("items")
            if isinstance(given, dict):
                self._items = Node(given)
        return self._items

    def alternatives(self, keyword: str) -> list[Node]:
        """The nodes of ``allOf``, ``anyOf`` or ``oneOf``; made anew at each call."""
        return [Node(given) for given in self.schema.get(keyword) or ()]
