"""Definitions that every document has, since every resource is listed, watched, patched and deleted alike.

Source: the fields of kubernetes/apimachinery ``meta/v1``, ``util/intstr`` and ``api/resource``, and of the kind Scale
of autoscaling/v1.
"""

from __future__ import annotations

from collections.abc import Iterable

from controlplane.apimachinery.identity import GVK, GroupVersion, Obj
from controlplane.apimachinery.schema.native import (
    array,
    boolean,
    integer,
    pointer,
    record,
    string,
)
from controlplane.apiserver.openapi.dialect import Dialect
from controlplane.apiserver.openapi.names import INT_OR_STRING, META, QUANTITY, RAW_EXTENSION
from controlplane.apiserver.openapi.native_schemas import NativeSchemas, of_metadata

__all__ = ["GVK_EXTENSION", "SCALE", "gvk_extension", "scale_definitions", "shared_definitions"]

GVK_EXTENSION = "x-kubernetes-group-version-kind"
SCALE = "io.k8s.api.autoscaling.v1.Scale"

_LIST_META = record(
    {
        "selfLink": string("No longer set."),
        "resourceVersion": string("The version of the store that the list shows; watches may begin there."),
        "continue": string("Asks for the following page of the list; empty at its end."),
        "remainingItemCount": pointer(integer("How many items follow on later pages, if that is known.", bits=64)),
    },
    "Metadata that every list has.",
    go_type="v1.ListMeta",
)
_CAUSE = record(
    {
        "reason": string("Why, in one word for programs."),
        "message": string("Why, for people."),
        "field": string("The field that is the cause, by its path: spec.items[0].name."),
    },
    "One cause of a failure.",
    go_type="v1.StatusCause",
)
_DETAILS = record(
    {
        "name": string("The name of the resource that the status is about."),
        "group": string("The group of the resource."),
        "kind": string("The kind of the resource, at times its plural name."),
        "uid": string("The UID of the resource."),
        "causes": array(_CAUSE, "All causes of the failure, where there are more than one or a field is to blame."),
        "retryAfterSeconds": integer("How many seconds to wait before trying again."),
    },
    "What a status is about.",
    go_type="v1.StatusDetails",
)
_STATUS = record(
    {
        "metadata": {**_LIST_META, "description": "Metadata of the answer."},
        "status": string("Success or Failure."),
        "message": string("What happened, for people."),
        "reason": string("Why it failed, in one word for programs."),
        "details": pointer({**_DETAILS, "description": "More about the reason."}),
        "code": integer("The HTTP status of the answer."),
    },
    "The answer of a request that gives no object, or that failed.",
)
_PRECONDITIONS = record(
    {
        "uid": pointer(string("The UID that the object must have.")),
        "resourceVersion": pointer(string("The version that the object must have.")),
    },
    "What must hold for a request to be carried out.",
    go_type="v1.Preconditions",
)
_DELETE_OPTIONS = record(
    {
        "gracePeriodSeconds": pointer(
            integer("Seconds the object has to end by itself; 0 deletes it at once.", bits=64)
        ),
        "preconditions": pointer({**_PRECONDITIONS, "description": "What must hold, else the answer is a conflict."}),
        "orphanDependents": pointer(boolean("Deprecated: whether what belongs to the object is kept.")),
        "propagationPolicy": pointer(
            string("What becomes of what belongs to the object: Orphan, Background or Foreground.")
        ),
        "dryRun": array(string(), "All does everything but the change itself."),
        "ignoreStoreReadErrorWithClusterBreakingPotential": pointer(
            boolean("Whether an object is deleted that cannot be read from the store; nobody else is asked then.")
        ),
    },
    "How something is deleted.",
)
_SCALE_SPEC = record(
    {"replicas": integer("How many there are to be.")}, "The number asked for.", go_type="v1.ScaleSpec"
)
_SCALE_STATUS = record(
    {
        "replicas": integer("How many there are."),
        "selector": string("A label selector, as text, of those that are counted."),
    },
    "The number there is.",
    go_type="v1.ScaleStatus",
    required=("replicas",),
)
_SCALE_KIND = record({"spec": _SCALE_SPEC, "status": _SCALE_STATUS}, "How many of something there are and are to be.")


