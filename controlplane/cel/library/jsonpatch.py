"""JSON patches as values, for mutations: ``JSONPatch{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey(k)}``.

Source: kubernetes/apiserver ``pkg/cel/library/jsonpatch.go`` and ``pkg/cel/mutation/jsonpatch.go``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from controlplane.cel.equality import equal
from controlplane.cel.errors import EvalError
from controlplane.cel.functions import Function, Library, Overload
from controlplane.cel.library.costs import scanned, scanning
from controlplane.cel.types import DYN, STRING, Type, object_type
from controlplane.cel.values import Message, Value, type_of

__all__ = ["JSON_PATCH", "PATCH_FIELDS", "JSONPatch"]

PATCH_FIELDS: Mapping[str, Type] = {"op": STRING, "from": STRING, "path": STRING, "value": DYN}
"""The fields of a ``JSONPatch`` and their types."""


class JSONPatch(Message):
    """One operation of a JSON patch (RFC 6902). ``value`` may be absent, which is not null."""

    __slots__ = ("fields",)
    cel_type: ClassVar[Type] = object_type("JSONPatch")

    def __init__(self, fields: Mapping[str, Value]) -> None:
        """Raises EvalError where a field is unknown or no text."""
        for name, value in fields.items():
            if name not in PATCH_FIELDS:
                raise EvalError(f"unexpected JSONPatchType field: {name}")
            if PATCH_FIELDS[name] is STRING and not isinstance(value, str):
                raise EvalError(f"unexpected type {type_of(value)} for JSONPatchType '{name}' field")
        self.fields = fields

    def __getitem__(self, field: str) -> Value:
        """A field; texts that were not given are empty.

        Raises:
            KeyError: there is no such field, or no value.
        """
        return "" if field not in self.fields and PATCH_FIELDS.get(field) is STRING else self.fields[field]

    def __contains__(self, field: object) -> bool:
        """Whether a field is there and, of texts, not empty."""
        return field in self.fields and self.fields[str(field)] != ""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, JSONPatch) or ("value" in self.fields) != ("value" in other.fields):
            return False
        if any(self[name] != other[name] for name in ("op", "from", "path")):
            return False
        return "value" not in self.fields or equal(self.fields["value"], other.fields["value"])

    def __hash__(self) -> int:
        return hash(tuple(self[name] for name in ("op", "from", "path")))


def _escape_key(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


JSON_PATCH = Library(
    (
        Function(
            "jsonpatch.escapeKey",
            (
                Overload(
                    "string_jsonpatch_escapeKey_string",
                    (STRING,),
                    STRING,
                    _escape_key,
                    cost=scanned(),
                    estimate=scanning(sized=True),
                ),
            ),
        ),
    ),
)
