"""What a new object sets: the fields that it has beside a blank one.

It is what ``compare`` of the two finds modified and added, at a tenth of the price, since of what is wholly new nothing
has to be compared; and the objects of a kind have few sets of keys, so what is to be done for each key is found out
once a set of keys.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from controlplane.apimachinery.patch.structured.compare import everything, modified_or_added, without
from controlplane.apimachinery.patch.structured.fieldset import SELF, Fields
from controlplane.apimachinery.patch.structured.types import MapType, Type

__all__ = ["Beside"]

_Node = Callable[[Any], Fields | None]
"""The node of a field's value; None: there is nothing to tell of it."""

_PLANS = 256
_PLAN_NAMES = 64
_PLAN_CHARACTERS = 2_048
"""Sets of keys remembered for each map of a type, of so many keys and characters at most."""

_NONE: Fields = {}


class Beside:
    """``fields_of`` gives the fields; ``ignored``: those not looked at, with all below them.

    Args:
        blank: what has been set by nobody; it is not changed.
    """

    __slots__ = ("_blank", "_ignored", "_level", "_type")

    def __init__(self, blank: dict[str, Any], type_: Type, ignored: Fields = _NONE) -> None:
        self._blank, self._type, self._ignored = blank, type_, ignored
        maps = type_.map
        is_map = type_.only == "map" and maps is not None and not maps.atomic
        self._level = _Level(blank, maps, ignored) if is_map and maps is not None else None

    def fields_of(self, new: dict[str, Any]) -> Fields:
        """What the object has beside the blank one.

        Raises:
            ValueError: an item of a list has no identity.
        """
        if self._level is not None:
            return self._level.fields_of(new)
        return modified_or_added(self._blank, new, self._type) or _NONE


class _Plan(NamedTuple):
    """For one set of keys: the ``elements`` of the answer, and for those that are no leaves whatever their value is,
    where it is found and what gives its node."""

    elements: tuple[str, ...]
    parts: tuple[tuple[str, str, _Node], ...]


class _Level:
    """One map of the type that is never owned whole."""

    __slots__ = ("_blank", "_ignored", "_maps", "_nodes", "_plans")

    def __init__(self, blank: dict[str, Any], maps: MapType, ignored: Fields) -> None:
        self._blank, self._maps, self._ignored = blank, maps, ignored
        self._plans: dict[tuple[str, ...], _Plan] = {}
        self._nodes: dict[str, _Node] = {}

    def fields_of(self, new: dict[str, Any]) -> Fields:
        names = tuple(new)
        elements, parts = self._plans.get(names) or self._planned(names)
        out: Fields = {element: {} for element in elements}
        for element, name, node_of in parts:
            node = node_of(new[name])
            if node is None:
                del out[element]
            else:
                out[element] = node
        return out

    def _planned(self, names: tuple[str, ...]) -> _Plan:
        elements: list[str] = []
        parts: list[tuple[str, str, _Node]] = []
        for name in names:
            element = "f:" + name
            below = self._ignored.get(element)
            if below is not None and (not below or SELF in below):
                continue
            field = self._maps.known.get(name) or self._maps.field(name)
            if field is None:
                continue
            elements.append(element)
            if name in self._blank or field.only != "scalar":
                parts.append((element, name, self._node_of(name, field, below)))
        plan = _Plan(tuple(elements), tuple(parts))
        if len(names) <= _PLAN_NAMES and sum(map(len, names)) <= _PLAN_CHARACTERS:
            if len(self._plans) >= _PLANS:
                self._plans.clear()
            self._plans[names] = plan
        return plan

    def _node_of(self, name: str, field: Type, below: Fields | None) -> _Node:
        maps = field.map
        if name not in self._blank:
            if not below and field.only == "map" and maps is not None and maps.leaves and not maps.atomic:
                return _leaves
            return lambda value: without(everything(value, field), below)
        blank = self._blank[name]
        if maps is None or not isinstance(blank, dict) or not (below or (field.only == "map" and not maps.atomic)):
            return lambda value: modified_or_added(blank, value, field)
        known = self._nodes.get(name)
        if known is None:
            known = self._nodes[name] = _below(
                _Level(blank, maps, below or _NONE), blank, field, is_ignoring=bool(below)
            )
        return known


def _leaves(value: Any) -> Fields:
    """The node of a wholly new map of leaves, as labels are."""
    if type(value) is dict and value:
        return {SELF: {}, **{"f:" + name: {} for name in value}}
    return {}


def _below(level: _Level, blank: dict[str, Any], field: Type, *, is_ignoring: bool) -> _Node:
    """The node of a map that the blank object has, too; an empty one is compared, unless parts of it are ignored."""

    def node_of(value: Any) -> Fields | None:
        if isinstance(value, dict) and (value or is_ignoring):
            return level.fields_of(value) or None
        return modified_or_added(blank, value, field)

    return node_of
