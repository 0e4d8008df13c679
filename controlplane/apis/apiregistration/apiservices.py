"""API services: which versions of which groups are served, by whom, and in which order they are listed.

One without a service is served here, and so is available from the moment it exists.

Source: the behaviour of kubernetes' apiregistration.k8s.io/v1 APIService (kube-aggregator).
"""

from __future__ import annotations

import base64
from typing import Any

from controlplane.apimachinery import meta
from controlplane.apimachinery.codec.messages import message_of
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.resource import Column, Resource, ResourceVersion, Strategy, Subresource
from controlplane.apimachinery.schema.native import array, binary, boolean, integer, pointer, record, string, time
from controlplane.apimachinery.validation.field import FieldError, go_quoted, invalid, not_supported, required
from controlplane.apimachinery.validation.metadata import validate_object_meta, validate_object_meta_update
from controlplane.apimachinery.validation.names import dns1035_label, dns1123_subdomain, path_segment_name
from controlplane.apis.changes import clear, keep, keep_metadata
from controlplane.apis.columns import AGE, NAME

__all__ = ["API_SERVICES"]

HTTPS_PORT = 443
HIGHEST_PORT = 65535
HIGHEST_GROUP_PRIORITY = 20000
HIGHEST_VERSION_PRIORITY = 1000

_CONDITION = record(
    {
        "type": string("What the condition is about.", go_type="v1.APIServiceConditionType"),
        "status": string("True, False or Unknown.", go_type="v1.ConditionStatus"),
        "lastTransitionTime": time("When the status last changed."),
        "reason": string("Why, in one word."),
        "message": string("Why, for people."),
    },
    "One aspect of the state of an API service.",
    go_type="v1.APIServiceCondition",
    required=("type", "status"),
)

_SCHEMA = record(
    {
        "spec": record(
            {
                "service": pointer(
                    record(
                        {
                            "namespace": string("Namespace of the service."),
                            "name": string("Name of the service."),
                            "port": pointer(integer("Its port for HTTPS; 443 if none is given.")),
                        },
                        "The service that serves the version; without one it is served here.",
                        go_type="v1.ServiceReference",
                    )
                ),
                "group": string("The group; empty is the core group."),
                "version": string("The version of the group."),
                "insecureSkipTLSVerify": boolean("Whether to talk to the service without checking who it is."),
                "caBundle": binary("Certificates, in PEM, that the service's own must be signed by."),
                "groupPriorityMinimum": integer(
                    "Priority of the group, at least; groups of higher priority are listed first."
                ),
                "versionPriority": integer("Priority of the version in its group; higher ones are listed first."),
            },
            "Who serves what.",
            go_type="v1.APIServiceSpec",
            required=("groupPriorityMinimum", "versionPriority"),
        ),
        "status": record(
            {"conditions": array(_CONDITION, "Whether the version can be reached.", key=("type",), merge_key="type")},
            "How the service does.",
            go_type="v1.APIServiceStatus",
        ),
    },
    "A version of a group that is served.",
    go_type="v1.APIService",
)

_MESSAGE = message_of(
    _SCHEMA,
    {
        "APIService": "metadata spec status",
        "APIServiceSpec": (
            "service group version insecureSkipTLSVerify caBundle - groupPriorityMinimum versionPriority"
        ),
        "ServiceReference": "namespace name port",
        "APIServiceStatus": "conditions",
        "APIServiceCondition": "type status lastTransitionTime reason message",
    },
)


def _default(obj: Obj) -> None:
    service = obj["spec"].get("service")
    if service is not None and service.get("port") is None:
        service["port"] = HTTPS_PORT


def _prepare_for_create(obj: Obj) -> None:
    clear(obj)
    if obj["spec"].get("service") is None:
        obj["status"]["conditions"] = [
            {
                "type": "Available",
                "status": "True",
                "lastTransitionTime": meta.creation_timestamp(obj) or None,
                "reason": "Local",
                "message": "Local APIServices are always available",
            }
        ]


def _prepare_status(obj: Obj, old: Obj) -> None:
    keep("spec")(obj, old)
    keep_metadata(obj, old)


