"""The walks over typed values: which fields there are, what differs, what is left when some are taken away.

Every walk builds its answer from below, so that a part of the object that has nothing to say costs no path.

Source: behaviour of sigs.k8s.io/structured-merge-diff ``typed`` (ToFieldSet, Compare, RemoveItems,
EnsureNamedFieldsAreMembers, ReconcileFieldSetWithSchema).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from controlplane.apimachinery.patch.structured.fieldset import (
    SELF,
    Fields,
    children,
    is_member,
    node_of,
    recursive_difference,
    subset,
    union,
)
from controlplane.apimachinery.patch.structured.types import ListType, MapType, Type
from controlplane.apimachinery.patch.structured.values import equal, item_element, kind_of

__all__ = ["Comparison", "compare", "fields_of", "reconcile", "remove", "with_named_fields"]


def fields_of(value: Any, type_: Type) -> Fields:
    """Every leaf and every list item that an object mentions."""
    node = _fields_node(value, type_)
    return children(node) if node else {}


def _fields_node(value: Any, type_: Type) -> Fields | None:
    """The node of one value: None where it says nothing of its own (a granular map or list, or null in their place)."""
    kind = kind_of(value, type_)
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
        field = type_.field(name)
        node = _fields_node(item, field) if field is not None else {}
        if item is None or item == {} or not type_.declares(name):
            node = _joined(node)
        if node is not None:
            out["f:" + name] = node
    return out or None


def _list_fields(value: list[Any], type_: ListType) -> Fields | None:
    out: Fields = {}
    seen: set[str] = set()
    for item in value:
        element = item_element(type_, item)
        if element in seen:
            out[element] = {}  # of items that stand twice only the identity is owned
        else:
            seen.add(element)
            out[element] = _joined(_fields_node(item, type_.element))
    return out or None


def _joined(node: Fields | None) -> Fields:
    """A node with its own path as a member."""
    made = node_of(children(node) if node else {}, member=True)
    assert made is not None
    return made


class Comparison(NamedTuple):
    """What the new object lacks, has with another value, has beyond the old one. No field is in two of them."""

    removed: Fields
    modified: Fields
    added: Fields


class _Difference:
    """A comparison of one path: the sets below it, and whether it is itself in one of them."""

    __slots__ = ("added", "itself", "modified", "removed")

    def __init__(self, itself: str = "") -> None:
        self.itself = itself
        self.removed: Fields = {}
        self.modified: Fields = {}
        self.added: Fields = {}

    def take(self, element: str, below: _Difference) -> None:
        """Hang a child's differences under its element."""
        if below.removed or below.itself == "removed":
            self.removed[element] = _member_if(below.removed, itself=below.itself == "removed")
        if below.modified or below.itself == "modified":
            self.modified[element] = _member_if(below.modified, itself=below.itself == "modified")
        if below.added or below.itself == "added":
            self.added[element] = _member_if(below.added, itself=below.itself == "added")

    def merge(self, other: _Difference) -> None:
        self.removed = union(self.removed, other.removed)
        self.modified = union(self.modified, other.modified)
        self.added = union(self.added, other.added)
        self.itself = self.itself or other.itself


def _member_if(below: Fields, *, itself: bool) -> Fields:
    return {SELF: {}, **below} if itself and below else below


def compare(old: Any, new: Any, type_: Type) -> Comparison:
    """Compare two objects of one type."""
    found = _compare(old, new, type_)
    return Comparison(found.removed, found.modified, found.added)


def _everything(value: Any, type_: Type) -> Fields:
    """The node of a value that is wholly new or wholly gone: each path in it is a member."""
    kind = kind_of(value, type_)
    if kind == "map":
        maps = type_.map
        if value and maps is not None and not maps.atomic:
            node: Fields = {SELF: {}}
            for name, item in value.items():
                field = maps.field(name)
                if field is not None:
                    node["f:" + name] = _everything(item, field)
            return node
    elif kind == "list":
        lists = type_.list
        if value and lists is not None and lists.associative:
            grouped = _by_element(value, lists)
            return {
                SELF: {},
                **{e: {} if len(items) > 1 else _everything(items[0], lists.element) for e, items in grouped.items()},
            }
    return {}


