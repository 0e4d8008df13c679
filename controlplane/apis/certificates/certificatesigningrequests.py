"""Certificate signing requests: who asks whom to sign what, whether that is approved, and the certificate.

What is asked cannot be changed. The conditions Approved and Denied are written by the approval subresource alone, the
certificate by status alone.

Source: the behaviour of kubernetes' certificates.k8s.io/v1 CertificateSigningRequest.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import UTC, datetime

from controlplane.apimachinery import meta
from controlplane.apimachinery.codec.messages import message_of
from controlplane.apimachinery.duration import human_duration
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.resource import Column, Resource, ResourceVersion, Strategy, Subresource
from controlplane.apimachinery.schema.native import array, binary, integer, mapping, pointer, record, string, time
from controlplane.apimachinery.user import UserInfo
from controlplane.apimachinery.validation.field import FieldError, duplicate, invalid, not_supported, required
from controlplane.apimachinery.validation.metadata import validate_object_meta
from controlplane.apimachinery.validation.names import name_is_path_segment
from controlplane.apis.certificates.changes import validate_change
from controlplane.apis.certificates.requests import certificate_problem, request_problem
from controlplane.apis.certificates.signer_names import validate_signer_name
from controlplane.apis.changes import clear, keep
from controlplane.apis.columns import AGE, NAME

__all__ = ["CERTIFICATE_SIGNING_REQUESTS"]

LEGACY_SIGNER = "kubernetes.io/legacy-unknown"
SHORTEST_SECONDS = 600

_USAGES = (
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
)
_ALWAYS_TRUE = frozenset({"Approved", "Denied", "Failed"})
"""Conditions that are either there or not."""
_DECISIONS = frozenset({"Approved", "Denied"})

_CONDITION = record(
    {
        "type": string("Approved, Denied, Failed, or another.", go_type="v1.RequestConditionType"),
        "status": string("True, False or Unknown; True for those named.", go_type="v1.ConditionStatus"),
        "reason": string("Why, in one word."),
        "message": string("Why, for people."),
        "lastUpdateTime": time("When the condition was last written."),
        "lastTransitionTime": time("When the status last changed."),
    },
    "One aspect of the state of a request.",
    go_type="v1.CertificateSigningRequestCondition",
    required=("type", "status"),
)

_SCHEMA = record(
    {
        "spec": record(
            {
                "request": binary("The request (PKCS#10) in PEM."),
                "signerName": string("Who is asked to sign: example.com/signer."),
                "expirationSeconds": pointer(
                    integer("How long the certificate should be good; the signer may differ.")
                ),
                "usages": array(string(go_type="v1.KeyUsage"), "What the key is for."),
                "username": string("Who asks; written by the server."),
                "uid": string("UID of who asks; written by the server."),
                "groups": array(string(), "Groups of who asks; written by the server."),
                "extra": mapping(array(string()), "What else is known of who asks; written by the server."),
            },
            "Who asks whom to sign what.",
            go_type="v1.CertificateSigningRequestSpec",
            required=("request", "signerName"),
        ),
        "status": record(
            {
                "conditions": array(_CONDITION, "Whether it is approved, denied, or has failed.", key=("type",)),
                "certificate": binary("The certificate and its chain, in PEM."),
            },
            "What has become of it.",
            go_type="v1.CertificateSigningRequestStatus",
        ),
    },
    "A request to sign a certificate.",
    go_type="v1.CertificateSigningRequest",
    required=("spec",),
)

_MESSAGE = message_of(
    _SCHEMA,
    {
        "CertificateSigningRequest": "metadata spec status",
        "CertificateSigningRequestSpec": "request username uid groups usages extra signerName expirationSeconds",
        "CertificateSigningRequestStatus": "conditions certificate",
        "CertificateSigningRequestCondition": "type reason message lastUpdateTime lastTransitionTime status",
    },
)


def _record_user(obj: Obj, user: UserInfo) -> None:
    spec = obj["spec"]
    for field, value in (
        ("username", user.name),
        ("uid", user.uid),
        ("groups", list(user.groups)),
        ("extra", {key: list(values) for key, values in user.extra.items()}),
    ):
        if value:
            spec[field] = value
        else:
            spec.pop(field, None)


def _conditions(obj: Obj) -> list[Obj]:
    return (obj.get("status") or {}).get("conditions") or []


def _fill_in_times(conditions: list[Obj], old: list[Obj]) -> None:
    now = meta.format_time(datetime.now(UTC))
    for condition in conditions:
        if not condition.get("lastUpdateTime"):
            condition["lastUpdateTime"] = now
        if not condition.get("lastTransitionTime"):
            condition["lastTransitionTime"] = next(
                (
                    before["lastTransitionTime"]
                    for before in old
                    if (before["type"], before["status"]) == (condition["type"], condition["status"])
                    and before.get("lastTransitionTime")
                ),
                now,
            )


def _keep_spec(obj: Obj, old: Obj) -> None:
    keep("spec")(obj, old)
    before, conditions = _conditions(old), _conditions(obj)
    for decision in _DECISIONS:  # what is neither added nor removed stays as it is
        old_ones = [condition for condition in before if condition["type"] == decision]
        places = [i for i, condition in enumerate(conditions) if condition["type"] == decision]
        if len(old_ones) == len(places):
            for i, condition in zip(places, old_ones, strict=True):
                conditions[i] = condition
    _fill_in_times([condition for condition in conditions if condition not in before], before)


def _take_conditions_alone(obj: Obj, old: Obj) -> None:
    keep("spec")(obj, old)
    conditions = _conditions(obj)
    _fill_in_times(conditions, _conditions(old))
    status = {**(old.get("status") or {}), "conditions": conditions}
    if not conditions:
        del status["conditions"]
    obj["status"] = status


def _any_name(_name: str, _prefix: bool) -> list[str]:  # noqa: FBT001 - the shape of validate_name
    """The kind asks nothing of names; what no name may be is found by the generic rules, if there is nothing else."""
    return []


def _validate(obj: Obj) -> list[FieldError]:
    errors = validate_object_meta(obj["metadata"], namespaced=False, validate_name=_any_name, native=True)
    spec, status = obj["spec"], obj["status"]
    if problem := request_problem(base64.b64decode(spec["request"] or "")):
        errors.append(invalid("spec.request", spec["request"] or None, problem))
    errors += _validate_usages(spec.get("usages") or [])
    if spec["signerName"] == LEGACY_SIGNER:
        why = "the legacy signerName is not allowed via this API version"
        errors.append(invalid("spec.signerName", LEGACY_SIGNER, why))
    else:
        errors += validate_signer_name(spec["signerName"], "spec.signerName")
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < SHORTEST_SECONDS:
        why = f"may not specify a duration less than {SHORTEST_SECONDS} seconds (10 minutes)"
        errors.append(invalid("spec.expirationSeconds", seconds, why))
    errors += _validate_conditions(_conditions(obj))
    certificate = status.get("certificate")
    if certificate and (problem := certificate_problem(base64.b64decode(certificate))):
        errors.append(invalid("status.certificate", "<certificate data>", problem))
    return errors


def _validate_usages(usages: list[str]) -> list[FieldError]:
    errors = [] if usages else [required("spec.usages")]
    errors += [
        not_supported(f"spec.usages[{i}]", usage, _USAGES) for i, usage in enumerate(usages) if usage not in _USAGES
    ]
    errors += [duplicate(f"spec.usages[{i}]", usage) for i, usage in enumerate(usages) if usage in usages[:i]]
    return errors


def _validate_conditions(conditions: list[Obj]) -> list[FieldError]:
    path = "status.conditions"
    errors: list[FieldError] = []
    seen: set[str] = set()
    for i, condition in enumerate(conditions):
        type_, status = condition["type"], condition["status"]
        if not type_:
            errors.append(required(f"{path}[{i}].type"))
        allowed = ("True",) if type_ in _ALWAYS_TRUE else ("False", "True", "Unknown")
        if not status:
            errors.append(required(f"{path}[{i}].status"))
        elif status not in allowed:
            errors.append(not_supported(f"{path}[{i}].status", status, allowed))
        if type_ in _DECISIONS and (_DECISIONS - {type_}) & seen:
            errors.append(invalid(path, type_, "Approved and Denied conditions are mutually exclusive"))
        if type_ in seen:
            errors.append(duplicate(f"{path}[{i}].type", type_))
        seen.add(type_)
    return errors


def _validate_update(obj: Obj, old: Obj) -> list[FieldError]:
    return _validate(obj) + validate_change(obj, old)


def _validate_status_update(obj: Obj, old: Obj) -> list[FieldError]:
    return _validate(obj) + validate_change(obj, old, may_issue=True)


def _validate_approval_update(obj: Obj, old: Obj) -> list[FieldError]:
    return _validate(obj) + validate_change(obj, old, may_decide=True)


def _attributes(obj: Obj) -> Mapping[str, str]:
    return {"metadata.name": meta.name(obj), "spec.signerName": _spec(obj).get("signerName") or ""}


def _spec(obj: Obj) -> Obj:
    return obj.get("spec") or {}


def _signer(obj: Obj) -> str:
    return _spec(obj).get("signerName") or "<none>"


def _requestor(obj: Obj) -> str:
    return _spec(obj).get("username") or ""


def _requested_duration(obj: Obj) -> str:
    seconds = _spec(obj).get("expirationSeconds")
    return "<none>" if seconds is None else human_duration(seconds)


def _condition(obj: Obj) -> str:
    types = {condition["type"] for condition in _conditions(obj)}
    shown = "Denied" if "Denied" in types else "Approved" if "Approved" in types else "Pending"
    if "Failed" in types:
        shown += ",Failed"
    return shown + ",Issued" if (obj.get("status") or {}).get("certificate") else shown


CERTIFICATE_SIGNING_REQUESTS = Resource(
    group="certificates.k8s.io",
    plural="certificatesigningrequests",
    singular="certificatesigningrequest",
    kind="CertificateSigningRequest",
    namespaced=False,
    short_names=("csr",),
    key_prefix="certificatesigningrequests",
    storage_version="v1",
    versions=(
        ResourceVersion(
            name="v1",
            schema=_SCHEMA,
            message=_MESSAGE,
            columns=(
                NAME,
                AGE,
                Column(name="SignerName", cell=_signer, description="Who is asked to sign."),
                Column(name="Requestor", cell=_requestor, description="Who asks."),
                Column(name="RequestedDuration", cell=_requested_duration, description="How long it should be good."),
                Column(name="Condition", cell=_condition, description="What has become of it."),
            ),
        ),
    ),
    strategy=Strategy(
        prepare_for_create=clear,
        prepare_for_update=keep("spec", "status"),
        validate=_validate,
        validate_update=_validate_update,
        record_user=_record_user,
        validate_name=name_is_path_segment,
        reset_fields=("status",),
    ),
    subresources=(
        Subresource(
            name="approval",
            strategy=Strategy(
                prepare_for_update=_take_conditions_alone,
                validate_update=_validate_approval_update,
                reset_fields=("spec", "status.certificate"),
            ),
        ),
        Subresource(
            name="status",
            strategy=Strategy(
                prepare_for_update=_keep_spec, validate_update=_validate_status_update, reset_fields=("spec",)
            ),
        ),
    ),
    attributes=_attributes,
    field_labels=("metadata.name", "spec.signerName"),
)