def _validate(obj: Obj) -> list[FieldError]:
    spec = obj["spec"]
    group, version = spec.get("group") or "", spec.get("version") or ""

    def validate_name(name: str, _prefix: bool) -> list[str]:  # noqa: FBT001 - the shape of validate_name
        problems = path_segment_name(name)
        if problems or name == f"{version}.{group}":
            return problems
        return [f'must be `spec.version+"."+spec.group`: {go_quoted(f"{version}.{group}")}']

    errors = validate_object_meta(obj["metadata"], namespaced=False, validate_name=validate_name, native=True)
    if not group and version != "v1":
        errors.append(required("spec.group", "only v1 may have an empty group and it better be legacy kube"))
    if group:
        errors += [invalid("spec.group", group, problem) for problem in dns1123_subdomain(group)]
    errors += [invalid("spec.version", version, problem) for problem in dns1035_label(version)]
    for field, highest in (
        ("groupPriorityMinimum", HIGHEST_GROUP_PRIORITY),
        ("versionPriority", HIGHEST_VERSION_PRIORITY),
    ):
        if not 0 < spec[field] <= highest:
            errors.append(invalid(f"spec.{field}", spec[field], f"must be positive and less than {highest}"))
    service = spec.get("service")
    return errors + (_validate_local(spec) if service is None else _validate_remote(spec, service))


def _validate_local(spec: Obj) -> list[FieldError]:
    errors: list[FieldError] = []
    if bundle := spec.get("caBundle"):
        shown = f"{len(base64.b64decode(bundle))} bytes"
        errors.append(invalid("spec.caBundle", shown, "local APIServices may not have a caBundle"))
    if spec.get("insecureSkipTLSVerify"):
        why = "local APIServices may not have insecureSkipTLSVerify"
        errors.append(invalid("spec.insecureSkipTLSVerify", True, why))
    return errors


def _validate_remote(spec: Obj, service: Obj) -> list[FieldError]:
    errors = [required(f"spec.service.{field}") for field in ("namespace", "name") if not service.get(field)]
    port = service.get("port") or 0
    if not 0 < port <= HIGHEST_PORT:
        why = f"port is not valid: must be between 1 and {HIGHEST_PORT}, inclusive"
        errors.append(invalid("spec.service.port", port, why))
    if spec.get("insecureSkipTLSVerify") and spec.get("caBundle"):
        errors.append(invalid("spec.insecureSkipTLSVerify", True, "may not be true if caBundle is present"))
    return errors


def _validate_update(obj: Obj, old: Obj) -> list[FieldError]:
    return validate_object_meta_update(obj["metadata"], old["metadata"], native=True) + _validate(obj)


def _validate_status_update(obj: Obj, old: Obj) -> list[FieldError]:
    errors = validate_object_meta_update(obj["metadata"], old["metadata"], native=True)
    return errors + [
        not_supported(f"status.conditions[{i}].status", condition["status"], ["True", "False", "Unknown"])
        for i, condition in enumerate(obj["status"].get("conditions") or ())
        if condition["status"] not in {"True", "False", "Unknown"}
    ]


def _service(obj: Obj) -> str:
    service = (obj.get("spec") or {}).get("service")
    return "Local" if service is None else f"{service.get('namespace', '')}/{service.get('name', '')}"


def _available(obj: Obj) -> Any:
    for condition in (obj.get("status") or {}).get("conditions") or ():
        if condition["type"] == "Available":
            status = condition["status"]
            return status if status == "True" else f"{status} ({condition.get('reason', '')})"
    return "Unknown"


API_SERVICES = Resource(
    group="apiregistration.k8s.io",
    plural="apiservices",
    singular="apiservice",
    kind="APIService",
    namespaced=False,
    categories=("api-extensions",),
    key_prefix="apiregistration.k8s.io/apiservices",
    storage_version="v1",
    versions=(
        ResourceVersion(
            name="v1",
            schema=_SCHEMA,
            message=_MESSAGE,
            columns=(
                NAME,
                Column(name="Service", cell=_service, description="The service that serves it, or Local."),
                Column(name="Available", cell=_available, description="Whether it can be reached."),
                AGE,
            ),
        ),
    ),
    strategy=Strategy(
        default=_default,
        prepare_for_create=_prepare_for_create,
        prepare_for_update=keep("status"),
        validate=_validate,
        validate_update=_validate_update,
        unconditional_update=False,
        reset_fields=("status",),
    ),
    subresources=(
        Subresource(
            name="status",
            strategy=Strategy(
                prepare_for_update=_prepare_status,
                validate_update=_validate_status_update,
                reset_fields=("spec", "metadata"),
                unconditional_update=False,
            ),
        ),
    ),
)
