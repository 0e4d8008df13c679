"""What is told of a value that a field of a native kind cannot have, where it was no JSON text any more.

A strategic merge patch is applied to a tree of values, which upstream then converts into its structs; its converter has
words of its own, and names neither field nor path.

Source: Kubernetes' apimachinery pkg/runtime/converter.go.
"""

from __future__ import annotations

from typing import Any

__all__ = ["not_converted"]

_NUMBERS = frozenset({"int32", "int64", "float64"})


def not_converted(value: Any, go_type: str, go_kind: str) -> str:
    """Why ``value`` is none of ``go_type``.

    Args:
        value: of a decoded JSON document, and not null.
        go_type: as ``v1.FinalizerName``.
        go_kind: ``struct``, ``map``, ``slice``, or a scalar's: ``string``, ``bool``, ``int32``, ``int64``, ``float64``.
    """
    kind = _kind(value)
    if go_kind == "struct":
        return f"cannot restore struct from: {kind}"
    if go_kind in {"map", "slice"}:
        return f"cannot restore {go_kind} from {kind}"
    # what Go's conversions would change into something else: a number that does not fit, a number as a letter
    if (kind in _NUMBERS and go_kind in _NUMBERS) or (kind == "int64" and go_kind == "string"):
        return f"cannot convert {kind} to {go_type}"
    return f"unrecognized type: {go_kind}"


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, int):
        return "int64"
    if isinstance(value, float):
        return "float64"
    return "slice" if isinstance(value, list) else "map"
