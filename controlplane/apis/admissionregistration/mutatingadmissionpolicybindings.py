"""Bindings of mutating admission policies: they put a policy into effect, with parameters, for some of its requests.

Source: the behaviour of kubernetes' admissionregistration.k8s.io/v1 MutatingAdmissionPolicyBinding.
"""

from __future__ import annotations

from controlplane.apimachinery.codec.messages import message_of
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.resource import Resource, ResourceVersion, Strategy
from controlplane.apimachinery.schema.native import record
from controlplane.apimachinery.validation.field import FieldError
from controlplane.apimachinery.validation.metadata import validate_object_meta
from controlplane.apimachinery.validation.names import name_is_dns_subdomain
from controlplane.apis.admissionregistration.matching import GROUP, default_matching
from controlplane.apis.admissionregistration.policies import (
    BINDING_NUMBERS,
    MUTATING_STORED_AS,
    PARAM_REF_COLUMN,
    POLICY_NAME_COLUMN,
    binding_fields,
    validate_binding_spec,
)
from controlplane.apis.changes import count_from_one, counting
from controlplane.apis.columns import AGE, NAME

__all__ = ["MUTATING_ADMISSION_POLICY_BINDINGS"]

_SCHEMA = record(
    {
        "spec": record(
            binding_fields(),
            "Which policy is bound, with which parameters, for what.",
            go_type="v1.MutatingAdmissionPolicyBindingSpec",
        )
    },
    "Puts a policy into effect.",
    go_type="v1.MutatingAdmissionPolicyBinding",
)

_MESSAGE = message_of(
    _SCHEMA,
    {
        "MutatingAdmissionPolicyBinding": "metadata spec",
        "MutatingAdmissionPolicyBindingSpec": "policyName paramRef matchResources",
        **BINDING_NUMBERS,
    },
)


def _default(obj: Obj) -> None:
    default_matching(obj["spec"].get("matchResources"))


def _validate(obj: Obj) -> list[FieldError]:
    errors = validate_object_meta(obj["metadata"], namespaced=False, validate_name=name_is_dns_subdomain)
    return errors + validate_binding_spec(obj["spec"])


def _validate_update(obj: Obj, _old: Obj) -> list[FieldError]:
    return _validate(obj)


MUTATING_ADMISSION_POLICY_BINDINGS = Resource(
    group=GROUP,
    plural="mutatingadmissionpolicybindings",
    singular="mutatingadmissionpolicybinding",
    kind="MutatingAdmissionPolicyBinding",
    namespaced=False,
    categories=("api-extensions",),
    key_prefix="mutatingadmissionpolicybindings",
    storage_version=MUTATING_STORED_AS,
    versions=(
        ResourceVersion(
            name="v1", schema=_SCHEMA, message=_MESSAGE, columns=(NAME, POLICY_NAME_COLUMN, PARAM_REF_COLUMN, AGE)
        ),
        ResourceVersion(name=MUTATING_STORED_AS, schema=_SCHEMA, served=False),
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
