"""Storage versions: in which form each server stores the objects of a resource, and whether all do in the same one.

Source: the behaviour of kubernetes 1.36's internal.apiserver.k8s.io/v1alpha1 StorageVersion.
"""

from __future__ import annotations

from controlplane.apimachinery.codec.messages import message_of
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.resource import Column, Resource, ResourceVersion, Strategy, Subresource
from controlplane.apimachinery.schema.native import array, integer, pointer, record, string, time
from controlplane.apimachinery.storage_versions import STORAGE_VERSIONS as GVR
from controlplane.apimachinery.storage_versions import common_encoding_version
from controlplane.apimachinery.validation.field import FieldError, invalid, required
from controlplane.apimachinery.validation.metadata import validate_object_meta
from controlplane.apimachinery.validation.names import (
    dns1035_label,
    dns1123_subdomain,
    name_is_dns_subdomain,
    qualified_name,
    regex_error,
)
from controlplane.apis.changes import clear, keep, keep_metadata
from controlplane.apis.columns import AGE, NAME

__all__ = ["STORAGE_VERSIONS"]

_SERVER = record(
    {
        "apiServerID": string("The server that reports; the name of its identity lease."),
        "encodingVersion": string("The version in which it stores objects."),
        "decodableVersions": array(
            string(), "The versions that it can read; the one in which it stores is among them.", unique=True
        ),
        "servedVersions": array(string(), "The versions in which it serves objects.", unique=True),
    },
    "How one server has the resource.",
    go_type="v1alpha1.ServerStorageVersion",
)
_CONDITION = record(
    {
        "type": string("What the condition is about.", go_type="v1alpha1.StorageVersionConditionType"),
        "status": string("True, False or Unknown.", go_type="v1alpha1.ConditionStatus"),
        "observedGeneration": integer("The generation that the condition is of.", bits=64),
        "lastTransitionTime": time("When the status last changed."),
        "reason": string("Why, in one word."),
        "message": string("Why, for people."),
    },
    "One aspect of the state.",
    go_type="v1alpha1.StorageVersionCondition",
    required=("type", "status", "reason"),
)
_SCHEMA = record(
    {
        "spec": record({}, "Nothing is asked for.", go_type="v1alpha1.StorageVersionSpec"),
        "status": record(
            {
                "storageVersions": array(_SERVER, "What the servers report.", key=("apiServerID",)),
                "commonEncodingVersion": pointer(
                    string("The version in which all servers store; missing where they differ.")
                ),
                "conditions": array(_CONDITION, "The state, aspect by aspect.", key=("type",)),
            },
            "What the servers report, and what is common to all.",
            go_type="v1alpha1.StorageVersionStatus",
        ),
    },
    "In which form the servers store the objects of one resource. The name is group and resource.",
    go_type="v1alpha1.StorageVersion",
)
_MESSAGE = message_of(
    _SCHEMA,
    {
        "StorageVersion": "metadata spec status",
        "StorageVersionSpec": "",
        "StorageVersionStatus": "storageVersions commonEncodingVersion conditions",
        "ServerStorageVersion": "apiServerID encodingVersion decodableVersions servedVersions",
        "StorageVersionCondition": "type status observedGeneration lastTransitionTime reason message",
    },
)

_STATUS = "status"
_API_VERSION_RULE = (
    "a DNS-1035 label, which must consist of lower case alphanumeric characters or '-', start with an alphabetic "
    "character, and end with an alphanumeric character"
)
_DNS1035_LABEL = "[a-z]([-a-z0-9]*[a-z0-9])?"
_SHOWN_SERVERS = 3


def _name_problems(name: str, _prefix: bool) -> list[str]:  # noqa: FBT001 - the shape of Strategy.validate_name
    group, dot, resource = name.rpartition(".")
    if not dot:
        return ["name must be in the form of <group>.<resource>"]
    return [
        *(f"the group segment {problem}" for problem in dns1123_subdomain(group)),
        *(f"the resource segment {problem}" for problem in dns1035_label(resource)),
    ]


def _api_version_problems(api_version: str) -> list[str]:
    """What is wrong with ``group/version``, or ``version`` of the core group."""
    parts = api_version.split("/")
    if len(parts) > 2:
        rule = regex_error(_API_VERSION_RULE, _DNS1035_LABEL, "my-name", "abc-123")
        return [f"an apiVersion is {rule} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyVersion')"]
    problems: list[str] = []
    for what, part, judge in zip(
        ("group", "version")[-len(parts) :], parts, (dns1123_subdomain, dns1035_label)[-len(parts) :], strict=True
    ):
        found = judge(part) if part else ["must be non-empty"]
        problems += [f"{what} part: {problem}" for problem in found]
    return problems


