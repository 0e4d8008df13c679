"""Numbers against a schema: bounds, multiples, and the range of their type.

Upstream compares integers with bounds that it has cut to integers; a bound that does not fit the type is a problem of
every value.

Source: kubernetes/kube-openapi ``pkg/validation/validate`` (numberValidator, values.go).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from controlplane.apimachinery.schema.formats import effective_format
from controlplane.apimachinery.schema.problems import Problem
from controlplane.apimachinery.validation.field import go_value

__all__ = ["explain_number", "is_integral"]

_INT64 = 2**63
_MAX_FLOAT32 = 3.4028234663852886e38
_MAX_EXACT = float(2**53 - 1)


def is_integral(value: float) -> bool:
    """Whether a float is taken for an integer: whole, and no larger than floats count exactly."""
    if value != value or abs(value) > _MAX_EXACT:  # noqa: PLR0124 - not a number
        return False
    return abs(value - round(value)) <= 1e-9 * max(1.0, abs(value)) and (value == round(value) or abs(value) > 1)


def explain_number(schema: dict[str, Any], value: float, path: str) -> Iterator[Problem]:
    """The problems of an int or float, in upstream's order."""
    type_name, format_name = _range_of(schema)
    if not _in_range(value, type_name, format_name):
        yield _out_of_range("Checked", type_name, format_name, path)
    factor, most, least = schema.get("multipleOf"), schema.get("maximum"), schema.get("minimum")
    if factor is not None:
        fits = _in_range(factor, type_name, format_name)
        if not fits:
            yield _out_of_range("MultipleOf", type_name, format_name, path)
        yield from _multiple(value, factor, path, native=fits)
    if most is not None:
        fits = _in_range(most, type_name, format_name)
        if not fits:
            yield _out_of_range("Maximum boundary", type_name, format_name, path)
        bound = int(most) if fits and type(value) is int else float(most)
        exclusive = bool(schema.get("exclusiveMaximum"))
        if value > bound or (exclusive and value == bound):
            words = "less than" if exclusive else "less than or equal to"
            yield Problem("", path, value, f"{path} in body should be {words} {go_value(bound)}")
    if least is not None:
        fits = _in_range(least, type_name, format_name)
        if not fits:
            yield _out_of_range("Minimum boundary", type_name, format_name, path)
        bound = int(least) if fits and type(value) is int else float(least)
        exclusive = bool(schema.get("exclusiveMinimum"))
        if value < bound or (exclusive and value == bound):
            words = "greater than" if exclusive else "greater than or equal to"
            yield Problem("", path, value, f"{path} in body should be {words} {go_value(bound)}")


def _range_of(schema: dict[str, Any]) -> tuple[str, str]:
    name = "" if schema.get("x-kubernetes-int-or-string") else schema.get("type") or ""
    return (name, effective_format(schema)) if name in ("integer", "number") else ("", "")


def _in_range(value: float, type_name: str, format_name: str) -> bool:
    if type_name == "integer":
        bound = 2**31 if format_name == "int32" else _INT64
        return value == int(value) and -bound <= value < bound
    return format_name != "float" or abs(value) <= _MAX_FLOAT32


def _out_of_range(what: str, type_name: str, format_name: str, path: str) -> Problem:
    of = f"{type_name} with format {format_name}" if format_name else f"{type_name} (default format)"
    return Problem("plain", "", None, f"{what} value must be of type {of} in {path}")


def _multiple(value: float, factor: float, path: str, *, native: bool) -> Iterator[Problem]:
    if native and type(value) is int:
        factor = int(factor)
        if factor <= 0:
            yield Problem(
                "", path, factor, f"factor MultipleOf declared for {path} must be positive: {go_value(factor)}"
            )
        elif value % factor:
            yield Problem("", path, value, f"{path} in body should be a multiple of {go_value(factor)}")
        return
    factor = float(factor)
    if factor <= 0:
        yield Problem("", path, factor, f"factor MultipleOf declared for {path} must be positive: {go_value(factor)}")
    elif not is_integral(1 / factor * value if factor < 1 else value / factor):
        yield Problem("", path, value, f"{path} in body should be a multiple of {go_value(factor)}")
