"""The schema of one version of a custom resource, at work: decoding, defaulting, reading, validating.

Compiled as far as objects reach into it, on first use. The root is an object with apiVersion, kind and metadata, which
its schema need not name.

Source: kubernetes/apiextensions-apiserver ``pkg/apiserver/customresource_handler.go`` (unstructuredSchemaCoercer) and
``pkg/registry/customresource/validator.go`` for the order of things.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from controlplane.apimachinery.codec.json import dumps
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.check import checker
from controlplane.apimachinery.schema.correlation import ABSENT
from controlplane.apimachinery.schema.decode import DecodeError, decode_metadata
from controlplane.apimachinery.schema.embedded import coerce_embedded, embedded_errors
from controlplane.apimachinery.schema.explain import explain
from controlplane.apimachinery.schema.list_types import list_type_errors
from controlplane.apimachinery.schema.nodes import Node
from controlplane.apimachinery.schema.normalize import apply_defaults, drop_nulls, prune
from controlplane.apimachinery.schema.repair import repair_embedded, repair_metadata
from controlplane.apimachinery.validation.field import FieldError

__all__ = ["CustomSchema", "settle_numbers"]


_LONG_NUMBER = re.compile(rb"[:,\[]-?(?:[0-9]{19,}|[0-9.]+e\+(?:18|19|20))[,}\]]")
_INT64 = 2**63
_EXPONENT = 1e21
"""From here on Go writes numbers with an exponent."""


def _round_numbers(value: Any) -> Any:
    """Integers over 64 bits become what floats make of them, in place: so Go reads them where no type is known. They
    and floats as large are integers of Python, since Go writes them so; whoever judges them takes them for floats."""
    if type(value) is dict or type(value) is list:
        for key, item in value.items() if type(value) is dict else enumerate(value):
            value[key] = _round_numbers(item)
    elif (type(value) is int and value == -_INT64) or type(value) not in (int, float):
        return value
    elif _INT64 <= abs(value) < _EXPONENT:
        return int(Decimal(repr(float(value))))
    return value


_WHOLE_FLOAT = re.compile(rb"(?:\.0|e\+?[0-9]+)[,}\]]")


def settle_numbers(obj: Obj) -> None:
    """Whole floats of an object that is to be stored become integers, in place: Go writes them without a fraction, so
    that is what is read again, and clients of Go that know a field as an integer read nothing else."""
    if _WHOLE_FLOAT.search(dumps(obj)):
        _settle(obj)


def _settle(value: Any) -> Any:
    if type(value) is dict or type(value) is list:
        for key, item in value.items() if type(value) is dict else enumerate(value):
            value[key] = _settle(item)
    elif type(value) is float and value.is_integer() and abs(value) < _INT64:
        return int(value)
    return value


class CustomSchema:
    """``schema``: the version's ``openAPIV3Schema``; ``keep_unknown``: nothing is pruned (an old definition with
    ``preserveUnknownFields``)."""

    __slots__ = ("_defaults", "_embeds", "_keep_unknown", "root")

    def __init__(self, schema: Obj, *, keep_unknown: bool = False) -> None:
        text = dumps(schema)
        self.root = Node(schema, embedded=True)
        self._keep_unknown = keep_unknown
        self._defaults = b'"default":' in text
        self._embeds = b'"x-kubernetes-embedded-resource":true' in text

    def decode(self, obj: Obj) -> list[str]:
        """Check the metadata's types and drop unknown fields and empty ones, in place.

        Returns:
            What was dropped, as ``unknown field "spec.x"``.

        Raises:
            DecodeError: metadata, the object's own or an embedded one's, has the wrong type or form.
        """
        if _LONG_NUMBER.search(dumps(obj)):
            _round_numbers(obj)
        unknown = [f"metadata.{path}" for path in decode_metadata(obj)] if "metadata" in obj else []
        if not self._keep_unknown:
            unknown += prune(obj, self.root)
            drop_nulls(obj, self.root)
        if self._embeds:
            self._coerce(obj, unknown)
        return [f'unknown field "{path}"' for path in unknown]

    def default(self, obj: Obj) -> bool:
        """Fill in defaults, in place. Returns whether anything was missing."""
        return self._defaults and apply_defaults(obj, self.root)

    def read(self, obj: Obj) -> bool:
        """Bring a stored object, which may be older than the schema, into the schema's form, in place; what is
        malformed in metadata is dropped. Returns whether it was changed."""
        changed = repair_metadata(obj)
        if self._embeds:
            changed |= repair_embedded(obj, self.root)
        if not self._keep_unknown:
            changed |= bool(prune(obj, self.root))
            changed |= drop_nulls(obj, self.root)
        return self.default(obj) or changed

    def validate(self, obj: Obj) -> list[FieldError]:
        """Everything that is wrong with a new object's values. Slow: ask ``fits`` first."""
        return explain(self.root, obj)

    def validate_update(self, obj: Obj, old: Obj) -> list[FieldError]:
        """The same for an object that replaces ``old``, whose faults it may keep."""
        return explain(self.root, obj, old=old)

    def validate_status(self, status: Any, old: Any) -> list[FieldError]:
        """What is wrong with a new status."""
        node = self.root.child("status")
        if node is None or checker(node)(status):
            return []
        return explain(node, status, prefix="status", old=ABSENT if old is None else old)

    def fits(self, obj: Obj) -> bool:
        """Whether nothing is wrong with an object's values, embedded objects aside."""
        return checker(self.root)(obj)

    def embedded_errors(self, obj: Obj) -> list[FieldError]:
        """What is wrong with the objects embedded in an object."""
        return embedded_errors(obj, self.root) if self._embeds else []

    def list_errors(self, obj: Obj, old: Obj | None) -> list[FieldError]:
        """What set and map lists repeat, if they did not before."""
        errors = list_type_errors(obj, self.root)
        return [] if errors and old is not None and list_type_errors(old, self.root) else errors

    def _coerce(self, obj: Obj, unknown: list[str]) -> None:
        found: list[str] = []
        for key, value in obj.items():
            error = coerce_embedded(value, self.root.child(key), key, found)
            if error is not None:
                raise DecodeError(str(error))
        unknown += sorted(found)
