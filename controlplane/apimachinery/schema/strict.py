"""What a strict reader of a native kind finds in a JSON text: unknown and repeated fields, in the order of the text.

Slow and plain: for texts that repeat a key, found by ``duplicates``. Where none is repeated the decoder says the same.

Source: kubernetes-sigs/json. Its decoder knows fields by the type that it reads into: what it does not know is unknown
however often it stands there, and is not looked into; nor is what reads itself (a raw extension, a union).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.decode import MAX_REPORTED
from controlplane.apimachinery.schema.duplicates import Pairs, pairs_of
from controlplane.apimachinery.schema.native import DEFINITION, UNION
from controlplane.apimachinery.schema.object_meta import OBJECT_META

__all__ = ["in_order_of_keys", "json_patch_problems", "strict_problems"]

_TEXT: Obj = {"type": "string"}
_ANYTHING: Obj = {"type": "array"}
_ANYTHING.update(items=_ANYTHING, additionalProperties=_ANYTHING)
_OPERATION: Obj = {"properties": {"op": _TEXT, "path": _TEXT, "from": _TEXT, "value": _ANYTHING}}
_ELEMENT = re.compile(r"\[(\d+)\]|\.?([^.\[]+)")


def strict_problems(text: bytes, schema: Obj) -> list[str]:
    """All that is unknown or repeated in a JSON object.

    Args:
        text: has been read already, so that it is JSON and of the right types.
        schema: of the kind; it need not describe apiVersion, kind and metadata.

    Returns:
        ``unknown field "spec.x"`` and ``duplicate field "spec.y"``, each once, MAX_REPORTED at most.
    """
    properties = {"kind": _TEXT, "apiVersion": _TEXT, **schema.get("properties", {}), "metadata": OBJECT_META}
    found: dict[str, None] = {}
    _walk(pairs_of(text), {**schema, "properties": properties}, "", found)
    return list(found)[:MAX_REPORTED]


def json_patch_problems(text: bytes) -> list[str]:
    """The same of the text of a JSON patch, whose operations may have values with repeated fields."""
    found: dict[str, None] = {}
    _walk(pairs_of(text), {"type": "array", "items": _OPERATION}, "", found)
    return list(found)[:MAX_REPORTED]


def _walk(value: Any, schema: Obj, path: str, found: dict[str, None]) -> None:
    if UNION in schema:
        return
    if DEFINITION in schema:
        schema = schema[DEFINITION]()
    if isinstance(value, Pairs):
        _walk_object(value, schema, path, found)
    elif isinstance(value, list) and schema.get("type") == "array":
        for index, item in enumerate(value):
            _walk(item, schema["items"], f"{path}[{index}]", found)


def _walk_object(value: Pairs, schema: Obj, path: str, found: dict[str, None]) -> None:
    properties, others = schema.get("properties"), schema.get("additionalProperties")
    if properties is None and others is None:
        return
    seen: set[str] = set()
    for key, item in value:
        at = f"{path}.{key}" if path else key
        field = others if properties is None else properties.get(key)
        if field is None:
            found[f'unknown field "{at}"'] = None
            continue
        if key in seen:
            found[f'duplicate field "{at}"'] = None
        seen.add(key)
        _walk(item, field, at, found)


def in_order_of_keys(problems: Sequence[str]) -> list[str]:
    """Problems of a text whose objects have their keys in order, as it is where Go has written it from a map."""
    if len(problems) < 2:
        return list(problems)
    return sorted(problems, key=lambda problem: _sort_key(problem.partition('"')[2].rpartition('"')[0]))


def _sort_key(path: str) -> list[tuple[int, str]]:
    return [(int(index or 0), name) for index, name in _ELEMENT.findall(path)]
