"""Strategic merge patch: a merge patch that knows, from the schema, which lists are merged item by item.

A list whose schema says ``x-kubernetes-patch-strategy: merge`` is merged by ``x-kubernetes-patch-merge-key``, or, of
scalars, as a set; all other lists are replaced. Directives inside the patch: ``$patch: replace|delete``,
``$retainKeys``, ``$setElementOrder/FIELD``, ``$deleteFromPrimitiveList/FIELD``.

Neither argument is changed.

Source: behaviour and texts of kubernetes/apimachinery ``pkg/util/strategicpatch`` and ``mergepatch``.
"""

from __future__ import annotations

from functools import cmp_to_key
from typing import Any

import orjson

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.patch.errors import MalformedPatch, PatchError, PatchNotApplicable
from controlplane.apimachinery.schema.native import GO_TYPE
from controlplane.apimachinery.validation.field import go_text, go_value

__all__ = ["StrategicMergeError", "apply_strategic_merge_patch"]

MARKER = "$patch"
RETAIN_KEYS = "$retainKeys"
ELEMENT_ORDER = "$setElementOrder/"
DELETE_FROM = "$deleteFromPrimitiveList/"
_TYPE_META = ("kind", "apiVersion")
_BAD_RETAIN = "invalid patch format of retainKeys"


class StrategicMergeError(PatchError):
    """A patch that cannot be applied; upstream answers 500 with the text."""


def apply_strategic_merge_patch(obj: Obj, patch: Obj, schema: Obj) -> Obj:
    """Merge ``patch`` into ``obj``.

    Args:
        schema: the structural schema of the whole object, ``metadata`` included.

    Raises:
        MalformedPatch, PatchNotApplicable, StrategicMergeError: a directive or a list that does not fit; the text is
            upstream's.
    """
    return _merge_map(obj, patch, schema)


def _property(schema: Obj, name: str) -> Obj:
    """The schema of a field; ``{}`` where nothing is known."""
    known = (schema.get("properties") or {}).get(name)
    if known is None:
        known = schema.get("additionalProperties")
    return known if isinstance(known, dict) else {}


def _list_property(schema: Obj, name: str) -> Obj:
    """The schema of a field that must be a list.

    Raises:
        StrategicMergeError: it is none, or there is no such field.
    """
    properties = schema.get("properties")
    if properties is None:
        raise StrategicMergeError("merging an object in json but data type is not struct, instead is: map")
    if name not in properties and name not in _TYPE_META:
        struct = schema.get(GO_TYPE, "").rpartition(".")[2]
        raise StrategicMergeError(f'unable to find api field in struct {struct} for the json field "{name}"')
    found: Obj = properties.get(name) or {}
    if found.get("type") != "array":
        raise StrategicMergeError("expected slice or array type, but got: struct")
    return found


def _strategies(schema: Obj) -> list[str]:
    text: str = schema.get("x-kubernetes-patch-strategy", "")
    return text.split(",") if text else []


def _merge_map(live: Obj | None, patch: Obj, schema: Obj) -> Obj:
    if MARKER in patch:
        return _whole_map(patch)
    out = dict(live or {})
    rest = dict(patch)
    _retain_keys(out, rest)
    for key in [k for k in rest if k.startswith(ELEMENT_ORDER)]:
        _merge_in_order(out, rest, key, schema)
    for key, value in rest.items():
        if key.startswith(DELETE_FROM):
            _delete_scalars(out, key.removeprefix(DELETE_FROM), value)
        elif value is None:
            out.pop(key, None)
        else:
            _merge_field(out, key, value, _property(schema, key))
    return out


def _whole_map(patch: Obj) -> Obj:
    """A map whose patch is to replace or to empty it."""
    if patch[MARKER] == "replace":
        return {k: v for k, v in patch.items() if k != MARKER}
    if patch[MARKER] == "delete":
        return {}
    raise StrategicMergeError(f"unknown patch type: {go_text(patch[MARKER])} in map: {go_value(patch)}")


def _merge_field(out: Obj, key: str, value: Any, schema: Obj) -> None:
    live = out.get(key)
    if key in out and isinstance(value, dict) and isinstance(live, dict):
        out[key] = value if "replace" in _strategies(schema) else _merge_map(live, value, schema)
    elif key in out and isinstance(value, list) and isinstance(live, list):
        out[key] = _merge_list(live, value, schema) if "merge" in _strategies(schema) else value
    else:
        kept, taken = _without_directives(value)
        if kept:
            out[key] = taken
        else:
            out.pop(key, None)


