"""Resource quotas: how much of what a namespace may hold.

Amounts are kept in their canonical text, in thousandths at the finest. What is used is written to the status by whoever
counts it.

Source: the behaviour of kubernetes' core/v1 ResourceQuota.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from controlplane.apimachinery.codec.messages import message_of
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.quantity import Quantity, parse_quantity
from controlplane.apimachinery.resource import Column, Resource, ResourceVersion, Strategy, Subresource
from controlplane.apimachinery.schema.native import array, mapping, pointer, quantity, record, string
from controlplane.apimachinery.validation.field import FieldError, invalid, required
from controlplane.apimachinery.validation.metadata import validate_object_meta, validate_object_meta_update
from controlplane.apimachinery.validation.names import name_is_dns_subdomain, qualified_name
from controlplane.apis.changes import clear, keep
from controlplane.apis.columns import AGE, NAME
from controlplane.apis.core.quota_names import (
    SCOPES,
    is_counted_whole,
    is_standard,
    is_standard_for_quota,
    scope_fits,
)
from controlplane.apis.printed import as_printed

__all__ = ["RESOURCE_QUOTAS"]

_MILLI_NANOS = 10**6
_CONTRADICTORY = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))
_WITHOUT_VALUES = frozenset(
    {"BestEffort", "NotBestEffort", "Terminating", "NotTerminating", "CrossNamespacePodAffinity"}
)

_REQUIREMENT = record(
    {
        "scopeName": string("The scope.", go_type="v1.ResourceQuotaScope"),
        "operator": string("In, NotIn, Exists or DoesNotExist.", go_type="v1.ScopeSelectorOperator"),
        "values": array(string(), "Values of the scope, for In and NotIn."),
    },
    "What the scope of an object must be.",
    go_type="v1.ScopedResourceSelectorRequirement",
    required=("scopeName", "operator"),
)

_SELECTOR = pointer(
    record(
        {"matchExpressions": array(_REQUIREMENT, "All of these must hold.")},
        "Only objects whose scopes it selects are counted.",
        go_type="v1.ScopeSelector",
        atomic=True,
    )
)

_SCHEMA = record(
    {
        "spec": record(
            {
                "hard": mapping(quantity(), "The most there may be, by name of what is counted."),
                "scopes": array(
                    string(go_type="v1.ResourceQuotaScope"), "Only objects in all of these scopes are counted."
                ),
                "scopeSelector": _SELECTOR,
            },
            "What is bounded.",
            go_type="v1.ResourceQuotaSpec",
        ),
        "status": record(
            {
                "hard": mapping(quantity(), "The bounds that the counting went by."),
                "used": mapping(quantity(), "How much there is, by name of what is counted."),
            },
            "What is used.",
            go_type="v1.ResourceQuotaStatus",
        ),
    },
    "How much of what a namespace may hold.",
    go_type="v1.ResourceQuota",
)

_MESSAGE = message_of(
    _SCHEMA,
    {
        "ResourceQuota": "metadata spec status",
        "ResourceQuotaSpec": "hard scopes scopeSelector",
        "ResourceQuotaStatus": "hard used",
        "ScopeSelector": "matchExpressions",
        "ScopedResourceSelectorRequirement": "scopeName operator values",
    },
)


def _default(obj: Obj) -> None:
    for part, field in (("spec", "hard"), ("status", "hard"), ("status", "used")):
        amounts = obj[part].get(field) or {}
        for name, text in amounts.items():
            amount = parse_quantity(text)
            if amount.nanos % _MILLI_NANOS:
                amounts[name] = str(Quantity(amount.milli_value * _MILLI_NANOS, amount.format))


def _validate_amounts(amounts: Obj | None, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for name, text in (amounts or {}).items():
        at = f"{path}[{name}]"
        errors += _validate_name(name, at)
        amount = parse_quantity(text)
        if amount.nanos < 0:
            errors.append(invalid(at, text, "must be greater than or equal to 0"))
        if is_counted_whole(name) and amount.milli_value % 1000:
            errors.append(invalid(at, text, "must be an integer"))
    return errors


def _validate_name(name: str, path: str) -> list[FieldError]:
    errors = [invalid(path, name, problem) for problem in qualified_name(name)]
    if "/" not in name:
        if not errors and not is_standard(name):
            errors.append(invalid(path, name, "must be a standard resource type or fully qualified"))
        if not is_standard_for_quota(name):
            errors.append(invalid(path, name, "must be a standard resource for quota"))
    return errors


def _validate_spec(spec: Obj) -> list[FieldError]:
    standard = sorted(name for name in spec.get("hard") or () if is_standard_for_quota(name))
    return [
        *_validate_amounts(spec.get("hard"), "spec.hard"),
        *_validate_scopes(spec.get("scopes") or [], standard),
        *_validate_selector(spec.get("scopeSelector"), spec.get("scopes"), standard),
    ]


def _validate_scopes(scopes: list[str], standard: Sequence[str]) -> list[FieldError]:
    path = "spec.scopes"
    errors: list[FieldError] = []
    for scope in scopes:
        if scope not in SCOPES:
            errors.append(invalid(path, scopes, "unsupported scope"))
        errors += [
            invalid(path, scopes, "unsupported scope applied to resource")
            for name in standard
            if not scope_fits(scope, name)
        ]
    return errors + _contradictions(scopes, path, scopes)


def _contradictions(scopes: Sequence[str], path: str, shown: Any) -> list[FieldError]:
    return [
        invalid(path, shown, "conflicting scopes") for one, other in _CONTRADICTORY if one in scopes and other in scopes
    ]


def _validate_selector(selector: Obj | None, scopes: Any, standard: Sequence[str]) -> list[FieldError]:
    if selector is None:
        return []
    path = "spec.scopeSelector.matchExpressions"
    requirements = selector.get("matchExpressions") or []
    errors: list[FieldError] = []
    for requirement in requirements:
        scope = requirement["scopeName"]
        if scope not in SCOPES:
            errors.append(invalid(f"{path}.scopeName", scope, "unsupported scope"))
        errors += [
            invalid(path, as_printed(selector, _SELECTOR), "unsupported scope applied to resource")
            for name in standard
            if not scope_fits(scope, name)
        ]
        errors += _validate_requirement(requirement, path)
    return errors + _contradictions([requirement["scopeName"] for requirement in requirements], path, scopes)


def _validate_requirement(requirement: Obj, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    operator, values = requirement["operator"], requirement.get("values") or []
    if requirement["scopeName"] in _WITHOUT_VALUES and operator != "Exists":
        errors.append(
            invalid(
                f"{path}.operator",
                operator,
                "must be 'Exist' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
                "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or "
                "ResourceQuotaScopeCrossNamespacePodAffinity",
            )
        )
    if operator in {"In", "NotIn"}:
        if not values:
            why = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
            errors.append(required(f"{path}.values", why))
    elif operator in {"Exists", "DoesNotExist"}:
        if values:
            why = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
            errors.append(invalid(f"{path}.values", values, why))
    else:
        errors.append(invalid(f"{path}.operator", operator, "not a valid selector operator"))
    return errors


def _validate_status(status: Obj) -> list[FieldError]:
    return [error for field in ("hard", "used") for error in _validate_amounts(status.get(field), f"status.{field}")]


def _validate(obj: Obj) -> list[FieldError]:
    errors = validate_object_meta(obj["metadata"], namespaced=True, validate_name=name_is_dns_subdomain, native=True)
    return errors + _validate_spec(obj["spec"]) + _validate_status(obj["status"])


def _validate_update(obj: Obj, old: Obj) -> list[FieldError]:
    errors = validate_object_meta_update(obj["metadata"], old["metadata"], native=True) + _validate_spec(obj["spec"])
    scopes, old_scopes = obj["spec"].get("scopes"), (old.get("spec") or {}).get("scopes")
    if set(scopes or ()) != set(old_scopes or ()):
        errors.append(invalid("spec.scopes", scopes, "field is immutable"))
    return errors


def _validate_status_update(obj: Obj, old: Obj) -> list[FieldError]:
    errors = validate_object_meta_update(obj["metadata"], old["metadata"], native=True)
    return errors + _validate_status(obj["status"])


def _shown(obj: Obj, *, limits: bool) -> str:
    status = obj.get("status") or {}
    used, hard = status.get("used") or {}, status.get("hard") or {}
    names = sorted(name for name in hard if name.startswith("limits.") is limits)
    return ", ".join(f"{name}: {used.get(name, '0')}/{hard[name]}" for name in names)


def _requests(obj: Obj) -> str:
    return _shown(obj, limits=False)


def _limits(obj: Obj) -> str:
    return _shown(obj, limits=True)


RESOURCE_QUOTAS = Resource(
    group="",
    plural="resourcequotas",
    singular="resourcequota",
    kind="ResourceQuota",
    namespaced=True,
    short_names=("quota",),
    key_prefix="resourcequotas",
    storage_version="v1",
    versions=(
        ResourceVersion(
            name="v1",
            schema=_SCHEMA,
            message=_MESSAGE,
            columns=(
                NAME,
                Column(name="Request", cell=_requests, description="Used and allowed, of objects and requests."),
                Column(name="Limit", cell=_limits, description="Used and allowed, of limits."),
                AGE,
            ),
        ),
    ),
    strategy=Strategy(
        default=_default,
        prepare_for_create=clear,
        prepare_for_update=keep("status"),
        validate=_validate,
        validate_update=_validate_update,
        validate_name=name_is_dns_subdomain,
        reset_fields=("status",),
        returns_deleted=True,
    ),
    subresources=(
        Subresource(
            name="status",
            strategy=Strategy(
                prepare_for_update=keep("spec"),
                validate_update=_validate_status_update,
                reset_fields=("spec",),
            ),
        ),
    ),
)
