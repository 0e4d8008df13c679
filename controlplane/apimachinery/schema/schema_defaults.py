"""Defaults in a schema: they must be valid by the schema that they are in, and hold no unknown field.

Source: kubernetes/apiextensions-apiserver ``pkg/apiserver/schema/defaulting/validation.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from controlplane.apimachinery.codec.json import dumps, loads
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.check import checker
from controlplane.apimachinery.schema.embedded import coerce_embedded, embedded_errors
from controlplane.apimachinery.schema.explain import explain
from controlplane.apimachinery.schema.nodes import META_FIELDS, Node
from controlplane.apimachinery.schema.normalize import prune
from controlplane.apimachinery.validation.field import FieldError, invalid

__all__ = ["default_errors"]

_Surround = Callable[[Any], Any]
"""Puts a value where it would stand in the object around it, up to the next root."""


def _new_object(value: Any) -> Any:
    return {**value, "apiVersion": "validation/v1", "kind": "Validation"} if isinstance(value, dict) else value


def default_errors(schema: Obj, path: str, *, pruned: bool = True) -> list[FieldError]:
    """What is wrong with the defaults of a structural schema. ``pruned``: unknown fields are wrong, too."""
    return list(_walk(schema, path, root=schema, surround=_new_object, in_meta=False, pruned=pruned, is_root=True))


def _walk(
    schema: Obj, path: str, *, root: Obj, surround: _Surround, in_meta: bool, pruned: bool, is_root: bool = False
) -> Iterator[FieldError]:
    embedded = is_root or bool(schema.get("x-kubernetes-embedded-resource"))
    if embedded:
        in_meta, surround, root = False, _new_object, schema
    default = schema.get("default")
    if default is not None:
        yield from _check(
            schema, default, f"{path}.default", root=root, surround=surround, in_meta=in_meta, pruned=pruned
        )
    items = schema.get("items")
    if isinstance(items, dict):
        yield from _walk(
            items, f"{path}.items", root=root, surround=lambda v: surround([v]), in_meta=in_meta, pruned=pruned
        )
    for name, inner in (schema.get("properties") or {}).items():
        yield from _walk(
            inner,
            f"{path}.properties[{name}]",
            root=root,
            surround=lambda v, name=name: surround({name: v}),  # type: ignore[misc]  # a default argument
            in_meta=in_meta or (embedded and name in META_FIELDS),
            pruned=pruned,
        )


def _check(
    schema: Obj, default: Any, path: str, *, root: Obj, surround: _Surround, in_meta: bool, pruned: bool
) -> Iterator[FieldError]:
    node = Node(schema)
    copy = loads(dumps(default))
    if in_meta:
        whole = surround(copy)
        fault = coerce_embedded(whole, Node(root, embedded=True), "", [])
        if fault is not None:
            yield invalid(path, default, f"must result in valid metadata: {fault}")
            return
    else:
        if pruned and prune(copy, node):
            yield invalid(path, default, "must not have unknown fields")
        copy = loads(dumps(default))
        fault = coerce_embedded(copy, node, path, [])
        if fault is not None:
            yield fault
            return
        if faults := embedded_errors(copy, node, path):
            yield from faults
            return
    if not checker(node)(default):
        yield from explain(node, default, prefix=path)