def _compare(old: Any, new: Any, type_: Type) -> _Difference:
    if new is old:
        return _Difference()
    old_kind, new_kind = kind_of(old, type_), kind_of(new, type_)
    found = _compare_as(new_kind, old, new, type_)
    if old_kind != new_kind:
        found.merge(_compare_as(old_kind, old, new, type_))
    return found


def _leaf(old: Any, new: Any) -> _Difference:
    return _Difference("" if equal(old, new) else "modified")


def _compare_as(kind: str, old: Any, new: Any, type_: Type) -> _Difference:
    if kind == "map":
        assert type_.map is not None
        old_map = old if isinstance(old, dict) else {}
        new_map = new if isinstance(new, dict) else {}
        if not type_.map.atomic and (old_map or new_map):
            return _compare_maps(old_map, new_map, type_.map)
    elif kind == "list":
        assert type_.list is not None
        old_list = old if isinstance(old, list) else []
        new_list = new if isinstance(new, list) else []
        if type_.list.associative and (old_list or new_list):
            return _compare_lists(old_list, new_list, type_.list)
    return _leaf(old, new)


def _compare_maps(old: dict[str, Any], new: dict[str, Any], type_: MapType) -> _Difference:
    found = _Difference()
    for name, value in old.items():
        field = type_.field(name)
        if field is None:
            continue
        if name in new:
            if new[name] is not value:
                found.take("f:" + name, _compare(value, new[name], field))
        else:
            found.removed["f:" + name] = _everything(value, field)
    for name, value in new.items():
        if name not in old:
            field = type_.field(name)
            if field is not None:
                found.added["f:" + name] = _everything(value, field)
    return found


def _by_element(items: list[Any], type_: ListType) -> dict[str, list[Any]]:
    grouped: dict[str, list[Any]] = {}
    for item in items:
        grouped.setdefault(item_element(type_, item), []).append(item)
    return grouped


def _compare_lists(old: list[Any], new: list[Any], type_: ListType) -> _Difference:
    """Items by identity. Items that stand twice are compared whole, since nobody can say which is which."""
    found = _Difference()
    olds, news = _by_element(old, type_), _by_element(new, type_)
    for element in olds | news:
        mine, theirs = olds.get(element, []), news.get(element, [])
        if len(mine) == 1 and len(theirs) == 1:
            found.take(element, _compare(mine[0], theirs[0], type_.element))
        elif len(mine) > 1 and len(theirs) > 1:
            found.take(element, _leaf(mine, theirs))
        else:
            if mine:
                found.removed[element] = {} if len(mine) > 1 else _everything(mine[0], type_.element)
            if theirs:
                found.added[element] = {} if len(theirs) > 1 else _everything(theirs[0], type_.element)
    return found


def remove(value: Any, gone: Fields, type_: Type) -> Any:
    """The value without some fields and items; what is empty then is null. The value itself is not changed."""
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
            out[name] = remove(item, node, field) if field is not None else item
    return out


def _remove_from_list(value: list[Any], gone: Fields, type_: ListType) -> list[Any]:
    out = []
    for item in value:
        node = gone.get(item_element(type_, item))
        if node is None:
            out.append(item)
        elif not is_member(node):
            out.append(remove(item, node, type_.element))
    return out


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
    """Ownership after a change of schema: of what has become atomic, the whole is owned and nothing inside."""
    atomic = _turned_atomic(owned, type_)
    if not atomic:
        return owned
    return union(recursive_difference(owned, atomic), atomic)


def _turned_atomic(owned: Fields, type_: Type) -> Fields:
    """The paths below which something is owned and that are atomic now."""
    out: Fields = {}
    for element in owned:
        if element == ".":
            continue
        below = _type_below(type_, element)
        if below is None:
            continue
        inside = subset(owned, element)
        now_atomic = (below.map is not None and below.map.atomic) or (
            below.map is None and below.list is not None and not below.list.associative and below.scalar is None
        )
        if now_atomic:
            if inside:
                out[element] = {}
        elif inside:
            found = _turned_atomic(inside, below)
            if found:
                out[element] = found
    return out
