"""Which checks a create and an update run, in which order: the strategy's own and the generic ones.

A strategy's ``validate`` and ``validate_update`` check the whole object, metadata included, because kinds differ in
what they ask of it. The generic rules that no kind can escape come on top: on create only when the strategy found
nothing, so that its more specific words are shown; on update always and first, so that a fault which both see is told
twice, as upstream does and clients know it.

Source: kubernetes/apiserver ``pkg/registry/rest/{create,update}.go``.
"""

from __future__ import annotations

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.resource import Resource, Strategy
from controlplane.apimachinery.validation.field import FieldError
from controlplane.apimachinery.validation.metadata import validate_object_meta, validate_object_meta_update
from controlplane.apimachinery.validation.names import name_is_path_segment

__all__ = ["creation_errors", "update_errors"]


def creation_errors(resource: Resource, obj: Obj, own: list[FieldError] | None = None) -> list[FieldError]:
    """What is wrong with a new object, its metadata complete and ``prepare_for_create`` done. ``own``: what the
    strategy's ``validate`` has found, if it has been asked already."""
    if own is None:
        own = [error for error in resource.strategy.validate(obj) if error is not None]
    return own or ([] if resource.strategy.checks_metadata else _generic_errors(resource, obj))


def update_errors(
    resource: Resource, obj: Obj, old: Obj, own: list[FieldError] | None = None, *, strategy: Strategy | None = None
) -> list[FieldError]:
    """What is wrong with a change, ``prepare_for_update`` done. ``own``: what the strategy's ``validate_update`` has
    found, if it has been asked already; ``strategy``: the subresource's, if it is one."""
    strategy = strategy or resource.strategy
    if own is None:
        own = [error for error in strategy.validate_update(obj, old) if error is not None]
    if strategy.checks_metadata and not own:
        return own
    return [*_generic_errors(resource, obj), *validate_object_meta_update(obj["metadata"], old["metadata"]), *own]


def _generic_errors(resource: Resource, obj: Obj) -> list[FieldError]:
    return validate_object_meta(obj["metadata"], namespaced=resource.namespaced, validate_name=name_is_path_segment)
