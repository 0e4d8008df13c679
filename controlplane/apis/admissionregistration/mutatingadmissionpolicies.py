"""Mutating admission policies: expressions that change what a request writes.

Source: the behaviour of kubernetes' admissionregistration.k8s.io/v1 MutatingAdmissionPolicy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from controlplane.apimachinery.codec.messages import message_of
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.resource import Column, Resource, ResourceVersion, Strategy
from controlplane.apimachinery.schema.native import array, pointer, record, string
from controlplane.apimachinery.validation.field import FieldError, invalid, not_supported, required
from controlplane.apimachinery.validation.metadata import validate_object_meta
from controlplane.apimachinery.validation.names import name_is_dns_subdomain
from controlplane.apis.admissionregistration.conditions import MATCH_CONDITIONS, load_expressions
from controlplane.apis.admissionregistration.matching import GROUP, default_matching, match_resources
from controlplane.apis.admissionregistration.policies import (
    FAILURE_POLICY,
    MUTATING_STORED_AS,
    PARAM_KIND,
    PARAM_KIND_COLUMN,
    POLICY_NUMBERS,
    VARIABLE,
    policy_compiler,
    validate_expression,
    validate_policy_scope,
    validate_variables,
)
from controlplane.apis.changes import count_from_one, counting
from controlplane.apis.columns import AGE, NAME

if TYPE_CHECKING:
    from controlplane.apis.admissionregistration.expressions import Compiler

__all__ = ["MUTATING_ADMISSION_POLICIES"]

OPERATIONS = ("*", "CONNECT", "CREATE", "UPDATE")
"""What is deleted cannot be changed."""
REINVOCATION_POLICIES = ("IfNeeded", "Never")
_PATCHES = {"ApplyConfiguration": "applyConfiguration", "JSONPatch": "jsonPatch"}
"""Types of patches, each with the field that holds it."""

_MUTATION = record(
    {
        "patchType": string("ApplyConfiguration or JSONPatch.", go_type="v1.PatchType"),
        "applyConfiguration": pointer(
            record(
                {
                    "expression": string(
                        "An expression in CEL that gives an Object, which is applied as a server-side apply."
                    )
                },
                "Of mutations of type ApplyConfiguration.",
                go_type="v1.ApplyConfiguration",
            )
        ),
        "jsonPatch": pointer(
            record(
                {"expression": string("An expression in CEL that gives a list of JSONPatch operations.")},
                "Of mutations of type JSONPatch.",
                go_type="v1.JSONPatch",
            )
        ),
    },
    "One change.",
    go_type="v1.Mutation",
    required=("patchType",),
)

_SCHEMA = record(
    {
        "spec": record(
            {
                "paramKind": PARAM_KIND,
                "matchConstraints": match_resources("Which requests the policy is for."),
                "variables": array(VARIABLE, "Values that expressions may use."),
                "mutations": array(_MUTATION, "The changes, one after the other."),
                "failurePolicy": FAILURE_POLICY,
                "matchConditions": MATCH_CONDITIONS,
                "reinvocationPolicy": string(
                    "Never, or IfNeeded: once more when others have changed the object after it.",
                    go_type="v1.ReinvocationPolicyType",
                ),
            },
            "What is changed in which requests.",
            go_type="v1.MutatingAdmissionPolicySpec",
        )
    },
    "Expressions that change what a request writes.",
    go_type="v1.MutatingAdmissionPolicy",
)

_MESSAGE = message_of(
    _SCHEMA,
    {
        "MutatingAdmissionPolicy": "metadata spec",
        "MutatingAdmissionPolicySpec": (
            "paramKind matchConstraints variables mutations failurePolicy matchConditions reinvocationPolicy"
        ),
        "Mutation": "- patchType applyConfiguration jsonPatch",
        "ApplyConfiguration": "expression",
        "JSONPatch": "expression",
        **POLICY_NUMBERS,
    },
)


def _default(obj: Obj) -> None:
    obj["spec"].setdefault("failurePolicy", "Fail")
    default_matching(obj["spec"].get("matchConstraints"))


def _validate(obj: Obj, old: Obj | None = None) -> list[FieldError]:
    errors = validate_object_meta(obj["metadata"], namespaced=False, validate_name=name_is_dns_subdomain)
    spec = obj["spec"]
    errors += validate_policy_scope(spec, old and old["spec"], operations=OPERATIONS)
    compiler = policy_compiler(spec)
    errors += validate_variables(spec.get("variables") or [], "spec.variables", compiler)
    mutations = spec.get("mutations") or []
    if not mutations:
        errors.append(required("spec.mutations", "mutations must contain at least one item"))
    for i, mutation in enumerate(mutations):
        errors += _validate_mutation(mutation, f"spec.mutations[{i}]", compiler)
    policy = spec.get("reinvocationPolicy")
    if not policy:
        errors.append(required("spec.reinvocationPolicy"))
    elif policy not in REINVOCATION_POLICIES:
        errors.append(not_supported("spec.reinvocationPolicy", policy, REINVOCATION_POLICIES))
    return errors


def _validate_mutation(mutation: Obj, path: str, compiler: Compiler) -> list[FieldError]:
    type_ = mutation["patchType"]
    if not type_:
        return [required(f"{path}.patchType")]
    if type_ not in _PATCHES:
        return [not_supported(f"{path}.patchType", type_, list(_PATCHES))]
    field = _PATCHES[type_]
    patch = mutation.get(field)
    if patch is None:
        errors = [required(f"{path}.{field}", f"must be specified when patchType is {type_}")]
    else:
        expression, at = patch.get("expression") or "", f"{path}.{field}.expression"
        errors = validate_expression(expression, at)
        errors = errors or compiler.mutation(expression, applies=field == "applyConfiguration").errors(at)
    for other in _PATCHES.values():
        if other != field and mutation.get(other) is not None:
            why = f"must not be specified when patchType is {type_}"
            errors.append(invalid(f"{path}.{other}", f"{{{other}}}", why))
    return errors


def _count(obj: Obj) -> Any:
    return len((obj.get("spec") or {}).get("mutations") or ())


MUTATING_ADMISSION_POLICIES = Resource(
    group=GROUP,
    plural="mutatingadmissionpolicies",
    singular="mutatingadmissionpolicy",
    kind="MutatingAdmissionPolicy",
    namespaced=False,
    categories=("api-extensions",),
    key_prefix="mutatingadmissionpolicies",
    storage_version=MUTATING_STORED_AS,
    versions=(
        ResourceVersion(
            name="v1",
            schema=_SCHEMA,
            message=_MESSAGE,
            columns=(
                NAME,
                Column(name="Mutations", cell=_count, type="integer", description="How many changes it makes."),
                PARAM_KIND_COLUMN,
                AGE,
            ),
        ),
        ResourceVersion(name=MUTATING_STORED_AS, schema=_SCHEMA, served=False),
    ),
    strategy=Strategy(
        default=_default,
        prepare_for_create=count_from_one,
        prepare_for_update=counting("spec"),
        validate=_validate,
        validate_update=_validate,
        validate_name=name_is_dns_subdomain,
        load=load_expressions,
        unconditional_update=False,
    ),
)
