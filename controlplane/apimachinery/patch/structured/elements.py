"""Path elements and paths: the steps by which a field is named in managed fields.

An element is kept as the text that stands in ``fieldsV1``: ``f:name`` is a field, ``k:{"name":"x"}`` the item of a list
of maps with these key values, ``v:"x"`` an item of a set, ``i:0`` an index. The text is canonical (keys sorted, compact
JSON with ``<``, ``>`` and ``&`` escaped, and numbers, as Go writes it), so equal elements are equal strings.

Source: the serialized form of sigs.k8s.io/structured-merge-diff ``fieldpath``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

import orjson

from controlplane.apimachinery.validation.field import go_number, go_quoted

__all__ = [
    "canonical",
    "escape_html",
    "field_element",
    "item_keys",
    "key_element",
    "path_text",
    "sort_key",
    "value_element",
]

_RANK = {"f": 0, "k": 1, "v": 2, "i": 3}
_ESCAPES = str.maketrans({c: f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"})
_INDEX = re.compile("[+-]?[0-9]+")
_MAY_NEED_ESCAPES = re.compile("[<>&\u2028\u2029]")


def field_element(name: str) -> str:
    return "f:" + name


def key_element(keys: Mapping[str, Any]) -> str:
    """The item of a list of maps whose key fields have these values."""
    if float in map(type, keys.values()):
        keys = {name: _fragment(value) if type(value) is float else value for name, value in keys.items()}
    return "k:" + escape_html(orjson.dumps(keys, option=orjson.OPT_SORT_KEYS).decode())


def value_element(value: Any) -> str:
    """The item of a set with this value."""
    if type(value) is float:
        value = _fragment(value)
    return "v:" + escape_html(orjson.dumps(value).decode())


def _fragment(value: float) -> orjson.Fragment:
    """A number as Go's encoders write it: whole ones like integers, which they equal."""
    if value.is_integer() and abs(value) < 1e21:
        return orjson.Fragment(str(int(value)))
    plain = 1e-6 <= abs(value) < 1e21
    return orjson.Fragment(format(Decimal(repr(value)), "f") if plain else go_number(value))


def escape_html(text: str) -> str:
    """JSON text as Go's encoder writes it by default, safe to stand in HTML."""
    return text.translate(_ESCAPES) if _MAY_NEED_ESCAPES.search(text) else text


def item_keys(element: str) -> dict[str, Any]:
    """The key values of a ``k:`` element; nothing for the others."""
    keys: dict[str, Any] = orjson.loads(element[2:]) if element.startswith("k:") else {}
    return keys


def canonical(element: str) -> str | None:
    """A client's element in canonical form; None if its letter is unknown: a later version's, of which nothing is kept.

    Raises:
        ValueError: not an element: too short, no colon, an index that is no number, a value that is not JSON.
    """
    if len(element) < 2:
        raise ValueError("key must be 2 characters long:")
    if element[1] != ":":
        raise ValueError(f"missing colon: {element}")
    kind = element[0]
    if kind == "f":
        return element
    if kind == "i":
        if _INDEX.fullmatch(element, 2) is None:
            raise ValueError(f"strconv.Atoi: parsing {go_quoted(element[2:])}: invalid syntax")
        return f"i:{int(element[2:])}"
    if kind == "v":
        return value_element(orjson.loads(element[2:]))
    if kind == "k":
        keys = orjson.loads(element[2:])
        if not isinstance(keys, dict):
            raise ValueError(f"keys of a list item must be an object: {element}")
        return key_element(keys)
    return None


def sort_key(element: str) -> tuple[Any, ...]:
    """Fields before keys before values before indexes; fields by name, keys and values by what they are."""
    kind, rest = element[0], element[2:]
    if kind == "f":
        return 0, rest
    if kind == "k":
        return 1, *((name, *_value_order(value)) for name, value in orjson.loads(rest).items())
    return _RANK[kind], *_value_order(orjson.loads(rest))


def _value_order(value: Any) -> tuple[int, Any]:
    """Numbers before strings before booleans before the rest."""
    if isinstance(value, bool):
        return 2, value
    if isinstance(value, (int, float)):
        return 0, value
    return (1, value) if isinstance(value, str) else (3, orjson.dumps(value))


def path_text(path: Iterable[str]) -> str:
    """A path as conflicts name it: ``.spec.ports[port=80,protocol="TCP"].name``."""
    return "".join(map(_element_text, path))


def _element_text(element: str) -> str:
    kind, rest = element[0], element[2:]
    if kind == "f":
        return "." + rest
    if kind == "k":
        pairs = (f"{name}={_shown(value)}" for name, value in orjson.loads(rest).items())
        return "[" + ",".join(pairs) + "]"
    if kind == "v":
        return f"[={_shown(orjson.loads(rest))}]"
    return f"[{rest}]"


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return go_quoted(value)
    return go_number(value) if type(value) is float else orjson.dumps(value).decode()
