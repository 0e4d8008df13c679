"""Table columns of custom resources: values found by JSONPath, shown by their type.

Source: kubernetes/apiextensions-apiserver ``pkg/registry/customresource/tableconvertor``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.jsonpath import JSONPath, JSONPathError
from controlplane.apimachinery.resource import Column
from controlplane.apimachinery.validation.field import go_json, go_number

__all__ = ["columns_of"]

_NAME = Column(
    name="Name",
    cell=meta.name,
    format="name",
    description="Name of the object, unique in its namespace.",
)
_DEFAULT = (
    {
        "name": "Age",
        "type": "date",
        "jsonPath": ".metadata.creationTimestamp",
        "description": "How long ago the object was created.",
    },
)


def columns_of(defined: Sequence[Obj]) -> tuple[Column, ...]:
    """The name, then the columns of a definition's version (its age if it has none). The first one whose path cannot be
    read ends them."""
    return (_NAME, *_columns(defined or _DEFAULT))


_PLAIN = re.compile(r"(?:\.[A-Za-z0-9_-]+)+")
"""Paths that can be read for sure."""


def _columns(defined: Sequence[Obj]) -> Iterator[Column]:
    for one in defined:
        path = one.get("jsonPath") or ""
        if not _PLAIN.fullmatch(path):
            try:
                JSONPath(path)
            except JSONPathError:
                return
        yield _column(one, path)


def _column(defined: Obj, path: str) -> Column:
    type_name = defined.get("type") or ""
    return Column(
        name=defined.get("name") or "",
        cell=_cell(path, type_name),
        type=type_name,
        format=defined.get("format") or "",
        description=defined.get("description") or f"Custom resource definition column (in JSONPath format): {path}",
        priority=defined.get("priority") or 0,
        age=type_name == "date",
    )


def _cell(path: str, type_name: str) -> Callable[[Obj], Any]:
    """What a column shows; the path is compiled when it is first needed."""
    compiled: list[JSONPath] = []

    def cell(obj: Obj) -> Any:
        if not compiled:
            compiled.append(JSONPath(path))
        found = compiled[0].find(obj)
        return _shown(found[0], type_name) if found else None

    return cell


def _shown(value: Any, type_name: str) -> Any:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    match type_name:
        case "string":
            return _printed(value)
        case "integer":
            return _as_integer(value) if is_number else None
        case "number":
            return _as_float(value) if is_number else None
        case "boolean":
            return value if isinstance(value, bool) else None
        case "date":
            return value if isinstance(value, str) else None
    return None


def _as_integer(value: float) -> int:
    """What an integer of 64 bits makes of a number: one that it has no room for is its least."""
    whole = int(value)
    return whole if -_INTEGERS <= whole < _INTEGERS else -_INTEGERS


_INTEGERS = 2**63


def _as_float(value: float) -> float:
    """What a float makes of a number, without a fraction where it has none."""
    exact = float(value)
    return int(exact) if exact.is_integer() and abs(exact) < _EXPONENT else exact


_EXPONENT = 1e21
"""From here on Go writes numbers with an exponent."""


def _printed(value: Any) -> Any:
    match value:
        case None:
            return "<no value>"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return go_number(value)
        case str():
            return value
    return go_json(value)
