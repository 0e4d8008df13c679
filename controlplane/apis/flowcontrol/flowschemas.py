"""Flow schemas: which requests go to which priority level, and what keeps their flows apart.

Source: the behaviour of kubernetes' flowcontrol.apiserver.k8s.io/v1 FlowSchema.
"""

from __future__ import annotations

from typing import Any

from controlplane.apimachinery import meta
from controlplane.apimachinery.codec.messages import message_of
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.resource import Column, Resource, ResourceVersion, Strategy, Subresource
from controlplane.apimachinery.schema.native import always, array, integer, pointer, record, string
from controlplane.apimachinery.validation.field import FieldError, invalid, not_supported, required
from controlplane.apimachinery.validation.metadata import validate_object_meta
from controlplane.apimachinery.validation.names import dns1123_subdomain, name_is_dns_subdomain
from controlplane.apis.changes import clear, count_from_one, counting, keep, keep_metadata
from controlplane.apis.columns import AGE, NAME
from controlplane.apis.flowcontrol.conditions import (
    GROUP,
    STATUS_NUMBERS,
    status_schema,
    validate_status,
    validate_status_update,
)
from controlplane.apis.flowcontrol.mandatory import MANDATORY_FLOW_SCHEMAS
from controlplane.apis.flowcontrol.rules import RULE, RULE_NUMBERS, validate_rule
from controlplane.apis.printed import as_printed

__all__ = ["FLOW_SCHEMAS"]

DEFAULT_PRECEDENCE = 1000
HIGHEST_PRECEDENCE = 10000

_SCHEMA = record(
    {
        "spec": record(
            {
                "priorityLevelConfiguration": record(
                    {"name": string("Name of the priority level.")},
                    "The priority level of the requests.",
                    go_type="v1.PriorityLevelConfigurationReference",
                    required=("name",),
                ),
                "matchingPrecedence": always(
                    integer("Of all schemas that a request matches, the one with the lowest number counts.")
                ),
                "distinguisherMethod": pointer(
                    record(
                        {
                            "type": string(
                                "ByUser or ByNamespace.",
                                go_type="v1.FlowDistinguisherMethodType",
                            )
                        },
                        "What keeps flows apart; without it all requests of the schema are one flow.",
                        go_type="v1.FlowDistinguisherMethod",
                        required=("type",),
                    )
                ),
                "rules": array(RULE, "Requests that match one of these; without any, none do."),
            },
            "Which requests, and where they go.",
            go_type="v1.FlowSchemaSpec",
            required=("priorityLevelConfiguration",),
        ),
        "status": status_schema("How the schema does.", "FlowSchema"),
    },
    "Which requests go to which priority level.",
    go_type="v1.FlowSchema",
)

_MESSAGE = message_of(
    _SCHEMA,
    {
        "FlowSchema": "metadata spec status",
        "FlowSchemaSpec": "priorityLevelConfiguration matchingPrecedence distinguisherMethod rules",
        "FlowDistinguisherMethod": "type",
        "PriorityLevelConfigurationReference": "name",
        **RULE_NUMBERS,
        **STATUS_NUMBERS,
    },
)


def _default(obj: Obj) -> None:
    if not obj["spec"]["matchingPrecedence"]:
        obj["spec"]["matchingPrecedence"] = DEFAULT_PRECEDENCE


def _prepare_for_create(obj: Obj) -> None:
    clear(obj)
    count_from_one(obj)


def _prepare_for_update(obj: Obj, old: Obj) -> None:
    keep("status")(obj, old)
    counting("spec")(obj, old)


def _prepare_status(obj: Obj, old: Obj) -> None:
    keep("spec")(obj, old)
    keep_metadata(obj, old)


def _validate(obj: Obj) -> list[FieldError]:
    errors = validate_object_meta(obj["metadata"], namespaced=False, validate_name=name_is_dns_subdomain, native=True)
    spec, name = obj["spec"], meta.name(obj)
    errors += _validate_spec(spec, name)
    if name in MANDATORY_FLOW_SCHEMAS and spec != MANDATORY_FLOW_SCHEMAS[name]:
        shown = as_printed(spec, _SCHEMA["properties"]["spec"])
        errors.append(invalid("spec", shown, f"spec of '{name}' must equal the fixed value"))
    return errors + validate_status(obj["status"])


def _validate_spec(spec: Obj, name: str) -> list[FieldError]:
    errors: list[FieldError] = []
    precedence, path = spec["matchingPrecedence"], "spec.matchingPrecedence"
    if precedence <= 0:
        errors.append(invalid(path, precedence, "must be a positive value"))
    if precedence > HIGHEST_PRECEDENCE:
        errors.append(invalid(path, precedence, f"must not be greater than {HIGHEST_PRECEDENCE}"))
    if precedence == 1 and name != "exempt":
        errors.append(invalid(path, precedence, "only the schema named 'exempt' may have matchingPrecedence 1"))
    method = spec.get("distinguisherMethod")
    if method is not None and method["type"] not in {"ByNamespace", "ByUser"}:
        shown = {"Type": method["type"]}
        errors.append(not_supported("spec.distinguisherMethod.type", shown, ["ByNamespace", "ByUser"]))
    level, path = spec["priorityLevelConfiguration"]["name"], "spec.priorityLevelConfiguration.name"
    if not level:
        errors.append(required(path, "must reference a priority level"))
    else:
        errors += [invalid(path, level, problem) for problem in dns1123_subdomain(level)]
    for i, rule in enumerate(spec.get("rules") or ()):
        errors += validate_rule(rule, f"spec.rules[{i}]")
    return errors


def _validate_update(obj: Obj, _old: Obj) -> list[FieldError]:
    return _validate(obj)


def _spec(obj: Obj) -> Obj:
    return obj.get("spec") or {}


def _level(obj: Obj) -> Any:
    return (_spec(obj).get("priorityLevelConfiguration") or {}).get("name") or ""


def _precedence(obj: Obj) -> Any:
    return _spec(obj).get("matchingPrecedence") or 0


def _method(obj: Obj) -> Any:
    method = _spec(obj).get("distinguisherMethod")
    return "<none>" if method is None else method["type"]


def _missing_level(obj: Obj) -> Any:
    for condition in (obj.get("status") or {}).get("conditions") or ():
        if condition.get("type") == "Dangling":
            return condition.get("status") or ""
    return "?"


FLOW_SCHEMAS = Resource(
    group=GROUP,
    plural="flowschemas",
    singular="flowschema",
    kind="FlowSchema",
    namespaced=False,
    key_prefix="flowschemas",
    storage_version="v1",
    versions=(
        ResourceVersion(
            name="v1",
            schema=_SCHEMA,
            message=_MESSAGE,
            columns=(
                NAME,
                Column(name="PriorityLevel", cell=_level, description="Where the requests go."),
                Column(name="MatchingPrecedence", cell=_precedence, description="Lower numbers are looked at first."),
                Column(name="DistinguisherMethod", cell=_method, description="What keeps flows apart."),
                AGE,
                Column(name="MissingPL", cell=_missing_level, description="Whether the priority level is missing."),
            ),
        ),
    ),
    strategy=Strategy(
        default=_default,
        prepare_for_create=_prepare_for_create,
        prepare_for_update=_prepare_for_update,
        validate=_validate,
        validate_update=_validate_update,
        validate_name=name_is_dns_subdomain,
        reset_fields=("status",),
    ),
    subresources=(
        Subresource(
            name="status",
            strategy=Strategy(
                prepare_for_update=_prepare_status,
                validate_update=validate_status_update,
                reset_fields=("spec", "metadata"),
            ),
        ),
    ),
)
