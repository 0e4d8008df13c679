"""What a client is warned of when it stores a definition that is valid.

Source: kubernetes/apiextensions-apiserver ``pkg/registry/customresourcedefinition/strategy.go``.
"""

from __future__ import annotations

from collections.abc import Iterator

from controlplane.apiextensions.definition.storage_form import fold
from controlplane.apiextensions.definition.validation.options import schemas_of, walk_schema
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.formats import is_recognized
from controlplane.apimachinery.validation.field import go_quoted

__all__ = ["definition_update_warnings", "definition_warnings"]


def definition_update_warnings(obj: Obj, old: Obj) -> list[str]:
    """Those of what is new."""
    known = set(definition_warnings(old))
    return [warning for warning in definition_warnings(obj) if warning not in known]


def definition_warnings(obj: Obj) -> list[str]:
    """Formats that nobody knows."""
    return [
        f"unrecognized format {go_quoted(name)}"
        for schema in schemas_of(fold(obj["spec"]))
        for inner in walk_schema(schema)
        for name in _unknown_format(inner)
    ]


def _unknown_format(schema: Obj) -> Iterator[str]:
    name = schema.get("format")
    if name and not is_recognized(name, schema.get("type") or ""):
        yield name
