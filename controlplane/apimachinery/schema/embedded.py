"""Objects inside objects (``x-kubernetes-embedded-resource``): they have an apiVersion, a kind and metadata too.

Source: kubernetes/apiextensions-apiserver ``pkg/apiserver/schema/objectmeta``.
"""

from __future__ import annotations

from typing import Any

from controlplane.apimachinery.codec.json import in_order
from controlplane.apimachinery.identity import GroupVersion, Obj
from controlplane.apimachinery.schema.decode import DecodeError, decode_metadata
from controlplane.apimachinery.schema.nodes import Node
from controlplane.apimachinery.validation.field import FieldError, invalid, required
from controlplane.apimachinery.validation.metadata import validate_object_meta
from controlplane.apimachinery.validation.names import dns1035_label, name_is_path_segment

__all__ = ["coerce_embedded", "embedded_errors", "embedded_object_errors", "root_errors"]


def coerce_embedded(value: Any, node: Node | None, path: str, unknown: list[str]) -> FieldError | None:
    """Bring the metadata of embedded objects into form, in place; unknown fields of it are dropped and told.

    Returns:
        The first thing that cannot be read.
    """
    if node is None:
        return None
    if type(value) is dict:
        if node.embedded and (error := _coerce(value, path, unknown)) is not None:
            return error
        for key, item in value.items():
            if type(item) is dict or type(item) is list:
                at = f"{path}.{key}" if path else key
                at = at if key in node.properties else f"{path}[{key}]"
                error = coerce_embedded(item, node.child(key), at, unknown)
                if error is not None:
                    return error
    elif type(value) is list and (items := node.items) is not None:
        for i, item in enumerate(value):
            error = coerce_embedded(item, items, f"{path}[{i}]", unknown)
            if error is not None:
                return error
    return None


def _coerce(value: Obj, path: str, unknown: list[str]) -> FieldError | None:
    for key in ("apiVersion", "kind"):
        if key in value and type(value[key]) is not str:
            return invalid(f"{path}.{key}", in_order(value[key]), "must be a string")
    if "metadata" in value:
        try:
            dropped = decode_metadata(value)
        except DecodeError as error:
            return invalid(f"{path}.metadata", in_order(value["metadata"]), str(error))
        unknown.extend(f"{path}.metadata.{name}" for name in dropped)
    return None


def embedded_errors(value: Any, node: Node | None, path: str = "") -> list[FieldError]:
    """What is wrong with the objects embedded in a value; not with the value itself, if it is the root."""
    errors: list[FieldError] = []
    _walk(value, node, path, errors)
    return errors


def root_errors(value: Any, node: Node) -> list[FieldError]:
    """What is wrong with an object and those embedded in it, whether its schema says that it is one or not."""
    errors: list[FieldError] = []
    if type(value) is dict and not node.schema.get("x-kubernetes-embedded-resource"):
        errors += embedded_object_errors(value, "")
    return errors + embedded_errors(value, node)


def _walk(value: Any, node: Node | None, path: str, errors: list[FieldError]) -> None:
    if node is None:
        return
    if type(value) is dict:
        if node.schema.get("x-kubernetes-embedded-resource"):
            errors += embedded_object_errors(value, path)
        for key, item in value.items():
            if type(item) is dict or type(item) is list:
                at = f"{path}.{key}" if path else key
                _walk(item, node.child(key), at if key in node.properties else f"{path}[{key}]", errors)
    elif type(value) is list and (items := node.items) is not None:
        for i, item in enumerate(value):
            _walk(item, items, f"{path}[{i}]", errors)


def embedded_object_errors(value: Obj, path: str) -> list[FieldError]:
    """What is wrong with the head of one embedded object."""
    errors = [required(f"{path}.{key}" if path else key) for key in ("apiVersion", "kind") if key not in value]
    for key in ("apiVersion", "kind"):
        at = f"{path}.{key}" if path else key
        given = value.get(key)
        if key not in value:
            continue
        if type(given) is not str:
            errors.append(invalid(at, in_order(given), "must be a string"))
        elif not given:
            errors.append(invalid(at, given, "must not be empty"))
        elif key == "apiVersion":
            try:
                GroupVersion.parse(given)
            except ValueError as error:
                errors.append(invalid(at, given, str(error)))
        elif problems := dns1035_label(given.lower()):
            said = ",".join(problems)
            errors.append(invalid(at, given, f"may have mixed case, but should otherwise match: {said}"))
    if "metadata" in value:
        errors += _metadata_errors(value, f"{path}.metadata" if path else "metadata")
    return errors


def _metadata_errors(value: Obj, path: str) -> list[FieldError]:
    copy = {"metadata": value["metadata"] if type(value["metadata"]) is not dict else dict(value["metadata"])}
    try:
        decode_metadata(copy)
    except DecodeError as error:
        return [invalid(path, in_order(value["metadata"]), str(error))]
    meta = copy["metadata"] or {}
    named = meta if meta.get("name") else {**meta, "name": "fakename"}
    return validate_object_meta(
        named, namespaced=bool(meta.get("namespace")), validate_name=name_is_path_segment, path=path
    )
