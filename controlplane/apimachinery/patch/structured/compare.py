"""What differs between two objects of one type, as sets of fields.

The answer is built from below, so that a part in which nothing differs costs no path; and most parts are found equal by
one comparison of whole values, which runs in C.

Source: behaviour of sigs.k8s.io/structured-merge-diff ``typed`` (Compare).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from controlplane.apimachinery.patch.structured.fieldset import (
    SELF,
    Fields,
    children,
    is_member,
    recursive_difference,
    union,
)
from controlplane.apimachinery.patch.structured.types import ListType, MapType, Type
from controlplane.apimachinery.patch.structured.values import ABSENT, by_element, equal, kind_of

__all__ = ["Changes", "compare", "everything", "modified_or_added", "without"]


class Changes(NamedTuple):
    """What the new object lacks, has with another value, has beyond the old one. No field is in two of them."""

    removed: Fields
    modified: Fields
    added: Fields


class _Found(NamedTuple):
    """The same of one part of an object: nodes (``{}``: the part itself), None where there is nothing."""

    removed: Fields | None
    modified: Fields | None
    added: Fields | None


_SAME = _Found(None, None, None)
_MODIFIED = _Found(None, {}, None)
_NONE: Fields = {}


def compare(old: dict[str, Any], new: dict[str, Any], type_: Type, ignored: Fields = _NONE) -> Changes:
    """Compare two objects of one type; ``ignored``: fields not looked at, with all below them.

    Raises:
        ValueError: an item of a list has no identity.
    """
    if type_.only == "map" and type_.map is not None and not type_.map.atomic:
        found = _maps(old, new, type_.map, ignored)
    else:
        found = _values(old, new, type_)
    return Changes(found.removed or _NONE, found.modified or _NONE, found.added or _NONE)


def modified_or_added(old: Any, new: Any, type_: Type) -> Fields | None:
    """The node of all that ``compare`` of two values finds modified and added. Raises as it does."""
    found = _values(old, new, type_)
    return _union_nodes(found.modified, found.added)


def _values(old: Any, new: Any, type_: Type) -> _Found:
    if type_.only:
        return _values_as(type_.only, old, new, type_)
    old_kind, new_kind = kind_of(old, type_), kind_of(new, type_)
    found = _values_as(new_kind, old, new, type_)
    if old_kind == new_kind:
        return found
    other = _values_as(old_kind, old, new, type_)
    return _Found(*map(_union_nodes, found, other))


def _union_nodes(a: Fields | None, b: Fields | None) -> Fields | None:
    if a is None or b is None:
        return b if a is None else a
    if bool(a) == bool(b):
        return union(a, b)
    return {SELF: {}, **a, **b}


def _values_as(kind: str, old: Any, new: Any, type_: Type) -> _Found:
    if kind == "map":
        assert type_.map is not None
        old_map = old if isinstance(old, dict) else _NONE
        new_map = new if isinstance(new, dict) else _NONE
        if not type_.map.atomic and (old_map or new_map):
            return _maps(old_map, new_map, type_.map, _NONE)
    elif kind == "list":
        assert type_.list is not None
        old_list = old if isinstance(old, list) else []
        new_list = new if isinstance(new, list) else []
        if type_.list.associative and (old_list or new_list):
            return _lists(old_list, new_list, type_.list)
    return _SAME if equal(old, new) else _MODIFIED


def _maps(old: dict[str, Any], new: dict[str, Any], maps: MapType, ignored: Fields) -> _Found:
    removed: Fields = {}
    modified: Fields = {}
    added = _added(old, new, maps, ignored) if not new.keys() <= old.keys() else {}
    known = maps.known
    for name, value in old.items():
        other = new.get(name, ABSENT)
        field: Type | None = None
        if other == value:
            if other is value or type(value) is str:
                continue
            field = known.get(name) or maps.field(name)
            if field is None or field.exact:
                continue
        element = "f:" + name
        below = ignored.get(element) if ignored else None
        if below is not None and (not below or SELF in below):
            continue
        field = field or known.get(name) or maps.field(name)
        if field is None:
            continue
        if other is ABSENT:
            removed[element] = without(everything(value, field), below)
            continue
        if field.only == "scalar":
            if other != value or not equal(value, other):
                modified[element] = {}
            continue
        if below and field.map is not None and isinstance(value, dict) and isinstance(other, dict):
            found = _maps(value, other, field.map, below)
        else:
            found = _values(value, other, field)
        if found is not _SAME:
            _hang(element, found, removed, modified, added)
    if removed or modified or added:
        return _Found(removed or None, modified or None, added or None)
    return _SAME


def _added(old: dict[str, Any], new: dict[str, Any], maps: MapType, ignored: Fields) -> Fields:
    """What stands in the new map alone."""
    added: Fields = {}
    for name, value in new.items():
        if name in old:
            continue
        element = "f:" + name
        below = ignored.get(element) if ignored else None
        if below is not None and is_member(below):
            continue
        field = maps.known.get(name) or maps.field(name)
        if field is not None:
            added[element] = {} if field.only == "scalar" else without(everything(value, field), below)
    return added


def _hang(element: str, found: _Found, removed: Fields, modified: Fields, added: Fields) -> None:
    """Put what was found below an element under it."""
    gone, changed, come = found
    if gone is not None:
        removed[element] = gone
    if changed is not None:
        modified[element] = changed
    if come is not None:
        added[element] = come


def without(node: Fields, ignored: Fields | None) -> Fields:
    """The node of something wholly new or gone, without what is ignored below it."""
    if not ignored or not node:
        return node
    return {SELF: {}, **recursive_difference(children(node), ignored)}


def everything(value: Any, type_: Type) -> Fields:
    """The node of a value that is wholly new or wholly gone: each path in it is a member. One of another kind than its
    type's (an object that will be refused) is a member itself."""
    kind = type_.only or kind_of(value, type_)
    if kind == "map":
        maps = type_.map
        if value and isinstance(value, dict) and maps is not None and not maps.atomic:
            if maps.leaves:
                return {SELF: {}, **{"f:" + name: {} for name in value}}
            node: Fields = {SELF: {}}
            for name, item in value.items():
                field = maps.known.get(name) or maps.field(name)
                if field is not None:
                    node["f:" + name] = {} if field.only == "scalar" else everything(item, field)
            return node
    elif kind == "list":
        lists = type_.list
        if value and isinstance(value, list) and lists is not None and lists.associative:
            grouped = by_element(value, lists)
            return {
                SELF: {},
                **{e: {} if len(items) > 1 else everything(items[0], lists.element) for e, items in grouped.items()},
            }
    return {}


def _lists(old: list[Any], new: list[Any], lists: ListType) -> _Found:
    """Items by identity. Items that stand twice are compared whole, since nobody can say which is which."""
    removed: Fields = {}
    modified: Fields = {}
    added: Fields = {}
    olds, news = by_element(old, lists), by_element(new, lists)
    for element in olds | news:
        mine, theirs = olds.get(element, []), news.get(element, [])
        if len(mine) == 1 and len(theirs) == 1:
            _hang(element, _values(mine[0], theirs[0], lists.element), removed, modified, added)
        elif len(mine) > 1 and len(theirs) > 1:
            if not equal(mine, theirs):
                modified[element] = {}
        else:
            if mine:
                removed[element] = {} if len(mine) > 1 else everything(mine[0], lists.element)
            if theirs:
                added[element] = {} if len(theirs) > 1 else everything(theirs[0], lists.element)
    if removed or modified or added:
        return _Found(removed or None, modified or None, added or None)
    return _SAME
