"""Bindings of validating admission policies: they put a policy into effect, with parameters, for some of its requests.

Source: the behaviour of kubernetes' admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding.
"""

from __future__ import annotations

from controlplane.apimachinery.codec.messages import message_of
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.resource import Resource, ResourceVersion, Strategy
from controlplane.apimachinery.schema.native import array, record, string
from controlplane.apimachinery.validation.field import FieldError, duplicate, invalid, required
from controlplane.apimachinery.validation.metadata import validate_object_meta
from controlplane.apimachinery.validation.names import name_is_dns_subdomain
from controlplane.apis.admissionregistration.matching import GROUP, default_matching, validate_one_of
from controlplane.apis.admissionregistration.policies import (
    BINDING_NUMBERS,
    PARAM_REF_COLUMN,
    POLICY_NAME_COLUMN,
    binding_fields,
    validate_binding_spec,
)
from controlplane.apis.changes import count_from_one, counting
from controlplane.apis.columns import AGE, NAME

__all__ = ["VALIDATING_ADMISSION_POLICY_BINDINGS"]

ACTIONS = ("Audit", "Deny", "Warn")

_SCHEMA = record(
    {
        "spec": record(
            {
                **binding_fields(),
                "validationActions": array(
                    string(go_type="v1.ValidationAction"),
                    "What happens when something does not hold: Deny, Warn or Audit.",
                    unique=True,
                ),
            },
            "Which policy is bound, with which parameters, for what.",
            go_type="v1.ValidatingAdmissionPolicyBindingSpec",
        )
    },
    "Puts a policy into effect.",
    go_type="v1.ValidatingAdmissionPolicyBinding",
)

_MESSAGE = message_of(
    _SCHEMA,
    {
        "ValidatingAdmissionPolicyBinding": "metadata spec",
        "ValidatingAdmissionPolicyBindingSpec": "policyName paramRef matchResources validationActions",
        **BINDING_NUMBERS,
    },
)


def _default(obj: Obj) -> None:
    default_matching(obj["spec"].get("matchResources"))


def _validate(obj: Obj) -> list[FieldError]:
    errors = validate_object_meta(obj["metadata"], namespaced=False, validate_name=name_is_dns_subdomain)
    errors += validate_binding_spec(obj["spec"])
    return errors + _validate_actions(obj["spec"].get("validationActions") or [], "spec.validationActions")


def _validate_actions(actions: list[str], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for i, action in enumerate(actions):
        errors += validate_one_of(action, f"{path}[{i}]", ACTIONS)
        if action in actions[:i]:
            errors.append(duplicate(f"{path}[{i}]", action))
    if "Deny" in actions and "Warn" in actions:
        why = (
            "must not contain both Deny and Warn (repeating the same validation failure information in the API "
            "response and headers serves no purpose)"
        )
        errors.append(invalid(path, actions, why))
    if not actions:
        errors.append(required(path, "at least one validation action is required"))
    return errors


def _validate_update(obj: Obj, _old: Obj) -> list[FieldError]:
    return _validate(obj)


VALIDATING_ADMISSION_POLICY_BINDINGS = Resource(
    group=GROUP,
    plural="validatingadmissionpolicybindings",
    singular="validatingadmissionpolicybinding",
    kind="ValidatingAdmissionPolicyBinding",
    namespaced=False,
    categories=("api-extensions",),
    key_prefix="validatingadmissionpolicybindings",
    storage_version="v1",
    versions=(
        ResourceVersion(
            name="v1", schema=_SCHEMA, message=_MESSAGE, columns=(NAME, POLICY_NAME_COLUMN, PARAM_REF_COLUMN, AGE)
        ),
    ),
    strategy=Strategy(
        default=_default,
        prepare_for_create=count_from_one,
        prepare_for_update=counting("spec"),
        validate=_validate,
        validate_update=_validate_update,
        validate_name=name_is_dns_subdomain,
        unconditional_update=False,
    ),
)
