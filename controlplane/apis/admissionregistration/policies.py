"""What policies of both kinds have in common: parameters, variables, what they are for; and their bindings.

Expressions are kept as they are given; that they compile is checked when they are.

Source: the behaviour of kubernetes' admissionregistration.k8s.io/v1 policies and bindings.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from controlplane.apimachinery.identity import GroupVersion, Obj
from controlplane.apimachinery.resource import Column
from controlplane.apimachinery.schema.native import pointer, record, string
from controlplane.apimachinery.validation.field import FieldError, forbidden, invalid, not_supported, required
from controlplane.apimachinery.validation.names import dns1035_label, dns1123_subdomain, path_segment_name
from controlplane.apis.admissionregistration.conditions import validate_match_conditions
from controlplane.apis.admissionregistration.matching import (
    MATCHING_NUMBERS,
    match_resources,
    validate_matching,
    validate_one_of,
)
from controlplane.apis.label_selectors import label_selector, validate_label_selector

if TYPE_CHECKING:
    from controlplane.apis.admissionregistration.expressions import Compiler

__all__ = [
    "BINDING_NUMBERS",
    "FAILURE_POLICY",
    "MUTATING_STORED_AS",
    "PARAM_KIND",
    "PARAM_KIND_COLUMN",
    "PARAM_REF_COLUMN",
    "POLICY_NAME_COLUMN",
    "POLICY_NUMBERS",
    "VARIABLE",
    "binding_fields",
    "policy_compiler",
    "validate_binding_spec",
    "validate_expression",
    "validate_policy_scope",
    "validate_variables",
]

FAILURE_POLICIES = ("Fail", "Ignore")
MUTATING_STORED_AS = "v1beta1"
"""The version in which mutating policies and their bindings are stored, and which is not served: 1.36 brought their v1,
and what is stored must be readable by the release before. Its objects are those of v1.

Source: kubernetes/apiserver ``pkg/server/storage/resource_encoding_config.go`` (``emulatedStorageVersion``).
"""
_OF_CONDITIONS = ("paramKind", "matchConditions")
"""Fields that decide whether match conditions are right."""

_IDENTIFIER = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")
_RESERVED = frozenset(
    {
        *("as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop"),
        *("namespace", "null", "package", "return", "true", "var", "void", "while"),
    }
)

FAILURE_POLICY = pointer(
    string(
        "What if an expression cannot be evaluated: Fail, which is taken, or Ignore.", go_type="v1.FailurePolicyType"
    )
)

PARAM_KIND = pointer(
    record(
        {"apiVersion": string("Group and version of the kind."), "kind": string("The kind.")},
        "The kind of the objects that hold parameters; without it the policy has none.",
        go_type="v1.ParamKind",
        atomic=True,
    )
)

VARIABLE = record(
    {
        "name": string("A CEL identifier; the value is variables.<name>."),
        "expression": string("An expression in CEL, evaluated when its value is first used."),
    },
    "A value that other expressions may use.",
    go_type="v1.Variable",
    required=("name", "expression"),
    atomic=True,
)


POLICY_NUMBERS = {**MATCHING_NUMBERS, "ParamKind": "apiVersion kind", "Variable": "name expression"}
BINDING_NUMBERS = {**MATCHING_NUMBERS, "ParamRef": "name namespace selector parameterNotFoundAction"}
"""Of the protobuf messages."""


def binding_fields() -> dict[str, Obj]:
    """The fields of a binding's spec."""
    return {
        "policyName": string("Name of the policy that is bound."),
        "paramRef": pointer(
            record(
                {
                    "name": string("Name of the object; either this or a selector."),
                    "namespace": string("Namespace of the object; empty is that of the request's object."),
                    "selector": pointer(label_selector("Objects, each of which is used by itself.")),
                    "parameterNotFoundAction": pointer(
                        string(
                            "What if there is no such object: Allow or Deny.", go_type="v1.ParameterNotFoundActionType"
                        )
                    ),
                },
                "The objects that hold the parameters.",
                go_type="v1.ParamRef",
                atomic=True,
            )
        ),
        "matchResources": match_resources("Narrows what the policy is for."),
    }


def validate_policy_scope(spec: Obj, old: Obj | None = None, *, operations: tuple[str, ...] = ()) -> list[FieldError]:
    """Failure policy, parameters, what the policy is for and its match conditions. ``old``: the spec before; conditions
    that are as they were are not judged anew. ``operations``: those allowed, if not all are."""
    errors = validate_one_of(spec.get("failurePolicy"), "spec.failurePolicy", FAILURE_POLICIES)
    if (param_kind := spec.get("paramKind")) is not None:
        errors += _validate_param_kind(param_kind, "spec.paramKind")
    constraints, path = spec.get("matchConstraints"), "spec.matchConstraints"
    if constraints is None:
        errors.append(required(path))
    else:
        errors += validate_matching(constraints, path)
        rules = constraints.get("resourceRules") or []
        if not rules:
            errors.append(required(f"{path}.resourceRules"))
        errors += [
            not_supported(f"{path}.resourceRules.operations", operation, operations)
            for rule in rules
            for operation in rule.get("operations") or ()
            if operations and operation not in operations
        ]
    conditions = spec.get("matchConditions") or []
    if old is not None and all((spec.get(field) or None) == (old.get(field) or None) for field in _OF_CONDITIONS):
        return errors
    return errors + validate_match_conditions(
        conditions, "spec.matchConditions", params=spec.get("paramKind") is not None
    )


