"""The walks over one typed value: which fields there are, what is left when some are taken away.

Every walk builds its answer from below, so that a part of the object that has nothing to say costs no path.

Source: behaviour of sigs.k8s.io/structured-merge-diff ``typed`` (ToFieldSet, RemoveItems,
EnsureNamedFieldsAreMembers, ReconcileFieldSetWithSchema).
"""

from __future__ import annotations

from typing import Any

from controlplane.apimachinery.patch.structured.fieldset import (
    SELF,
    Fields,
    children,
    is_member,
    node_of,
    recursive_difference,
    union,
)
from controlplane.apimachinery.patch.structured.types import ListType, MapType, Type
from controlplane.apimachinery.patch.structured.values import by_element, item_element, kind_of

__all__ = ["fields_of", "reconcile", "remove", "with_named_fields"]


def fields_of(value: Any, type_: Type, ignored: Fields | None = None) -> Fields:
    """Every leaf and every list item that an object mentions, but for ``ignored`` ones and all below them.

    Raises:
        ValueError: an item of a list has no identity.
    """
    if ignored and type_.only == "map" and type_.map is not None and not type_.map.atomic and isinstance(value, dict):
        return _unignored_fields(value, type_.map, ignored)
    node = _fields_node(value, type_)
    return children(node) if node else {}


def _unignored_fields(value: dict[str, Any], type_: MapType, ignored: Fields) -> Fields:
    out: Fields = {}
    for name, item in value.items():
        element = "f:" + name
        below = ignored.get(element)
        if below is None:
            node = _field_node(name, item, type_)
        elif is_member(below):
            continue
        else:
            field = type_.field(name)
            inside = field.map if field is not None and isinstance(item, dict) else None
            if inside is None or not item:
                node = _field_node(name, item, type_)  # it is stated itself, whatever is ignored in it
            else:
                node = _unignored_fields(item, inside, below) or None
                if not type_.declares(name):
                    node = _joined(node)
        if node is not None:
            out[element] = node
    return out


def _fields_node(value: Any, type_: Type) -> Fields | None:
    """The node of one value: None where it says nothing of its own (a granular map or list, or null in their place)."""
    kind = type_.only or kind_of(value, type_)
    if kind == "map":
        assert type_.map is not None
        if type_.map.atomic:
            return {}
        return _map_fields(value, type_.map) if isinstance(value, dict) else None
    if kind == "list":
        assert type_.list is not None
        if not type_.list.associative:
            return {}
        return _list_fields(value, type_.list) if isinstance(value, list) else None
    return {}


def _map_fields(value: dict[str, Any], type_: MapType) -> Fields | None:
    out: Fields = {}
    for name, item in value.items():
        node = {} if type(item) is str else _field_node(name, item, type_)
        if node is not None:
            out["f:" + name] = node
    return out or None


def _field_node(name: str, value: Any, type_: MapType) -> Fields | None:
    field = type_.known.get(name) or type_.field(name)
    node = {} if field is None or field.only == "scalar" else _fields_node(value, field)
    if node != {} and (value is None or value == {} or not type_.declares(name)):
        return _joined(node)
    return node


def _list_fields(value: list[Any], type_: ListType) -> Fields | None:
    out: Fields = {}
    for element, items in by_element(value, type_).items():
        # of items that stand twice only the identity is owned
        out[element] = {} if len(items) > 1 else _joined(_fields_node(items[0], type_.element))
    return out or None


def _joined(node: Fields | None) -> Fields:
    """A node with its own path as a member."""
    if not node or is_member(node):
        return node or {}
    return {SELF: {}, **node}


def remove(value: Any, gone: Fields, type_: Type) -> Any:
    """The value without some fields and items: null if it is empty then, while maps and lists inside of it that become
    empty stay, so that who applies ``{}`` for a field keeps it. The value itself is not changed.

    Source: structured-merge-diff v6.3.1 and v6.3.2, which Kubernetes 1.36.0 to 1.36.2 have; later ones give null.
    """
    kind = kind_of(value, type_)
    if kind == "map" and isinstance(value, dict):
        assert type_.map is not None
        if not value or type_.map.atomic:
            return None
        return _remove_from_map(value, gone, type_.map) or None
    if kind == "list" and isinstance(value, list):
        assert type_.list is not None
        if not value or not type_.list.associative:
            return None
        return _remove_from_list(value, gone, type_.list) or None
    return value if kind == "scalar" else None


def _remove_from_map(value: dict[str, Any], gone: Fields, type_: MapType) -> dict[str, Any]:
    out = {}
    for name, item in value.items():
        node = gone.get("f:" + name)
        if node is None:
            out[name] = item
        elif not is_member(node):
            field = type_.field(name)
            out[name] = _emptied(item, node, field) if field is not None else item
    return out


def _remove_from_list(value: list[Any], gone: Fields, type_: ListType) -> list[Any]:
    out = []
    for item in value:
        node = gone.get(item_element(type_, item))
        if node is None:
            out.append(item)
        elif not is_member(node):
            out.append(_emptied(item, node, type_.element))
    return out


def _emptied(item: Any, gone: Fields, type_: Type) -> Any:
    left = remove(item, gone, type_)
    return type(item)() if left is None and isinstance(item, (dict, list)) else left


def _type_below(type_: Type, element: str) -> Type | None:
    """The type of what an element names, inside a value of this type."""
    if element.startswith("f:"):
        return type_.map.field(element[2:]) if type_.map is not None else None
    return type_.list.element if type_.list is not None else None


def with_named_fields(owned: Fields, type_: Type | None) -> Fields:
    """The set with every declared field on the way to a member as a member too."""
    out: Fields = {}
    for element, node in owned.items():
        if element == ".":
            continue
        below = with_named_fields(children(node), _type_below(type_, element) if type_ is not None else None)
        named = (
            type_ is not None and type_.map is not None and element.startswith("f:") and type_.map.declares(element[2:])
        )
        made = node_of(below, member=is_member(node) or (named and bool(below)))
        if made is not None:
            out[element] = made
    return out


def reconcile(owned: Fields, type_: Type) -> Fields:
    """Ownership after a change of schema: of what has become atomic, the whole is owned and nothing inside; ``owned``
    itself if nothing has."""
    atomic = _turned_atomic(owned, type_)
    if not atomic:
        return owned
    return union(recursive_difference(owned, atomic), atomic)


def _turned_atomic(owned: Fields, type_: Type) -> Fields | None:
    """The paths below which something is owned and that are atomic now."""
    out: Fields = {}
    for element, node in owned.items():
        if not node:
            continue  # nothing inside; SELF is such a one, too
        below = _type_below(type_, element)
        if below is None or below.only == "scalar":
            continue
        if (below.map is not None and below.map.atomic) or (
            below.map is None and below.list is not None and not below.list.associative and below.scalar is None
        ):
            if len(node) > 1 or SELF not in node:
                out[element] = {}
            continue
        found = _turned_atomic(node, below)
        if found:
            out[element] = found
    return out
