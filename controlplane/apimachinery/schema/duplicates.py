r"""Duplicate keys in a JSON document, found at the price of a few byte scans where there are none.

JSON parsers keep the last of two equal keys. Kubernetes' decoder of native kinds says that a key was there twice, and
reads the second into what the first left: two objects are merged, anything else is replaced.

How the cheap check works: what was parsed is written again, without duplicates, and in both texts the colons are
counted. A colon stands after each key, or in a string, which both texts have alike; so if both have as many, no key was
lost. Only a text that spells a colon in another way (``\u003a``) takes the long way, as one with duplicates does.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from controlplane.apimachinery.codec.json import TooDeep, dumps
from controlplane.apimachinery.codec.json_text import well_formed
from controlplane.apimachinery.identity import Obj

__all__ = ["Pairs", "merge_duplicates", "pairs_of"]

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
    """Whether no key was lost when the text was parsed. Raises TooDeep."""
    written = dumps(parsed)
    if written == text:
        return True
    if b"\\u003" in text and (b"\\u003a" in text or b"\\u003A" in text):
        return False
    return text.count(b":") == written.count(b":")


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