def _without_directives(value: Any) -> tuple[bool, Any]:
    """A new value from a patch: whether it is kept at all, and what of it (no directives, no nulls in maps)."""
    if isinstance(value, dict):
        if MARKER in value:
            return False, None
        kept = {k: _without_directives(v) for k, v in value.items() if v is not None}
        return True, {k: v for k, (keep, v) in kept.items() if keep}
    if isinstance(value, list):
        return True, [v for keep, v in map(_without_directives, value) if keep]
    return True, value


def _retain_keys(out: Obj, patch: Obj) -> None:
    """Clear the fields that ``$retainKeys`` does not name."""
    if RETAIN_KEYS not in patch:
        return
    names = patch.pop(RETAIN_KEYS)
    if not isinstance(names, list):
        raise MalformedPatch(_BAD_RETAIN)
    for key, value in patch.items():
        if value is not None and not key.startswith((DELETE_FROM, ELEMENT_ORDER)) and key not in names:
            raise MalformedPatch(_BAD_RETAIN)
    for key in [k for k in out if k not in names]:
        del out[key]


def _delete_scalars(out: Obj, key: str, gone: Any) -> None:
    live = out.get(key)
    if gone is None:
        out.pop(key, None)
    elif isinstance(live, list) and isinstance(gone, list):
        _element_kind(live, gone)
        out[key] = [v for v in live if v not in gone]


def _merge_in_order(out: Obj, patch: Obj, directive: str, schema: Obj) -> None:
    """Merge the list that ``$setElementOrder/FIELD`` orders, and put it in that order; takes both out of the patch."""
    order = patch.pop(directive)
    if not isinstance(order, list):
        raise StrategicMergeError(f"expected a []interface {{}}, but received a {_go_type(order)}")
    key = directive.removeprefix(ELEMENT_ORDER)
    live, new = out.get(key), patch.get(key)
    for value in (live, new):
        if value is not None and not isinstance(value, list):
            raise StrategicMergeError(f"expected a []interface {{}}, but received a {_go_type(value)}")
    field = _list_property(schema, key)
    merge_key = field.get("x-kubernetes-patch-merge-key", "")
    if new is not None:
        _check_order(new, order, merge_key)
    if live is None and new is None:
        patch.pop(key, None)
        return
    stood = live or []
    if new is None:
        merged = list(stood)
    elif live is None:
        merged = _without_directives(new)[1]
    elif "merge" in _strategies(field):
        merged = _merge_list(live, new, field)
        stood = _reused(live, new, merge_key)
    else:
        merged = list(new)
    first, others = _partition(merged, order, merge_key)
    out[key] = _in_order(first, others, order, stood, merge_key)
    patch.pop(key, None)


def _reused(live: list[Any], patch: list[Any], merge_key: str) -> list[Any]:
    """The live list as upstream finds it after the merge, which puts what is new in the place of what was deleted."""
    directives = {item.get(MARKER) for item in patch if isinstance(item, dict)}
    if not merge_key or "delete" not in directives:
        return live
    gone = [item.get(merge_key) for item in patch if item.get(MARKER) == "delete"]
    kept = [item for item in live if item.get(merge_key) not in gone]
    if "replace" in directives:
        return kept
    new = [item for item in patch if MARKER not in item and _index(kept, item, merge_key) < 0]
    return kept + new[: len(live) - len(kept)]


def _check_order(items: list[Any], order: list[Any], merge_key: str) -> None:
    """The patch's items must stand in the order list, in the same relative order (deletions aside)."""
    if not items or not order:
        return
    wanted = [i for i in items if not (isinstance(i, dict) and MARKER in i)]
    at = 0
    for item in wanted:
        while at < len(order) and _identity(item, merge_key) != _identity(order[at], merge_key):
            at += 1
        if at == len(order):
            raise StrategicMergeError(
                f"The order in patch list:\n{go_value(items)}\n"
                f" doesn't match $setElementOrder list:\n{go_value(order)}\n"
            )
        at += 1


def _merge_list(live: list[Any], patch: list[Any], schema: Obj) -> list[Any]:
    if not live and not patch:
        return live
    merge_key = schema.get("x-kubernetes-patch-merge-key", "")
    if _element_kind(live, patch) is not dict:
        merged = _unique([*live, *patch])
        first, others = _partition(merged, patch, "")
        return _in_order(first, others, patch, live, "")
    if not merge_key:
        raise StrategicMergeError("cannot merge lists without merge key for ")
    live, patch = _apply_item_directives(live, patch, merge_key)
    merged = list(live)
    places = {_hashable(_identity(item, merge_key)): index for index, item in reversed(list(enumerate(merged)))}
    for item in patch:
        place = places.get(_hashable(_identity(item, merge_key)))
        if place is None:
            places[_hashable(_identity(item, merge_key))] = len(merged)
            merged.append(item)
        else:
            merged[place] = _merge_map(merged[place], item, schema.get("items") or {})
    first, others = _partition(merged, patch, merge_key)
    return _in_order(first, others, patch, live, merge_key)


