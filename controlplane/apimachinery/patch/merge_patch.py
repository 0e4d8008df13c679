"""JSON merge patch (RFC 7386), as the library behind Kubernetes applies it.

Null deletes a key; objects are merged; anything else replaces. Beyond the RFC, nulls are also taken out of objects
inside lists that a patch brings.

The object and the patch given are never changed; what did not change is shared with the original.

Source: RFC 7386; the behaviour of gopkg.in/evanphx/json-patch.v4.
"""

from __future__ import annotations

from typing import Any

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.patch.errors import MalformedPatch

__all__ = ["INVALID_PATCH", "apply_merge_patch"]

INVALID_PATCH = "Invalid JSON Patch"
"""All that is said of what is no merge patch."""


def apply_merge_patch(obj: Obj, patch: Any) -> Obj:
    """Apply a decoded merge patch.

    Returns:
        The new object; parts that did not change are shared with ``obj``, new ones may be with ``patch``.

    Raises:
        MalformedPatch: the patch is not an object.
    """
    if not isinstance(patch, dict):
        raise MalformedPatch(INVALID_PATCH)
    return _merged(obj, patch)


def _merged(current: Obj, patch: Obj) -> Obj:
    merged = current.copy()
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict) and isinstance(present := merged.get(key), dict):
            merged[key] = _merged(present, value)
        else:
            merged[key] = _without_nulls(value)
    return merged


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value