def gvk_extension(gvks: Iterable[GVK]) -> list[Obj]:
    """The value of ``x-kubernetes-group-version-kind`` of a definition."""
    return [{"group": gvk.group, "kind": gvk.kind, "version": gvk.version} for gvk in gvks]


def shared_definitions(dialect: Dialect, gvs: Iterable[GroupVersion]) -> dict[str, Obj]:
    """What documents have in common. ``gvs``: whose kinds the document holds; each has its own DeleteOptions."""
    gvs = sorted(set(gvs))
    schemas = NativeSchemas(GroupVersion("", "v1"), dialect)
    meta: dict[str, Obj] = {
        "DeleteOptions": {
            **schemas.kind(_DELETE_OPTIONS, metadata=False),
            GVK_EXTENSION: gvk_extension(GVK(*gv, "DeleteOptions") for gv in gvs),
        },
        "Status": {
            **schemas.kind(_STATUS, metadata=False),
            GVK_EXTENSION: gvk_extension([GVK("", "v1", "Status")]),
        },
        "WatchEvent": _watch_event(dialect, gvs),
        "ListMeta": schemas.record(_LIST_META),
        "Patch": {"description": "A patch, in the form that its content type tells.", "type": "object"},
        "FieldsV1": {"description": "A set of fields, as a tree.", "type": "object"},
        "Time": {"description": "A time in whole seconds, as in RFC 3339.", "type": "string", "format": "date-time"},
        "MicroTime": {
            "description": "A time with six digits of a second, as in RFC 3339.",
            "type": "string",
            "format": "date-time",
        },
    }
    return {
        **of_metadata(dialect),
        **schemas.found,
        **{META + name: definition for name, definition in meta.items()},
        INT_OR_STRING: _int_or_string(dialect),
        QUANTITY: _quantity(dialect),
        RAW_EXTENSION: {"description": "Any object, as it is.", "type": "object"},
    }


def scale_definitions(dialect: Dialect) -> dict[str, Obj]:
    """The kind of the subresource ``scale``."""
    schemas = NativeSchemas(GroupVersion("autoscaling", "v1"), dialect)
    kind = schemas.kind(_SCALE_KIND)
    kind[GVK_EXTENSION] = gvk_extension([GVK("autoscaling", "v1", "Scale")])
    return {**schemas.found, SCALE: kind}


def _watch_event(dialect: Dialect, gvs: Iterable[GroupVersion]) -> Obj:
    return {
        "description": "One event of a watch.",
        "type": "object",
        "required": ["type", "object"],
        "properties": {
            "type": {"description": "ADDED, MODIFIED, DELETED, BOOKMARK or ERROR.", "type": "string"},
            "object": dialect.field(RAW_EXTENSION, "The object after the change, or a Status if type is ERROR."),
        },
        GVK_EXTENSION: gvk_extension(GVK(*gv, "WatchEvent") for gv in gvs),
    }


def _int_or_string(dialect: Dialect) -> Obj:
    if dialect is Dialect.V2:
        return {"description": "A number or a text.", "type": "string", "format": "int-or-string"}
    return {
        "description": "A number or a text.",
        "format": "int-or-string",
        "oneOf": [{"type": "integer"}, {"type": "string"}],
    }


def _quantity(dialect: Dialect) -> Obj:
    description = "An amount with an optional unit: 100m is a tenth, 1Ki is 1024, 1k is 1000, 5e3 is 5000."
    if dialect is Dialect.V2:
        return {"description": description, "type": "string"}
    return {"description": description, "oneOf": [{"type": "string"}, {"type": "number"}]}
