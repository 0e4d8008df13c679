"""Duplicate keys in a JSON document, found at the price of a few byte scans where there are none.

JSON parsers keep the last of two equal keys. Kubernetes' decoder of native kinds says that a key was there twice, and
reads the second into what the first left: two objects are merged, anything else is replaced.

How the cheap check works: what is written again and gives the same bytes had no duplicates; that settles compact
documents. For others: in valid JSON an unescaped ``"`` directly before a ``:`` ends a key, and nothing else does. So
the number of such places is the number of keys in the text; if the parsed value has as many, none was given twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from controlplane.apimachinery.codec.json import TooDeep, dumps
from controlplane.apimachinery.identity import Obj

__all__ = ["merge_duplicates"]

_QUOTE, _WHITE_SPACE = 0x22, frozenset(b" \t\r\n")
_FIRST_KEYS_BYTES = 64
"""Where a document shows whether its writer puts spaces after colons."""
_COMPACT_BYTES = 64 * 1024
"""Larger documents are not written again just to compare them."""
_MAX_REPORTED = 100
"""As many as upstream's decoder keeps."""


def merge_duplicates(text: bytes, parsed: Any) -> tuple[Any, list[str]]:
    """Look for keys given twice.

    Args:
        text: a JSON document. ``parsed``: what a parser made of it, the last key winning.

    Returns:
        The value with repeated objects merged, and each repeated key as ``duplicate field "data.k"``, in the order of
        the document. ``parsed`` itself and an empty list if there is none.
    """
    if _surely_none(text, parsed):
        return parsed, []
    try:
        value = json.loads(text, object_pairs_hook=_Pairs)
    except RecursionError:
        raise TooDeep from None
    duplicates: dict[str, None] = {}
    merged = _merge(value, "", duplicates)
    if not duplicates:
        return parsed, []
    return merged, [f'duplicate field "{path}"' for path in list(duplicates)[:_MAX_REPORTED]]


def _surely_none(text: bytes, parsed: Any) -> bool:
    spaced = b'": ' in text[:_FIRST_KEYS_BYTES]
    if not spaced and len(text) < _COMPACT_BYTES and dumps(parsed) == text:
        return True
    return _keys_in(text) == _count_keys(parsed)


def _keys_in(text: bytes) -> int:
    """How many keys a JSON text has; -1 if that takes a closer look (space before a colon, maybe in a string)."""
    keys = 0
    before_colons = text.split(b":")
    before_colons.pop()
    for part in before_colons:
        last = part[-1] if part else 0
        if last == _QUOTE:
            if part[-2:-1] != b"\\":
                keys += 1
            else:  # an even number of backslashes escape each other, and the quote ends a key
                backslashes = len(part) - 1 - len(part[:-1].rstrip(b"\\"))
                keys += backslashes % 2 == 0
        elif last in _WHITE_SPACE:
            return -1
    return keys


def _count_keys(value: Any) -> int:
    if type(value) is dict:
        count = len(value)
        children: Iterable[Any] = value.values()
    else:
        count, children = 0, value if type(value) is list else ()
    for child in children:
        if type(child) is dict or type(child) is list:
            count += _count_keys(child)
    return count


class _Pairs(list[tuple[str, Any]]):
    """An object as the document has it: its keys and values in order, repeated ones too."""

    def __init__(self, pairs: Iterable[tuple[str, Any]]) -> None:
        super().__init__(pairs)


def _merge(value: Any, path: str, duplicates: dict[str, None]) -> Any:
    """The plain value; what was repeated goes to ``duplicates`` by its path."""
    if isinstance(value, _Pairs):
        merged: Obj = {}
        _merge_into(merged, value, path, duplicates)
        return merged
    if isinstance(value, list):
        return [_merge(item, f"{path}[{i}]", duplicates) for i, item in enumerate(value)]
    return value


def _merge_into(merged: Obj, pairs: _Pairs, path: str, duplicates: dict[str, None]) -> None:
    seen: set[str] = set()
    for key, value in pairs:
        at = f"{path}.{key}" if path else key
        if key in seen:
            duplicates[at] = None
        seen.add(key)
        earlier = merged.get(key)
        if isinstance(value, _Pairs) and isinstance(earlier, dict):
            _merge_into(earlier, value, at, duplicates)
        else:
            merged[key] = _merge(value, at, duplicates)
