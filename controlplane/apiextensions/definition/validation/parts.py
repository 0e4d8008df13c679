"""The parts of a version beside its schema: names, columns, subresources, selectable fields, deprecation.

Source: kubernetes/apiextensions-apiserver ``pkg/apis/apiextensions/validation/validation.go``.
"""

from __future__ import annotations

from collections.abc import Iterator

from controlplane.apiextensions.definition.validation.field_paths import FieldPathError, resolve_field_path
from controlplane.apiextensions.definition.validation.options import MAX_SELECTABLE_FIELDS
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.validation.field import FieldError, InJSON, duplicate, invalid, required, too_many
from controlplane.apimachinery.validation.names import dns1035_label

__all__ = [
    "column_errors",
    "deprecation_errors",
    "names_errors",
    "selectable_field_errors",
    "subresource_errors",
]

_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_MIXED_CASE = "may have mixed case, but should otherwise match: "
_MAX_WARNING = 256


def names_errors(names: Obj, path: str) -> Iterator[FieldError]:
    """What is wrong with the names that are given."""
    for key, prefix in (("plural", ""), ("singular", ""), ("kind", _MIXED_CASE), ("listKind", _MIXED_CASE)):
        name = names.get(key) or ""
        problems = dns1035_label(name.lower() if prefix else name)
        if name and problems:
            yield invalid(f"{path}.{key}", name, prefix + ",".join(problems))
    for i, name in enumerate(names.get("shortNames") or ()):
        if problems := dns1035_label(name):
            yield invalid(f"{path}.shortNames[{i}]", name, ",".join(problems))
    if names.get("kind") and names["kind"] == names.get("listKind"):
        yield invalid(f"{path}.listKind", names["listKind"], "kind and listKind may not be the same")
    for i, name in enumerate(names.get("categories") or ()):
        if problems := dns1035_label(name):
            yield invalid(f"{path}.categories[{i}]", name, ",".join(problems))


def column_errors(column: Obj, path: str) -> Iterator[FieldError]:
    """What is wrong with one column, in its stored form."""
    if not column.get("name"):
        yield required(f"{path}.name")
    given, types = column.get("type") or "", f"must be one of {','.join(_COLUMN_TYPES)}"
    if not given:
        yield required(f"{path}.type", types)
    elif given not in _COLUMN_TYPES:
        yield invalid(f"{path}.type", given, types)
    given = column.get("format") or ""
    if given and given not in _COLUMN_FORMATS:
        yield invalid(f"{path}.format", given, f"must be one of {','.join(_COLUMN_FORMATS)}")
    if not column.get("JSONPath"):
        yield required(f"{path}.JSONPath")
    else:
        yield from _simple_path(column["JSONPath"], f"{path}.JSONPath")


def _simple_path(text: str, path: str) -> Iterator[FieldError]:
    if not text.startswith("."):
        yield invalid(path, text, "must be a simple json path starting with .")


def subresource_errors(subresources: Obj | None, path: str) -> Iterator[FieldError]:
    scale = (subresources or {}).get("scale")
    if scale is None:
        return
    for key, root in (("specReplicasPath", ".spec."), ("statusReplicasPath", ".status.")):
        at, text = f"{path}.scale.{key}", scale.get(key) or ""
        if not text:
            yield required(at)
            continue
        errors = list(_simple_path(text, at))
        yield from errors
        if not errors and not text.startswith(root):
            yield invalid(at, text, f"should be a json path under {root[:-1]}")
    text = scale.get("labelSelectorPath") or ""
    if text:
        at = f"{path}.scale.labelSelectorPath"
        errors = list(_simple_path(text, at))
        yield from errors
        if not errors and not text.startswith((".spec.", ".status.")):
            yield invalid(at, text, "should be a json path under either .spec or .status")


def selectable_field_errors(fields: list[Obj], schema: Obj, path: str, *, may_crowd: bool) -> Iterator[FieldError]:
    """What is wrong with the selectable fields of a schema. ``may_crowd``: there may be too many."""
    seen: set[tuple[str, ...]] = set()
    for i, selectable in enumerate(fields):
        at, text = f"{path}[{i}].jsonPath", selectable.get("jsonPath") or ""
        if not text:
            yield required(at)
            continue
        try:
            names, found = resolve_field_path(text, schema, array_notation=False)
        except FieldPathError as error:
            yield invalid(at, text, f"is an invalid path: {error}")
            continue
        if names[:1] == ("metadata",):
            yield invalid(at, text, "must not point to fields in metadata")
        if found.get("type") not in ("string", "boolean", "integer"):
            yield invalid(
                at,
                text,
                "must point to a field of type string, boolean or integer. Enum string fields and strings with formats "
                "are allowed.",
            )
        if names in seen:
            yield duplicate(at, text)
        seen.add(names)
    if len(seen) > MAX_SELECTABLE_FIELDS and not may_crowd:
        yield too_many(path, len(seen), MAX_SELECTABLE_FIELDS)


def deprecation_errors(version: Obj, path: str) -> Iterator[FieldError]:
    text = version.get("deprecationWarning")
    if text is None:
        return
    at = f"{path}.deprecationWarning"
    if not version.get("deprecated"):
        yield invalid(at, InJSON(text), "can only be set for deprecated versions")
        return
    if len(text.encode()) > _MAX_WARNING:
        yield invalid(at, InJSON(text), "must be <= 256 characters long")
    if not text:
        yield invalid(at, InJSON(text), "must not be an empty string")
    index = 0
    for char in text:
        if not char.isprintable():
            why = f"must only contain printable UTF-8 characters; non-printable character found at index {index}"
            yield invalid(at, InJSON(text), why)
            return
        index += len(char.encode())