def _validate_param_kind(param_kind: Obj, path: str) -> list[FieldError]:
    errors = _validate_api_version(param_kind.get("apiVersion") or "", f"{path}.apiVersion")
    kind = param_kind.get("kind") or ""
    if not kind:
        errors.append(required(f"{path}.kind"))
    elif problems := dns1035_label(kind.lower()):
        why = f"may have mixed case, but should otherwise match: {','.join(problems)}"
        errors.append(invalid(f"{path}.kind", kind, why))
    return errors


def _validate_api_version(api_version: str, path: str) -> list[FieldError]:
    if not api_version:
        return [required(path)]
    try:
        gv = GroupVersion.parse(api_version)
    except ValueError:
        return [invalid(path, api_version, f"unexpected GroupVersion string: {api_version}")]
    errors: list[FieldError] = []
    if gv.group and (problems := dns1123_subdomain(gv.group)):
        errors.append(invalid(path, gv.group, ",".join(problems)))
    if not gv.version:
        errors.append(invalid(path, api_version, "version must be specified"))
    elif problems := dns1035_label(gv.version):
        errors.append(invalid(path, gv.version, ",".join(problems)))
    return errors


def validate_variables(variables: list[Obj], path: str, compiler: Compiler) -> list[FieldError]:
    """Variables, each of which ``compiler`` knows from then on."""
    errors: list[FieldError] = []
    for i, variable in enumerate(variables):
        name, at = variable["name"], f"{path}[{i}]"
        if not name.strip():
            errors.append(required(f"{at}.name", "name is not specified"))
        elif not _IDENTIFIER.fullmatch(name) or name in _RESERVED:
            errors.append(invalid(f"{at}.name", name, "must be a valid CEL identifier"))
        expression = variable["expression"]
        missing = validate_expression(expression, f"{at}.expression")
        errors += missing or compiler.add_variable(name, expression).errors(f"{at}.expression")
    return errors


def validate_expression(expression: str, path: str) -> list[FieldError]:
    """Whether there is one."""
    return [] if expression.strip() else [required(path, "expression is not specified")]


def policy_compiler(spec: Obj) -> Compiler:
    """What compiles the expressions of a policy; its variables are to be added first."""
    # not loaded before there is a policy
    from controlplane.apis.admissionregistration.expressions import Compiler

    return Compiler(params=spec.get("paramKind") is not None, variables=bool(spec.get("variables")))


def validate_binding_spec(spec: Obj) -> list[FieldError]:
    errors: list[FieldError] = []
    name = spec.get("policyName") or ""
    if not name:
        errors.append(required("spec.policyName"))
    else:
        errors += [invalid("spec.policyName", name, problem) for problem in dns1123_subdomain(name)]
    if (param_ref := spec.get("paramRef")) is not None:
        errors += _validate_param_ref(param_ref, "spec.paramRef")
    if (matching := spec.get("matchResources")) is not None:
        errors += validate_matching(matching, "spec.matchResources")
    return errors


def _validate_param_ref(param_ref: Obj, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    name, selector = param_ref.get("name") or "", param_ref.get("selector")
    both = "name and selector are mutually exclusive"
    if name:
        errors += [invalid(f"{path}.name", name, problem) for problem in path_segment_name(name)]
        if selector is not None:
            errors.append(forbidden(f"{path}.name", both))
    if selector is not None:
        errors += validate_label_selector(selector, f"{path}.selector")
        if name:
            errors.append(forbidden(f"{path}.selector", both))
    if not name and selector is None:
        errors.append(required(path, "one of name or selector must be specified"))
    action = param_ref.get("parameterNotFoundAction")
    if not action:
        errors.append(required(f"{path}.parameterNotFoundAction"))
    elif action not in {"Deny", "Allow"}:
        errors.append(not_supported(f"{path}.parameterNotFoundAction", action, ["Deny", "Allow"]))
    return errors


def _spec(obj: Obj) -> Obj:
    return obj.get("spec") or {}


def _param_kind(obj: Obj) -> Any:
    kind = _spec(obj).get("paramKind")
    return "<unset>" if kind is None else f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}"


def _param_ref(obj: Obj) -> Any:
    param_ref = _spec(obj).get("paramRef")
    if param_ref is None:
        return "<unset>"
    name, namespace = param_ref.get("name"), param_ref.get("namespace")
    if name:
        return f"{namespace}/{name}" if namespace else name
    return _printed(param_ref.get("selector") or {})


def _printed(selector: Obj) -> str:
    """A label selector as Go prints it."""
    labels = "".join(f"{key}: {value}," for key, value in sorted((selector.get("matchLabels") or {}).items()))
    requirements = "".join(
        f"LabelSelectorRequirement{{Key:{r['key']},Operator:{r['operator']},"
        f"Values:[{' '.join(r.get('values') or ())}],}},"
        for r in selector.get("matchExpressions") or ()
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{requirements}}},}}"
    )


def _policy_name(obj: Obj) -> Any:
    return _spec(obj).get("policyName") or ""


PARAM_KIND_COLUMN = Column(name="ParamKind", cell=_param_kind, description="The kind of its parameters.")
POLICY_NAME_COLUMN = Column(name="PolicyName", cell=_policy_name, description="The policy that is bound.")
PARAM_REF_COLUMN = Column(name="ParamRef", cell=_param_ref, description="The objects that hold the parameters.")
