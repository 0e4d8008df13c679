"""Storage version migrations: which resource is to be written anew in the form that the server stores now, and how far
that is.

Source: the behaviour of kubernetes 1.36's storagemigration.k8s.io/v1beta1 StorageVersionMigration.
"""

from __future__ import annotations

import re
from dataclasses import replace

from controlplane.apimachinery.codec.messages import message_of
from controlplane.apimachinery.identity import GroupResource, Obj
from controlplane.apimachinery.resource import Column, Resource, ResourceVersion, Strategy, Subresource
from controlplane.apimachinery.schema.native import array, record, string
from controlplane.apimachinery.validation.field import FieldError, invalid, required
from controlplane.apimachinery.validation.metadata import validate_object_meta, validate_object_meta_update
from controlplane.apimachinery.validation.names import dns1035_label, dns1123_subdomain, name_is_dns_subdomain
from controlplane.apis.changes import clear, keep, keep_metadata
from controlplane.apis.columns import NAME
from controlplane.apis.conditions import CONDITION_NUMBERS, CONDITIONS, validate_conditions

__all__ = ["STORAGE_VERSION_MIGRATIONS"]

_SCHEMA = record(
    {
        "spec": record(
            {
                "resource": record(
                    {
                        "group": string("Group of the resource; empty is the core group."),
                        "resource": string("Name of the resource, as in its URL."),
                    },
                    "The resource whose objects are written anew; it cannot be changed.",
                    go_type="v1.GroupResource",
                    required=("group", "resource"),
                )
            },
            "What is to be migrated.",
            go_type="v1beta1.StorageVersionMigrationSpec",
            required=("resource",),
        ),
        "status": record(
            {
                "conditions": array(
                    CONDITIONS["items"],
                    "Whether it is Running, has Succeeded or has Failed.",
                    key=("type",),
                    merge_key="type",
                ),
                "resourceVersion": string(
                    "The resource version at which the migration began: what is newer was stored in the new form."
                ),
            },
            "How far it is.",
            go_type="v1beta1.StorageVersionMigrationStatus",
        ),
    },
    "A rewrite of the objects of one resource in the form that the server stores now.",
    go_type="v1beta1.StorageVersionMigration",
)

_MESSAGE = message_of(
    _SCHEMA,
    {
        "StorageVersionMigration": "metadata spec status",
        "StorageVersionMigrationSpec": "resource",
        "StorageVersionMigrationStatus": "conditions resourceVersion",
        "GroupResource": "group resource",
        **CONDITION_NUMBERS,
    },
)

_REVISION = re.compile("[1-9][0-9]*")
_CONDITIONS = "status.conditions"


def _resource(obj: Obj) -> Obj:
    resource: Obj = (obj.get("spec") or {}).get("resource") or {}
    return resource


def _validate(obj: Obj) -> list[FieldError]:
    errors = validate_object_meta(obj["metadata"], namespaced=False, validate_name=name_is_dns_subdomain, native=True)
    resource = _resource(obj)
    group, name = resource.get("group") or "", resource.get("resource") or ""
    if not name:
        errors.append(required("spec.resource.resource", "resource is required to be set"))
    elif problems := dns1035_label(name):
        errors.append(invalid("spec.resource.resource", name, ",".join(problems)))
    if group and (problems := dns1123_subdomain(group)):
        errors.append(invalid("spec.resource.group", group, ",".join(problems)))
    return errors


def _validate_update(obj: Obj, old: Obj) -> list[FieldError]:
    errors = _validate(obj) + validate_object_meta_update(obj["metadata"], old["metadata"], native=True)
    if _resource(obj) != _resource(old):
        errors.append(invalid("spec", {"Resource": _resource(obj)}, "field is immutable"))
    return errors


def _validate_status_update(obj: Obj, old: Obj) -> list[FieldError]:
    errors = validate_object_meta_update(obj["metadata"], old["metadata"], native=True)
    status, before = obj["status"], old.get("status") or {}
    revision, revision_before = status.get("resourceVersion") or "", before.get("resourceVersion") or ""
    if revision and not _REVISION.fullmatch(revision):
        why = f"resource version is not well formed: {revision}"
        errors.append(invalid("status.resourceVersion", revision, why))
    conditions = status.get("conditions") or []
    errors += validate_conditions(conditions, _CONDITIONS)
    if revision_before and revision_before != revision:
        errors.append(invalid("status.resourceVersion", revision, "field is immutable"))
    succeeded, failed = _is_true(status, "Succeeded"), _is_true(status, "Failed")
    for is_wrong, why in (
        (succeeded and failed, "Both success and failed conditions cannot be true at the same time"),
        (
            _is_true(before, "Succeeded") and not succeeded,
            "Success condition cannot be set to false once it is true",
        ),
        (_is_true(before, "Failed") and not failed, "Failed condition cannot be set to false once it is true"),
    ):
        if is_wrong:
            errors.append(invalid(_CONDITIONS, conditions, why))
    return errors


def _is_true(status: Obj, type_: str) -> bool:
    return any(
        condition["type"] == type_ and condition["status"] == "True" for condition in status.get("conditions") or ()
    )


def _prepare_status(obj: Obj, old: Obj) -> None:
    keep("spec")(obj, old)
    keep_metadata(obj, old)


def _resource_cell(obj: Obj) -> str:
    resource = _resource(obj)
    return str(GroupResource(resource.get("group") or "", resource.get("resource") or ""))


def _status_cell(obj: Obj) -> str:
    """The one condition that says how it is; one that has ended is no longer running, whatever is cleaned up yet."""
    status = obj.get("status") or {}
    return next((type_ for type_ in ("Succeeded", "Failed", "Running") if _is_true(status, type_)), "Pending")


STORAGE_VERSION_MIGRATIONS = Resource(
    group="storagemigration.k8s.io",
    plural="storageversionmigrations",
    singular="storageversionmigration",
    kind="StorageVersionMigration",
    namespaced=False,
    key_prefix="storageversionmigrations",
    storage_version="v1beta1",
    versions=(
        ResourceVersion(
            name="v1beta1",
            schema=_SCHEMA,
            message=_MESSAGE,
            columns=(
                replace(NAME, format=""),
                Column(name="Resource", cell=_resource_cell, description="The resource that is migrated."),
                Column(name="Status", cell=_status_cell, description="Pending, Running, Succeeded or Failed."),
            ),
        ),
    ),
    strategy=Strategy(
        prepare_for_create=clear,
        prepare_for_update=keep("status"),
        validate=_validate,
        validate_update=_validate_update,
        validate_name=name_is_dns_subdomain,
        unconditional_update=False,
        reset_fields=("status",),
    ),
    subresources=(
        Subresource(
            name="status",
            strategy=Strategy(
                prepare_for_update=_prepare_status,
                validate_update=_validate_status_update,
                reset_fields=("metadata", "spec"),
                unconditional_update=False,
            ),
        ),
    ),
)