def _apply_item_directives(live: list[Any], patch: list[Any], merge_key: str) -> tuple[list[Any], list[Any]]:
    """Deletions and replacement of a whole list; what is left of both."""
    plain: list[Any] = []
    replace = False
    for item in patch:
        directive = item.get(MARKER)
        if MARKER not in item:
            plain.append(item)
        elif directive == "delete":
            gone = _identity(item, merge_key)
            live = [i for i in live if not (isinstance(i, dict) and i.get(merge_key) == gone)]
        elif directive == "replace":
            replace = True
        elif directive == "merge":
            raise StrategicMergeError("merging lists cannot yet be specified in the patch")
        else:
            raise StrategicMergeError(f"unknown patch type: {go_text(directive)} in map: {go_value(item)}")
    return (plain, []) if replace else (live, plain)


def _partition(items: list[Any], by: list[Any], merge_key: str) -> tuple[list[Any], list[Any]]:
    """Items that ``by`` names, and the others."""
    named = {_hashable(_identity(item, merge_key)) for item in by}
    inside = [i for i in items if _hashable(_identity(i, merge_key)) in named]
    outside = [i for i in items if _hashable(_identity(i, merge_key)) not in named]
    return inside, outside


def _in_order(first: list[Any], others: list[Any], order: list[Any], live: list[Any], merge_key: str) -> list[Any]:
    """``first`` in the patch's order, ``others`` in the live order, joined so that live neighbours stay neighbours."""
    first, others = _sorted_by(first, order, merge_key), _sorted_by(others, live, merge_key)
    out: list[Any] = []
    at_first = at_others = 0
    while at_first < len(first) and at_others < len(others):
        ours, theirs = _index(live, others[at_others], merge_key), _index(live, first[at_first], merge_key)
        if 0 <= ours < theirs:
            out.append(others[at_others])
            at_others += 1
        else:
            out.append(first[at_first])
            at_first += 1
    return out + first[at_first:] + others[at_others:]


def _sorted_by(items: list[Any], order: list[Any], merge_key: str) -> list[Any]:
    places = [_index(order, item, merge_key) for item in items]
    if all(p >= 0 for p in places):
        return [item for _, item in sorted(zip(places, items, strict=True), key=lambda pair: pair[0])]
    known = {id(item): place for item, place in zip(items, places, strict=True)}

    def compare(a: Any, b: Any) -> int:
        return known[id(a)] - known[id(b)] if known[id(a)] >= 0 and known[id(b)] >= 0 else 0

    return sorted(items, key=cmp_to_key(compare))


def _index(items: list[Any], wanted: Any, merge_key: str) -> int:
    identity = _identity(wanted, merge_key)
    for index, item in enumerate(items):
        if (item.get(merge_key) if merge_key and isinstance(item, dict) else item) == identity:
            return index
    return -1


def _identity(item: Any, merge_key: str) -> Any:
    """What an item is known by.

    Raises:
        StrategicMergeError: it is no map, or has no merge key.
    """
    if not merge_key:
        return item
    if not isinstance(item, dict):
        raise StrategicMergeError(f"expected a map[string]interface {{}}, but received a {_go_type(item)}")
    if merge_key not in item:
        raise StrategicMergeError(f"map: {go_value(item)} does not contain declared merge key: {merge_key}")
    return item[merge_key]


def _element_kind(*lists: list[Any]) -> type:
    """The one type of all items.

    Raises:
        StrategicMergeError: lists of lists, or items of several types.
    """
    kinds = {type(item) for items in lists for item in items}
    if list in kinds:
        raise PatchNotApplicable("lists of lists are not supported")
    if len(kinds) > 1:
        raise StrategicMergeError(f"list element types are not identical: {go_value(list(lists))}")
    return kinds.pop() if kinds else type(None)


def _hashable(value: Any) -> Any:
    return orjson.dumps(value) if isinstance(value, (dict, list)) else value


def _unique(items: list[Any]) -> list[Any]:
    return list({_hashable(i): i for i in reversed(items)}.values())[::-1]


def _go_type(value: Any) -> str:
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int64"
    names: dict[type, str] = {str: "string", float: "float64", list: "[]interface {}", dict: "map[string]interface {}"}
    return names[type(value)]
