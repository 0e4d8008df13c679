"""Validating admission policies: expressions that say whether a request may be.

Source: the behaviour of kubernetes' admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from controlplane.apimachinery import meta
from controlplane.apimachinery.codec.messages import message_of
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.jsonpath import JSONPath, JSONPathError
from controlplane.apimachinery.resource import Column, Resource, ResourceVersion, Strategy, Subresource
from controlplane.apimachinery.schema.native import array, integer, pointer, record, string
from controlplane.apimachinery.validation.field import FieldError, duplicate, invalid, required
from controlplane.apimachinery.validation.metadata import validate_object_meta
from controlplane.apimachinery.validation.names import name_is_dns_subdomain, qualified_name
from controlplane.apis.admissionregistration.conditions import MATCH_CONDITIONS, load_expressions
from controlplane.apis.admissionregistration.matching import GROUP, default_matching, match_resources, validate_one_of
from controlplane.apis.admissionregistration.policies import (
    FAILURE_POLICY,
    PARAM_KIND,
    PARAM_KIND_COLUMN,
    POLICY_NUMBERS,
    VARIABLE,
    policy_compiler,
    validate_expression,
    validate_policy_scope,
    validate_variables,
)
from controlplane.apis.changes import clear, count_from_one, counting, keep, keep_metadata
from controlplane.apis.columns import AGE, NAME
from controlplane.apis.conditions import CONDITION_NUMBERS, CONDITIONS, validate_conditions
from controlplane.apis.printed import as_printed

if TYPE_CHECKING:
    from controlplane.apis.admissionregistration.expressions import Compiler

__all__ = ["VALIDATING_ADMISSION_POLICIES"]

REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
MOST_AUDIT_ANNOTATIONS = 20
LONGEST_VALUE_EXPRESSION_BYTES = 5 * 1024

_VALIDATION = record(
    {
        "expression": string("An expression in CEL that gives whether the request may be."),
        "message": string("What to say if it may not; one line."),
        "reason": pointer(
            string("Forbidden, Invalid, which is taken, or RequestEntityTooLarge.", go_type="v1.StatusReason")
        ),
        "messageExpression": string("An expression in CEL that gives what to say; goes before message."),
    },
    "One thing that must hold.",
    go_type="v1.Validation",
    required=("expression",),
)

_AUDIT_ANNOTATION = record(
    {
        "key": string("The annotation's key, below the policy's name."),
        "valueExpression": string("An expression in CEL that gives its value, or null for none."),
    },
    "An annotation of the audit event of a request.",
    go_type="v1.AuditAnnotation",
    required=("key", "valueExpression"),
)

_WARNING = record(
    {
        "fieldRef": string("Which expression: spec.validations[0].expression."),
        "warning": string("What is wrong with it, for people."),
    },
    "Something wrong with the types in an expression.",
    go_type="v1.ExpressionWarning",
    required=("fieldRef", "warning"),
)

_SCHEMA = record(
    {
        "spec": record(
            {
                "paramKind": PARAM_KIND,
                "matchConstraints": match_resources("Which requests the policy is for."),
                "validations": array(_VALIDATION, "What must hold."),
                "failurePolicy": FAILURE_POLICY,
                "auditAnnotations": array(_AUDIT_ANNOTATION, "What is written into the audit log."),
                "matchConditions": MATCH_CONDITIONS,
                "variables": array(VARIABLE, "Values that expressions may use.", key=("name",), merge_key="name"),
            },
            "What must hold of which requests.",
            go_type="v1.ValidatingAdmissionPolicySpec",
        ),
        "status": record(
            {
                "observedGeneration": integer("The generation that the status is of.", bits=64),
                "typeChecking": pointer(
                    record(
                        {"expressionWarnings": array(_WARNING, "What was found, if anything.")},
                        "What was found when the expressions' types were checked.",
                        go_type="v1.TypeChecking",
                    )
                ),
                "conditions": CONDITIONS,
            },
            "How the policy does.",
            go_type="v1.ValidatingAdmissionPolicyStatus",
        ),
    },
    "Expressions that say whether a request may be.",
    go_type="v1.ValidatingAdmissionPolicy",
)

_MESSAGE = message_of(
    _SCHEMA,
    {
        "ValidatingAdmissionPolicy": "metadata spec status",
        "ValidatingAdmissionPolicySpec": (
            "paramKind matchConstraints validations failurePolicy auditAnnotations matchConditions variables"
        ),
        "Validation": "expression message reason messageExpression",
        "AuditAnnotation": "key valueExpression",
        "ValidatingAdmissionPolicyStatus": "observedGeneration typeChecking conditions",
        "TypeChecking": "expressionWarnings",
        "ExpressionWarning": "- fieldRef warning",
        **POLICY_NUMBERS,
        **CONDITION_NUMBERS,
    },
)


def _default(obj: Obj) -> None:
    obj["spec"].setdefault("failurePolicy", "Fail")
    default_matching(obj["spec"].get("matchConstraints"))


def _prepare_for_create(obj: Obj) -> None:
    clear(obj)
    count_from_one(obj)


def _prepare_for_update(obj: Obj, old: Obj) -> None:
    keep("status")(obj, old)
    counting("spec")(obj, old)


def _prepare_status(obj: Obj, old: Obj) -> None:
    keep("spec")(obj, old)
    keep_metadata(obj, old)


def _validate(obj: Obj, old: Obj | None = None) -> list[FieldError]:
    errors = validate_object_meta(obj["metadata"], namespaced=False, validate_name=name_is_dns_subdomain)
    spec = obj["spec"]
    errors += validate_policy_scope(spec, old and old["spec"])
    compiler = policy_compiler(spec)
    errors += validate_variables(spec.get("variables") or [], "spec.variables", compiler)
    validations, annotations = spec.get("validations") or [], spec.get("auditAnnotations") or []
    if not validations and not annotations:
        why = "validations or auditAnnotations must contain at least one item"
        return [*errors, required("spec.validations", why), required("spec.auditAnnotations", why)]
    for i, validation in enumerate(validations):
        errors += _validate_validation(validation, f"spec.validations[{i}]", compiler)
    return errors + _validate_annotations(annotations, meta.name(obj), "spec.auditAnnotations", compiler)


def _validate_validation(validation: Obj, path: str, compiler: Compiler) -> list[FieldError]:
    at = f"{path}.expression"
    errors = validate_expression(validation["expression"], at)
    errors = errors or compiler.condition(validation["expression"]).errors(at)
    expression, message = validation.get("messageExpression") or "", validation.get("message") or ""
    if expression and not expression.strip():
        errors.append(invalid(f"{path}.messageExpression", expression, "must be non-empty if specified"))
    elif expression:
        errors += compiler.message(expression).errors(f"{path}.messageExpression")
    if message and not message.strip():
        errors.append(invalid(f"{path}.message", message, "must be non-empty if specified"))
    elif "\n" in message.strip() or "\r" in message.strip():
        errors.append(invalid(f"{path}.message", message, "must not contain line breaks"))
    return errors + validate_one_of(validation.get("reason"), f"{path}.reason", REASONS)


def _validate_annotations(annotations: list[Obj], policy: str, path: str, compiler: Compiler) -> list[FieldError]:
    errors: list[FieldError] = []
    if len(annotations) > MOST_AUDIT_ANNOTATIONS:
        why = f"must not have more than {MOST_AUDIT_ANNOTATIONS} auditAnnotations"
        shown = [as_printed(annotation, _AUDIT_ANNOTATION) for annotation in annotations]
        errors.append(invalid(path, shown, why))
    seen: set[str] = set()
    for i, annotation in enumerate(annotations):
        key, expression, at = annotation["key"], annotation["valueExpression"], f"{path}[{i}]"
        if policy:
            full = f"{policy}/{key}"
            errors += [invalid(f"{at}.key", full, problem) for problem in qualified_name(full)]
        else:
            errors.append(invalid(f"{at}.key", key, "requires metadata.name be non-empty"))
        if not expression.strip():
            errors.append(required(f"{at}.valueExpression", "valueExpression is not specified"))
        elif len(expression.strip().encode()) > LONGEST_VALUE_EXPRESSION_BYTES:
            why = f"must not exceed {LONGEST_VALUE_EXPRESSION_BYTES} bytes in length"
            errors.append(required(f"{at}.valueExpression", why))
        else:
            compiled = compiler.annotation(expression.strip())._replace(source=expression)
            errors += compiled.errors(f"{at}.valueExpression")
        if key in seen:
            errors.append(duplicate(f"{at}.key", key))
        seen.add(key)
    return errors


def _validate_status_update(obj: Obj, _old: Obj) -> list[FieldError]:
    status = obj["status"]
    warnings = (status.get("typeChecking") or {}).get("expressionWarnings") or []
    errors: list[FieldError] = []
    for i, warning in enumerate(warnings):
        path = f"status.typeChecking.expressionWarnings[{i}]"
        if not warning["warning"]:
            errors.append(required(f"{path}.warning"))
        errors += _validate_field_ref(warning["fieldRef"].strip(), f"{path}.fieldRef")
    return errors + validate_conditions(status.get("conditions") or [], "status.conditions")


def _validate_field_ref(reference: str, path: str) -> list[FieldError]:
    if not reference:
        return [required(path)]
    try:
        JSONPath(reference if reference[0] in ".[" else f".{reference}")
    except JSONPathError as error:
        return [invalid(path, reference, f"invalid JSONPath: {error}")]
    return []


def _count(obj: Obj) -> Any:
    return len((obj.get("spec") or {}).get("validations") or ())


VALIDATING_ADMISSION_POLICIES = Resource(
    group=GROUP,
    plural="validatingadmissionpolicies",
    singular="validatingadmissionpolicy",
    kind="ValidatingAdmissionPolicy",
    namespaced=False,
    categories=("api-extensions",),
    key_prefix="validatingadmissionpolicies",
    storage_version="v1",
    versions=(
        ResourceVersion(
            name="v1",
            schema=_SCHEMA,
            message=_MESSAGE,
            columns=(
                NAME,
                Column(name="Validations", cell=_count, type="integer", description="How many things must hold."),
                PARAM_KIND_COLUMN,
                AGE,
            ),
        ),
    ),
    strategy=Strategy(
        default=_default,
        prepare_for_create=_prepare_for_create,
        prepare_for_update=_prepare_for_update,
        validate=_validate,
        validate_update=_validate,
        validate_name=name_is_dns_subdomain,
        load=load_expressions,
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
