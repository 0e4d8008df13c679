"""CustomResourceDefinitions: the kind itself.

Source: kubernetes/apiextensions-apiserver ``pkg/registry/customresourcedefinition`` (strategy.go, etcd.go) and
``pkg/apis/apiextensions/v1/defaults.go``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from importlib import import_module

from controlplane.apiextensions.definition.conditions import Condition, conditions_of, with_condition
from controlplane.apiextensions.definition.json_schema import json_schema
from controlplane.apiextensions.definition.message import DEFINITION_MESSAGE
from controlplane.apiextensions.definition.schema import DEFINITION_SCHEMA
from controlplane.apiextensions.definition.storage_form import GROUP, SERVED, STORED
from controlplane.apiextensions.rules.loading import is_loaded, language_steps
from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.resource import Column, DeferredVersion, Resource, ResourceVersion, Strategy, Subresource
from controlplane.apimachinery.schema.decode import definition_decoder, is_compiled
from controlplane.apimachinery.validation.field import FieldError

__all__ = ["CLEANUP_FINALIZER", "DEFINITIONS"]

CLEANUP_FINALIZER = "customresourcecleanup.apiextensions.k8s.io"
"""Held while instances are being removed."""

_CHECKS = "controlplane.apiextensions.definition.validation.definition"
_PATTERNS = "controlplane.cel.linear"
_PENDING = Condition(
    "Terminating",
    "True",
    "InstanceDeletionPending",
    "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
)


def _default(obj: Obj) -> None:
    spec = obj["spec"]
    names = spec["names"]
    kind = names.get("kind") or ""
    if not names.get("singular") and kind:
        names["singular"] = kind.lower()
    if not names.get("listKind") and kind:
        names["listKind"] = f"{kind}List"
    conversion = spec.setdefault("conversion", {"strategy": "None"})
    service = ((conversion.get("webhook") or {}).get("clientConfig") or {}).get("service")
    if service is not None:
        service.setdefault("port", 443)
    if not obj["status"].get("storedVersions"):
        _add_stored_version(obj)


def _add_stored_version(obj: Obj) -> None:
    """Remember that objects may be stored in the version that is the storage version now."""
    status = obj["status"]
    stored = status.get("storedVersions") or []
    version = next((v["name"] for v in obj["spec"].get("versions") or () if v.get("storage")), None)
    if version is not None and version not in stored:
        status["storedVersions"] = [*stored, version]


def _prepare_for_create(obj: Obj) -> None:
    obj["status"] = {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": None}
    obj["metadata"]["generation"] = 1
    _add_stored_version(obj)


def _prepare_for_update(obj: Obj, old: Obj) -> None:
    obj["status"] = dict(old["status"])
    if obj["spec"] != old["spec"]:
        obj["metadata"]["generation"] = meta.generation(old) + 1
    _add_stored_version(obj)


def _prepare_for_status_update(obj: Obj, old: Obj) -> None:
    obj["spec"] = old["spec"]


def _held(obj: Obj) -> bool:
    """The first deletion only marks: instances go first."""
    return not meta.is_being_deleted(obj)


def _begin_deletion(obj: Obj) -> None:
    finalizers = meta.finalizers(obj)
    if CLEANUP_FINALIZER not in finalizers:
        meta.set_finalizers(obj, [*finalizers, CLEANUP_FINALIZER])
    now = obj["metadata"]["deletionTimestamp"]
    obj["status"] = {**obj["status"], "conditions": with_condition(conditions_of(obj), _PENDING, now)}


# What checks definitions is imported with the first of them: it is large, and many stores have none.


def _load(raw: bytes) -> Callable[[], None] | None:
    has_rules = b'"x-kubernetes-validations"' in raw or b"x-kubernetes-validations:" in raw
    wanted = (_CHECKS, _PATTERNS) if b"pattern" in raw else (_CHECKS,)
    missing = [name for name in wanted if name not in sys.modules]
    if not missing and is_compiled(json_schema) and (not has_rules or is_loaded()):
        return None

    def load() -> None:
        for name in missing:
            import_module(name)
        definition_decoder(json_schema)
        if has_rules:
            for _ in language_steps():
                pass

    return load


def _errors(obj: Obj) -> Iterable[FieldError | None]:
    from controlplane.apiextensions.definition.validation.definition import definition_errors

    return definition_errors(obj)


def _update_errors(obj: Obj, old: Obj) -> Iterable[FieldError | None]:
    from controlplane.apiextensions.definition.validation.definition import definition_update_errors

    return definition_update_errors(obj, old)


def _status_update_errors(obj: Obj, old: Obj) -> Iterable[FieldError | None]:
    from controlplane.apiextensions.definition.validation.definition import status_update_errors

    return status_update_errors(obj, old)


def _warnings(obj: Obj) -> list[str]:
    from controlplane.apiextensions.definition.warnings import definition_warnings

    return definition_warnings(obj)


def _update_warnings(obj: Obj, old: Obj) -> list[str]:
    from controlplane.apiextensions.definition.warnings import definition_update_warnings

    return definition_update_warnings(obj, old)


def _created_at(obj: Obj) -> str:
    return meta.creation_timestamp(obj)


def _stored_schema() -> Obj:
    from controlplane.apiextensions.definition.stored_schema import STORED_SCHEMA  # for what others have stored alone

    return STORED_SCHEMA


DEFINITIONS = Resource(
    group=GROUP,
    plural="customresourcedefinitions",
    singular="customresourcedefinition",
    kind="CustomResourceDefinition",
    namespaced=False,
    short_names=("crd", "crds"),
    categories=("api-extensions",),
    key_prefix=f"{GROUP}/customresourcedefinitions",
    storage_version=STORED,
    versions=(
        ResourceVersion(
            name=SERVED,
            schema=DEFINITION_SCHEMA,
            message=DEFINITION_MESSAGE,
            columns=(
                Column(name="Name", cell=meta.name, format="name", description="Name of the definition."),
                Column(
                    name="Created At", cell=_created_at, type="date", description="When the definition was created."
                ),
            ),
        ),
        DeferredVersion(name=STORED, load_schema=_stored_schema, served=False),
    ),
    strategy=Strategy(
        default=_default,
        prepare_for_create=_prepare_for_create,
        prepare_for_update=_prepare_for_update,
        load=_load,
        validate=_errors,
        validate_update=_update_errors,
        warnings=_warnings,
        update_warnings=_update_warnings,
        held=_held,
        own_preconditions=True,
        marks_first=True,
        begin_deletion=_begin_deletion,
        unconditional_update=False,
        reset_fields=("status",),
    ),
    subresources=(
        Subresource(
            name="status",
            strategy=Strategy(
                default=_default,
                prepare_for_update=_prepare_for_status_update,
                validate_update=_status_update_errors,
                held=_held,
                unconditional_update=False,
                reset_fields=("spec",),
            ),
        ),
    ),
)
