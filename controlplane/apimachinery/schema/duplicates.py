r"""Duplicate keys in a JSON document, found at the price of a few byte scans where there are none.

JSON parsers keep the last of two equal keys. Kubernetes' decoder of native kinds says that a key was there twice, and
reads the second into what the first left: two objects are merged, anything else is replaced.

How the cheap check works: what was parsed is written again, without duplicates, and in both texts the places are
counted where a ``"`` stands before a ``:``. In valid JSON that is the end of a key, or ``\":`` inside a string, which
both texts have alike; so if both texts have as many, none was lost. A text in which a key may end in another way (white
space before the colon) or a string be spelled in another way (``\u0022``) has none if both texts are the same but for
spaces after commas and colons: without these (also inside strings) a text has as many fields as before, and one with
duplicates more than what was written. Else it takes the long way.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from controlplane.apimachinery.codec.json import TooDeep, dumps
from controlplane.apimachinery.codec.json_text import well_formed
from controlplane.apimachinery.identity import Obj

__all__ = ["Pairs", "merge_duplicates", "pairs_of"]

_ESCAPED = (b"\\u0020", b"\\u0022", b"\\u003a", b"\\u003A")
"""A space, a quote and a colon in another spelling than the one in which they are counted."""
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
    value = pairs_of(text)
    duplicates: dict[str, None] = {}
    merged = _merge(value, "", duplicates)
    if not duplicates:
        return parsed, []
    return merged, [f'duplicate field "{path}"' for path in list(duplicates)[:_MAX_REPORTED]]


def pairs_of(text: bytes) -> Any:
    """A JSON document with each object as ``Pairs``. Raises TooDeep."""
    try:
        return json.loads(well_formed(text), object_pairs_hook=Pairs)
    except RecursionError:
        raise TooDeep from None


def _surely_none(text: bytes, parsed: Any) -> bool:
    written = dumps(parsed)
    if written == text:
        return True
    if _countable(text):
        return text.count(b'":') == written.count(b'":') and text.count(b" :") == written.count(b" :")
    return _closed_up(written) == _closed_up(text)


def _countable(text: bytes) -> bool:
    """Whether all keys end in a way that is counted."""
    if b"\\u00" in text and any(escaped in text for escaped in _ESCAPED):
        return False
    return not (b"\n:" in text or b"\t:" in text or b"\r:" in text)


def _closed_up(text: bytes) -> bytes:
    """Without the spaces that many writers put after commas and colons."""
    return text.replace(b", ", b",").replace(b": ", b":")


class Pairs(list[tuple[str, Any]]):
    """An object as the document has it: its keys and values in order, repeated ones too."""

    def __init__(self, pairs: Iterable[tuple[str, Any]]) -> None:
        super().__init__(pairs)


def _merge(value: Any, path: str, duplicates: dict[str, None]) -> Any:
    """The plain value; what was repeated goes to ``duplicates`` by its path."""
    if isinstance(value, Pairs):
        merged: Obj = {}
        _merge_into(merged, value, path, duplicates)
        return merged
    if isinstance(value, list):
        return [_merge(item, f"{path}[{i}]", duplicates) for i, item in enumerate(value)]
    return value


def _merge_into(merged: Obj, pairs: Pairs, path: str, duplicates: dict[str, None]) -> None:
    seen: set[str] = set()
    for key, value in pairs:
        at = f"{path}.{key}" if path else key
        if key in seen:
            duplicates[at] = None
        seen.add(key)
        earlier = merged.get(key)
        if isinstance(value, Pairs) and isinstance(earlier, dict):
            _merge_into(earlier, value, at, duplicates)
        else:
            merged[key] = _merge(value, at, duplicates)
