"""Namespaces: scopes for names, which end in an orderly way.

A deleted namespace turns Terminating and stays until whoever empties it has taken its finalizer from ``spec`` by the
finalize subresource.

Source: the behaviour of kubernetes' core/v1 Namespace.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from controlplane.apimachinery import meta
from controlplane.apimachinery.codec.messages import message_of
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.resource import Column, Resource, ResourceVersion, Strategy, Subresource
from controlplane.apimachinery.schema.native import array, record, string, time
from controlplane.apimachinery.validation.field import FieldError, invalid
from controlplane.apimachinery.validation.metadata import (
    validate_native_finalizer,
    validate_object_meta,
    validate_object_meta_update,
)
from controlplane.apimachinery.validation.names import name_is_dns_label
from controlplane.apis.columns import AGE, NAME

__all__ = ["NAMESPACES"]

NAME_LABEL = "kubernetes.io/metadata.name"
"""Holds the namespace's name, so that selectors can name namespaces."""
FINALIZER = "kubernetes"
"""The finalizer of whoever empties the namespace; every namespace is created with it."""

_CONDITION = record(
    {
        "type": string("What the condition is about.", go_type="v1.NamespaceConditionType"),
        "status": string("True, False or Unknown.", go_type="v1.ConditionStatus"),
        "lastTransitionTime": time("When the status last changed."),
        "reason": string("Why, in one word."),
        "message": string("Why, for people."),
    },
    "One aspect of a namespace's state.",
    go_type="v1.NamespaceCondition",
    required=("type", "status"),
)

_SCHEMA = record(
    {
        "spec": record(
            {"finalizers": array(string(go_type="v1.FinalizerName"), "Who must act before the namespace is removed.")},
            "What the namespace is meant to be.",
            go_type="v1.NamespaceSpec",
        ),
        "status": record(
            {
                "phase": string("Active or Terminating.", go_type="v1.NamespacePhase"),
                "conditions": array(
                    _CONDITION, "What holds up the namespace's removal.", key=("type",), merge_key="type"
                ),
            },
            "What the namespace is.",
            go_type="v1.NamespaceStatus",
        ),
    },
    "A scope for names.",
    go_type="v1.Namespace",
)
_MESSAGE = message_of(
    _SCHEMA,
    {
        "Namespace": "metadata spec status",
        "NamespaceSpec": "finalizers",
        "NamespaceStatus": "phase conditions",
        "NamespaceCondition": "type status - lastTransitionTime reason message",
    },
)


def _spec_finalizers(obj: Obj) -> list[str]:
    return (obj.get("spec") or {}).get("finalizers") or []


def _phase(obj: Obj) -> str:
    return (obj.get("status") or {}).get("phase") or ""


def _attributes(obj: Obj) -> Mapping[str, str]:
    name = meta.name(obj)
    return {"metadata.name": name, "name": name, "status.phase": _phase(obj)}


def _label_with_name(obj: Obj) -> None:
    name = meta.name(obj)
    if name and meta.labels(obj).get(NAME_LABEL) != name:
        obj["metadata"]["labels"] = {**meta.labels(obj), NAME_LABEL: name}


def _default(obj: Obj) -> None:
    _label_with_name(obj)
    if not _phase(obj):
        obj["status"] = {**(obj.get("status") or {}), "phase": "Active"}


def _prepare_for_create(obj: Obj) -> None:
    finalizers = _spec_finalizers(obj)
    if FINALIZER not in finalizers:
        obj["spec"] = {**(obj.get("spec") or {}), "finalizers": [*finalizers, FINALIZER]}
    obj["status"] = {"phase": "Active"}


def _keep(*fields: str) -> Callable[[Obj, Obj], None]:
    """Makes a ``prepare_for_update`` that takes these fields from the stored object."""

    def prepare(obj: Obj, old: Obj) -> None:
        for field in fields:
            obj[field] = old.get(field) or {}

    return prepare


def _validate(obj: Obj) -> list[FieldError]:
    errors = validate_object_meta(obj["metadata"], namespaced=False, validate_name=name_is_dns_label, native=True)
    for name in _spec_finalizers(obj):
        errors += validate_native_finalizer(name, "spec.finalizers")
    return errors


def _validate_change(obj: Obj, old: Obj) -> list[FieldError]:
    return validate_object_meta_update(obj["metadata"], old["metadata"], native=True)


def _validate_update(obj: Obj, old: Obj) -> list[FieldError]:
    return _validate(obj) + _validate_change(obj, old)


def _validate_status_update(obj: Obj, old: Obj) -> list[FieldError]:
    errors = _validate_change(obj, old)
    deleted, phase = meta.is_being_deleted(obj), _phase(obj)
    if not deleted and phase != "Active":
        errors.append(invalid("status.Phase", phase, "may only be 'Active' if `deletionTimestamp` is empty"))
    if deleted and phase != "Terminating":
        errors.append(invalid("status.Phase", phase, "may only be 'Terminating' if `deletionTimestamp` is not empty"))
    return errors


def _validate_finalize_update(obj: Obj, old: Obj) -> list[FieldError]:
    errors = _validate_change(obj, old)
    for i, name in enumerate(_spec_finalizers(obj)):
        errors += validate_native_finalizer(name, f"spec.finalizers[{i}]")
    return errors


def _held(obj: Obj) -> bool:
    """The first deletion makes any namespace Terminating; one that has no finalizers left then goes with the next."""
    return bool(_spec_finalizers(obj)) or not obj["metadata"].get("deletionTimestamp")


def _begin_deletion(obj: Obj) -> None:
    obj["status"] = {**(obj.get("status") or {}), "phase": "Terminating"}


NAMESPACES = Resource(
    group="",
    plural="namespaces",
    singular="namespace",
    kind="Namespace",
    namespaced=False,
    short_names=("ns",),
    verbs=("create", "delete", "get", "list", "patch", "update", "watch"),
    key_prefix="namespaces",
    storage_version="v1",
    versions=(
        ResourceVersion(
            name="v1",
            schema=_SCHEMA,
            message=_MESSAGE,
            columns=(NAME, Column(name="Status", cell=_phase, description="Active or Terminating."), AGE),
        ),
    ),
    strategy=Strategy(
        default=_default,
        prepare_for_create=_prepare_for_create,
        prepare_for_update=_keep("spec", "status"),
        validate=_validate,
        validate_update=_validate_update,
        checks_metadata=True,
        canonicalize=_label_with_name,  # again, for a name that was generated after the defaults
        validate_name=name_is_dns_label,
        held=_held,
        own_preconditions=True,
        begin_deletion=_begin_deletion,
        reset_fields=("status",),
    ),
    subresources=(
        Subresource(
            name="finalize",
            verbs=("update",),
            strategy=Strategy(
                default=_default,
                prepare_for_update=_keep("status"),
                validate_update=_validate_finalize_update,
                canonicalize=_label_with_name,
                held=_held,
                reset_fields=("status",),
            ),
        ),
        Subresource(
            name="status",
            strategy=Strategy(
                default=_default,
                prepare_for_update=_keep("spec"),
                validate_update=_validate_status_update,
                canonicalize=_label_with_name,
                held=_held,
                reset_fields=("spec",),
            ),
        ),
    ),
    attributes=_attributes,
    field_labels=("metadata.name", "name", "status.phase"),
)
