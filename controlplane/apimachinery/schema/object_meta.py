"""The one schema of every object's metadata.

Source: the fields of kubernetes/apimachinery ``meta/v1.ObjectMeta``.
"""

from __future__ import annotations

from controlplane.apimachinery.schema.native import (
    anything,
    array,
    boolean,
    integer,
    mapping,
    pointer,
    record,
    string,
    time,
)

__all__ = ["OBJECT_META"]

_OWNER = record(
    {
        "apiVersion": string("Group and version of the owner."),
        "kind": string("Kind of the owner."),
        "name": string("Name of the owner."),
        "uid": string("UID of the owner.", go_type="types.UID"),
        "controller": pointer(boolean("Whether the owner is the one that manages this object.")),
        "blockOwnerDeletion": pointer(
            boolean("Whether a foreground deletion of the owner waits until this object is gone.")
        ),
    },
    "An object that this one belongs to, in the same namespace or cluster-scoped.",
    go_type="v1.OwnerReference",
    required=("apiVersion", "kind", "name", "uid"),
    atomic=True,
)

_MANAGED = record(
    {
        "manager": string("Who made the change."),
        "operation": string("Apply or Update.", go_type="v1.ManagedFieldsOperationType"),
        "apiVersion": string("The version in which the fields are named."),
        "time": pointer(time("When the set of fields last changed.")),
        "fieldsType": string("How the fields are written; FieldsV1 is the only way."),
        "fieldsV1": pointer(anything("The fields, as a tree.")),
        "subresource": string("The subresource by which the change was made, if any."),
    },
    "The fields that one manager has set.",
    go_type="v1.ManagedFieldsEntry",
)

OBJECT_META = record(
    {
        "name": string("Unique within the namespace; cannot be changed."),
        "generateName": string("Prefix from which the server makes a unique name if none is given."),
        "namespace": string("The namespace the object is in; empty for cluster-scoped objects. Cannot be changed."),
        "selfLink": string("No longer set."),
        "uid": string("Unique over time and space; set by the server.", go_type="types.UID"),
        "resourceVersion": string("Opaque version of the object in the store, for comparison and for watches."),
        "generation": integer("Counts changes of the desired state; set by the server.", bits=64),
        "creationTimestamp": pointer(time("When the object was created; set by the server.")),
        "deletionTimestamp": pointer(time("When deletion was asked for; set by the server.")),
        "deletionGracePeriodSeconds": pointer(
            integer("Seconds the object has to end by itself after deletion was asked for.", bits=64)
        ),
        "labels": mapping(string(), "Keys and values to select objects by."),
        "annotations": mapping(string(), "Keys and values for tools; not selectable."),
        "ownerReferences": array(
            _OWNER,
            "What this object belongs to; when all owners are gone it is collected.",
            key=("uid",),
            merge_key="uid",
        ),
        "finalizers": {
            **array(
                string(), "Who must act before the object is removed; it goes when the list is empty.", unique=True
            ),
            "x-kubernetes-patch-strategy": "merge",
        },
        "managedFields": array(_MANAGED, "Who manages which fields."),
    },
    "Metadata that every object has.",
    go_type="v1.ObjectMeta",
)
