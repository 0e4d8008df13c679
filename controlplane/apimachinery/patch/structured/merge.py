"""Merging an applied configuration into an object: nothing is removed, and the configuration wins each leaf.

Source: behaviour of sigs.k8s.io/structured-merge-diff ``typed`` Merge, its order of list items included.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import Any

from controlplane.apimachinery.patch.structured.types import ListType, MapType, Type
from controlplane.apimachinery.patch.structured.values import ABSENT, item_element, kind_of

__all__ = ["merge"]


def merge(live: Any, applied: Any, type_: Type) -> Any:
    """The merged value; neither argument is changed, parts of both may stand in the result.

    Raises:
        ValueError: a list item without identity, or twice in ``applied``.
    """
    merged = _merge(live, applied, type_)
    return None if merged is ABSENT else merged


def _merge(live: Any, applied: Any, type_: Type) -> Any:
    if applied is ABSENT:
        return live
    kind = type_.only
    if not kind:
        kind = kind_of(applied, type_)
        if live is not ABSENT and live is not None and applied is not None and kind_of(live, type_) != kind:
            return applied
    if kind == "map" and type_.map is not None and not type_.map.atomic:
        ours = live if isinstance(live, dict) else {}
        theirs = applied if isinstance(applied, dict) else {}
        return _merge_maps(ours, theirs, type_.map) if ours or theirs else applied
    if kind == "list" and type_.list is not None and type_.list.associative:
        our_items = live if isinstance(live, list) else []
        their_items = applied if isinstance(applied, list) else []
        return _merge_lists(our_items, their_items, type_.list) if our_items or their_items else applied
    return applied


def _merge_maps(live: dict[str, Any], applied: dict[str, Any], type_: MapType) -> dict[str, Any]:
    out = dict(live)
    for name, value in applied.items():
        field = type_.known.get(name) or type_.field(name)
        if field is None or field.only == "scalar" or name not in live:
            out[name] = value
        else:
            out[name] = _merge(live[name], value, field)
    return out


def _merge_lists(live: list[Any], applied: list[Any], type_: ListType) -> list[Any]:
    """The applied items stand in the applied order; live items that were not applied keep their place among them.

    An item that is live twice is not merged with its applied namesake, which replaces both.
    """
    live_elements = [item_element(type_, item) for item in live]
    applied_by = {item_element(type_, item): item for item in applied}
    if len(applied_by) != len(applied):
        raise ValueError("duplicate entries for key in an applied list")
    applied_order = list(applied_by)
    times = Counter(live_elements)
    once = {e: item for e, item in zip(live_elements, live, strict=True) if times[e] == 1}
    shared = deque(e for e in applied_order if e in times)
    out: list[Any] = []
    done: set[str] = set()
    at_live = at_applied = 0

    def put_applied(element: str) -> None:
        out.append(_merge(once.get(element, ABSENT), applied_by[element], type_.element))
        done.add(element)
        if shared and shared[0] == element:
            shared.popleft()

    while at_live < len(live) or at_applied < len(applied):
        element = live_elements[at_live] if at_live < len(live) else None
        if element is not None and at_applied < len(applied):
            if element == applied_order[at_applied]:
                put_applied(element)
                at_live += 1
                at_applied += 1
                continue
            if element in applied_by and shared and shared[0] != element:
                at_live += 1  # it comes later, where the applied order has it
                continue
        if element is not None:
            if element not in applied_by:
                out.append(live[at_live])
                at_live += 1
                continue
            if element in done:
                at_live += 1
        if at_applied < len(applied):
            put_applied(applied_order[at_applied])
            at_applied += 1
    return out
