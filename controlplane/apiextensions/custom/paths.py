"""Fields named by simple paths (``.spec.replicas``), of the type that is expected.

Source: kubernetes/apimachinery ``pkg/apis/meta/v1/unstructured`` (NestedInt64, NestedString) for the texts.
"""

from __future__ import annotations

from typing import Any

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.validation.field import go_value

__all__ = ["NestedTypeError", "nested_int", "nested_text", "set_nested"]

_MISSING = object()
_GO_TYPES = {str: "string", bool: "bool", int: "int64", float: "float64", list: "[]interface {}", type(None): "<nil>"}


class NestedTypeError(ValueError):
    """What is found has another type."""


def _find(obj: Obj, path: str) -> Any:
    value: Any = obj
    for i, name in enumerate(names := path.lstrip(".").split(".")):
        if type(value) is not dict:
            at = ".".join(names[: i + 1])
            given = _GO_TYPES.get(type(value), "map[string]interface {}")
            raise NestedTypeError(
                f".{at} accessor error: {go_value(value)} is of the type {given}, expected map[string]interface{{}}"
            )
        if name not in value:
            return _MISSING
        value = value[name]
    return value


def _typed(obj: Obj, path: str, wanted: type, go_type: str) -> Any:
    value = _find(obj, path)
    if value is _MISSING or type(value) is wanted:
        return None if value is _MISSING else value
    given = _GO_TYPES.get(type(value), "map[string]interface {}")
    raise NestedTypeError(
        f".{path.lstrip('.')} accessor error: {go_value(value)} is of the type {given}, expected {go_type}"
    )


def nested_int(obj: Obj, path: str) -> int | None:
    """An integer; None if there is no such field.

    Raises:
        NestedTypeError.
    """
    value: int | None = _typed(obj, path, int, "int64")
    return value


def nested_text(obj: Obj, path: str) -> str | None:
    """A string; None if there is no such field. Raises as ``nested_int``."""
    value: str | None = _typed(obj, path, str, "string")
    return value


def set_nested(obj: Obj, path: str, value: Any) -> Obj:
    """A copy of an object with one field set; what it is in is made, and copied. Raises as ``nested_int``."""
    *parents, last = path.lstrip(".").split(".")
    copy = dict(obj)
    inner = copy
    for name in parents:
        below = inner.get(name)
        if below is not None and type(below) is not dict:
            raise NestedTypeError(f"value cannot be set because .{name} is not a map[string]interface{{}}")
        inner[name] = dict(below or {})
        inner = inner[name]
    inner[last] = value
    return copy
