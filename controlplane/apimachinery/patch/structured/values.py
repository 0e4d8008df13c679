"""What the walks over values share: absence, kinds of values, equality, and the identity of a list's items.

Source: behaviour of sigs.k8s.io/structured-merge-diff ``typed`` and ``value``.
"""

from __future__ import annotations

from typing import Any, Final

import orjson

from controlplane.apimachinery.patch.structured.elements import key_element, value_element
from controlplane.apimachinery.patch.structured.types import ListType, Type

__all__ = ["ABSENT", "by_element", "equal", "item_element", "kind_of"]


class _Absent:
    """Not there at all, which is not the same as null."""

    def __repr__(self) -> str:
        return "ABSENT"

    def __bool__(self) -> bool:
        return False


ABSENT: Final[Any] = _Absent()


def kind_of(value: Any, type_: Type) -> str:
    """Which alternative of a type a value takes: ``map``, ``scalar`` or ``list``.

    Null, absence and a value of no allowed kind take the first alternative there is, in that order.
    """
    if isinstance(value, dict):
        if type_.map is not None:
            return "map"
    elif isinstance(value, list):
        if type_.list is not None:
            return "list"
    elif value is not None and value is not ABSENT and type_.scalar is not None:
        return "scalar"
    if type_.map is not None:
        return "map"
    return "scalar" if type_.scalar is not None else "list"


def equal(a: Any, b: Any) -> bool:
    """Equality of JSON values: 1 and 1.0 are equal, 1 and true are not."""
    if a != b:
        return False
    if isinstance(a, str):
        return True
    if isinstance(a, (dict, list)):
        return orjson.dumps(a) == orjson.dumps(b) or _equal_throughout(a, b)
    return isinstance(a, bool) == isinstance(b, bool)


def _equal_throughout(a: Any, b: Any) -> bool:
    """The same of two values that Python takes for equal, part by part."""
    if isinstance(a, dict):
        return all(_equal_throughout(value, b[key]) for key, value in a.items())
    if isinstance(a, list):
        return all(map(_equal_throughout, a, b))
    return isinstance(a, bool) == isinstance(b, bool)


def item_element(type_: ListType, item: Any) -> str:
    """The path element that identifies an item of an associative list.

    Raises:
        ValueError: the item has no identity; the text says why.
    """
    if not type_.keys:
        return _set_element(item)
    if item is None:
        raise ValueError("associative list with keys may not have a null element")
    if not isinstance(item, dict):
        raise ValueError("associative list with keys may not have non-map elements")
    keys = {}
    for name in type_.keys:
        value = item[name] if name in item else type_.default(name)
        if value is not None or name in item:
            keys[name] = value
    if not keys:
        names = " ".join(f'"{name}"' for name in type_.keys)
        raise ValueError(
            f"associative list with keys has an element that omits all key fields [{names}] "
            "(and doesn't have default values for any key fields)"
        )
    return key_element(keys)


def by_element(items: list[Any], type_: ListType) -> dict[str, list[Any]]:
    """The items of an associative list by identity, in order; mostly one each. Raises as ``item_element``."""
    grouped: dict[str, list[Any]] = {}
    for item in items:
        grouped.setdefault(item_element(type_, item), []).append(item)
    return grouped


def _set_element(item: Any) -> str:
    if isinstance(item, dict):
        raise ValueError("associative list without keys has an element that's a map type")
    if isinstance(item, list):
        raise ValueError("not supported: associative list with lists as elements")
    if item is None:
        raise ValueError("associative list without keys has an element that's an explicit null")
    return value_element(item)