def _validate_server(server: Obj, path: str) -> list[FieldError]:
    own, encoding = server.get("apiServerID") or "", server.get("encodingVersion") or ""
    errors = [invalid(f"{path}.apiServerID", own, problem) for problem in name_is_dns_subdomain(own, False)]
    if problems := _api_version_problems(encoding):
        errors.append(invalid(f"{path}.encodingVersion", encoding, ",".join(problems)))
    decodable = server.get("decodableVersions")
    for i, version in enumerate(decodable or ()):
        if problems := _api_version_problems(version):
            errors.append(invalid(f"{path}.decodableVersions[{i}]", version, ",".join(problems)))
    if encoding not in (decodable or ()):
        why = f"decodableVersions must include encodingVersion {encoding}"
        errors.append(invalid(f"{path}.decodableVersions", decodable, why))
    return errors


def _validate_common(status: Obj) -> list[FieldError]:
    given, actual = status.get("commonEncodingVersion"), common_encoding_version(status.get("storageVersions") or ())
    if given == actual:
        return []
    if actual is None:
        why = (
            "should be nil if servers do not agree on the same encoding version, or if there is no server reporting "
            "the supported versions yet"
        )
    elif given is None:
        why = f"the common encoding version is {actual}"
    else:
        why = f"the actual common encoding version is {actual}"
    return [invalid("status.commonEncodingVersion", given, why)]


def _validate_conditions(conditions: list[Obj]) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: dict[str, int] = {}
    for i, condition in enumerate(conditions):
        path, type_, status = f"{_STATUS}[{i}]", condition["type"], condition["status"]  # the path is upstream's
        if type_ in seen:
            why = f"the type of the condition is not unique, it also appears in conditions[{seen[type_]}]"
            errors.append(invalid(f"{path}.type", type_, why))
        seen[type_] = i
        errors += [invalid(f"{path}.type", type_, problem) for problem in qualified_name(type_)]
        errors += [invalid(f"{path}.status", status, problem) for problem in qualified_name(status)]
        if not condition["reason"]:
            errors.append(required(f"{path}.reason", "reason cannot be empty"))
        if not condition.get("message"):
            errors.append(required(f"{path}.message", "message cannot be empty"))
    return errors


def _validate_status(obj: Obj) -> list[FieldError]:
    status = obj.get("status") or {}
    errors: list[FieldError] = []
    for i, server in enumerate(status.get("storageVersions") or ()):
        errors += _validate_server(server, f"status.storageVersions[{i}]")
    return errors + _validate_common(status) + _validate_conditions(status.get("conditions") or [])


def _validate(obj: Obj) -> list[FieldError]:
    errors = validate_object_meta(obj["metadata"], namespaced=False, validate_name=_name_problems)
    return errors + _validate_status(obj)


def _prepare_status(obj: Obj, old: Obj) -> None:
    keep("spec")(obj, old)
    keep_metadata(obj, old)


def _common_cell(obj: Obj) -> str:
    return (obj.get("status") or {}).get("commonEncodingVersion") or "<unset>"


def _servers_cell(obj: Obj) -> str:
    servers = (obj.get("status") or {}).get("storageVersions") or ()
    shown = [f"{one.get('apiServerID') or ''}={one.get('encodingVersion') or ''}" for one in servers[:_SHOWN_SERVERS]]
    more = f" + {len(servers) - _SHOWN_SERVERS} more..." if len(servers) > _SHOWN_SERVERS else ""
    return f"{','.join(shown)}{more}" or "<unset>"


STORAGE_VERSIONS = Resource(
    group=GVR.group,
    plural=GVR.resource,
    singular="storageversion",
    kind="StorageVersion",
    namespaced=False,
    key_prefix="storageversions",
    storage_version=GVR.version,
    versions=(
        ResourceVersion(
            name=GVR.version,
            schema=_SCHEMA,
            message=_MESSAGE,
            columns=(
                NAME,
                Column(
                    name="CommonEncodingVersion",
                    cell=_common_cell,
                    description="The version in which all servers store.",
                ),
                Column(name="StorageVersions", cell=_servers_cell, description="What the servers report."),
                AGE,
            ),
        ),
    ),
    strategy=Strategy(
        prepare_for_create=clear,
        prepare_for_update=keep("status"),
        validate=_validate,
        validate_name=_name_problems,
        unconditional_update=False,
        reset_fields=("status",),
    ),
    subresources=(
        Subresource(
            name="status",
            strategy=Strategy(
                prepare_for_update=_prepare_status,
                validate_update=lambda obj, _old: _validate_status(obj),
                reset_fields=("metadata", "spec"),
                unconditional_update=False,
            ),
        ),
    ),
)
