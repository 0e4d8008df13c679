"""Admission policies of both kinds and their bindings, as the recorded reference answers have them."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.apimachinery.identity import Obj
from controlplane.apis.admissionregistration.mutatingadmissionpolicies import MUTATING_ADMISSION_POLICIES
from controlplane.apis.admissionregistration.mutatingadmissionpolicybindings import MUTATING_ADMISSION_POLICY_BINDINGS
from controlplane.apis.admissionregistration.validatingadmissionpolicies import VALIDATING_ADMISSION_POLICIES
from controlplane.apis.admissionregistration.validatingadmissionpolicybindings import (
    VALIDATING_ADMISSION_POLICY_BINDINGS,
)
from tests.unit.apis.kinds import Kind

VALIDATING, MUTATING = Kind(VALIDATING_ADMISSION_POLICIES), Kind(MUTATING_ADMISSION_POLICIES)
VALIDATING_BINDING = Kind(VALIDATING_ADMISSION_POLICY_BINDINGS)
MUTATING_BINDING = Kind(MUTATING_ADMISSION_POLICY_BINDINGS)
RULE = {"apiGroups": [""], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["configmaps"]}
MATCH = {"resourceRules": [RULE]}
FILLED_IN = {
    "matchPolicy": "Equivalent",
    "namespaceSelector": {},
    "objectSelector": {},
    "resourceRules": [{**RULE, "scope": "*"}],
}


def policy(**fields: Any) -> Obj:
    return {"matchConstraints": MATCH, "validations": [{"expression": "true"}], **fields}


def test_a_validating_policy() -> None:
    obj = VALIDATING.created(spec=policy(), status={"observedGeneration": 3})
    assert obj["spec"] == {**policy(), "failurePolicy": "Fail", "matchConstraints": FILLED_IN}
    assert (obj["metadata"]["generation"], obj["status"]) == (1, {})
    changed, errors = VALIDATING.changed(obj, spec=policy(failurePolicy="Ignore"), status={"observedGeneration": 9})
    assert (changed["metadata"]["generation"], changed["status"], errors) == (2, {}, [])
    assert VALIDATING.row(obj) == {"Name": "a", "Validations": 1, "ParamKind": "<unset>", "Age": "60s"}
    obj["spec"]["paramKind"] = {"apiVersion": "v1", "kind": "ConfigMap"}
    assert VALIDATING.row(obj)["ParamKind"] == "v1/ConfigMap"


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        (
            {},
            [
                "spec.matchConstraints: Required value",
                "spec.validations: Required value: validations or auditAnnotations must contain at least one item",
                "spec.auditAnnotations: Required value: validations or auditAnnotations must contain at least one item",
            ],
        ),
        (policy(matchConstraints={}), ["spec.matchConstraints.resourceRules: Required value"]),
        (
            policy(matchConstraints={"resourceRules": [{**RULE, "resourceNames": ["a", "a", "b/c"]}]}),
            [
                'spec.matchConstraints.resourceRules[0].resourceNames[1]: Duplicate value: "a"',
                "spec.matchConstraints.resourceRules[0].resourceNames[2]: Invalid value: \"b/c\": may not contain '/'",
            ],
        ),
        (
            policy(failurePolicy="Maybe", paramKind={"apiVersion": "a/b/c"}),
            [
                'spec.failurePolicy: Unsupported value: "Maybe": supported values: "Fail", "Ignore"',
                'spec.paramKind.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
                "spec.paramKind.kind: Required value",
            ],
        ),
        (
            policy(
                validations=[
                    {"expression": "true", "message": " ", "reason": "Teapot"},
                    {"expression": "true", "message": "a\nb", "messageExpression": " "},
                    {"expression": "1 ==\n1"},
                    {"expression": ""},
                ]
            ),
            [
                'spec.validations[0].message: Invalid value: " ": must be non-empty if specified',
                (
                    'spec.validations[0].reason: Unsupported value: "Teapot": supported values: "Forbidden", '
                    '"Invalid", '
                    '"RequestEntityTooLarge"'
                ),
                'spec.validations[1].messageExpression: Invalid value: " ": must be non-empty if specified',
                'spec.validations[1].message: Invalid value: "a\\nb": must not contain line breaks',
                "spec.validations[3].expression: Required value: expression is not specified",
            ],
        ),
        (
            policy(variables=[{"name": "bad-name", "expression": "1"}, {"name": "in"}, {}]),
            [
                'spec.variables[0].name: Invalid value: "bad-name": must be a valid CEL identifier',
                'spec.variables[1].name: Invalid value: "in": must be a valid CEL identifier',
                "spec.variables[1].expression: Required value: expression is not specified",
                "spec.variables[2].name: Required value: name is not specified",
                "spec.variables[2].expression: Required value: expression is not specified",
            ],
        ),
        (
            policy(auditAnnotations=[{"key": "a", "valueExpression": "'x'"}, {"key": "a", "valueExpression": ""}]),
            [
                "spec.auditAnnotations[1].valueExpression: Required value: valueExpression is not specified",
                'spec.auditAnnotations[1].key: Duplicate value: "a"',
            ],
        ),
    ],
)
def test_validating_policies(spec: Obj, errors: list[str]) -> None:
    assert VALIDATING.refused(spec=spec) == errors


def test_param_kinds() -> None:
    for param_kind, start in (
        ({"apiVersion": "A/v1", "kind": "X"}, 'spec.paramKind.apiVersion: Invalid value: "A": a lowercase RFC 1123'),
        ({"apiVersion": "a/1", "kind": "X"}, 'spec.paramKind.apiVersion: Invalid value: "1": a DNS-1035 label'),
        (
            {"apiVersion": "v1", "kind": "Bad Kind"},
            (
                'spec.paramKind.kind: Invalid value: "Bad Kind": may have mixed case, but should otherwise match: a '
                "DNS-1035"
            ),
        ),
    ):
        [error] = VALIDATING.refused(spec=policy(paramKind=param_kind))
        assert error.startswith(start)
    assert VALIDATING.refused(spec=policy(paramKind={"kind": "X"})) == ["spec.paramKind.apiVersion: Required value"]


def test_audit_annotations_are_bounded() -> None:
    many = [{"key": f"k{i}", "valueExpression": "'x'"} for i in range(21)]
    [error] = VALIDATING.refused(spec=policy(auditAnnotations=many))
    assert error.endswith(": must not have more than 20 auditAnnotations")
    long = [{"key": "k", "valueExpression": "x" * 5121}]
    assert VALIDATING.refused(spec=policy(auditAnnotations=long)) == [
        "spec.auditAnnotations[0].valueExpression: Required value: must not exceed 5120 bytes in length"
    ]
    [error] = VALIDATING.refused(spec=policy(auditAnnotations=[{"key": "b/c", "valueExpression": "'x'"}]))
    assert error.startswith('spec.auditAnnotations[0].key: Invalid value: "a/b/c": a valid label key must consist of')


@pytest.mark.parametrize("kind", [VALIDATING, MUTATING])
def test_match_conditions_are_judged_again_only_if_they_or_the_parameters_change(kind: Kind) -> None:
    """What an earlier version let pass does not stand in the way of other changes."""
    condition = {"name": "c", "expression": "params.a == 1"}
    fields = policy() if kind is VALIDATING else mutating(APPLY)
    old = kind.created(spec={**fields, "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}})
    old["spec"]["matchConditions"] = [condition]
    del old["spec"]["paramKind"]
    assert kind.changed(old, spec={**fields, "matchConditions": [condition], "failurePolicy": "Ignore"})[1] == []
    [error] = kind.changed(old, spec={**fields, "matchConditions": [{**condition, "name": "d"}]})[1]
    assert "undeclared reference to 'params'" in error


def test_status_of_a_validating_policy() -> None:
    old = VALIDATING.created(spec=policy())
    condition = {"type": "Ready", "status": "True", "reason": "Fine", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    good = {
        "typeChecking": {"expressionWarnings": [{"fieldRef": "spec.x", "warning": "w"}]},
        "conditions": [{**condition, "message": ""}],
    }
    changed, errors = VALIDATING.changed(
        old, subresource="status", spec={}, status=good, metadata={"labels": {"a": "b"}}
    )
    assert (changed["spec"], changed["status"], errors) == (old["spec"], good, [])
    assert "labels" not in changed["metadata"]
    bad = {
        "typeChecking": {"expressionWarnings": [{}]},
        "conditions": [
            {"type": "Ready", "observedGeneration": -1},
            {**condition, "status": "Maybe", "reason": "no!"},
            {**condition, "type": "", "message": ""},
        ],
    }
    astray = {"typeChecking": {"expressionWarnings": [{"fieldRef": "spec.validations[0].expression", "warning": " "}]}}
    assert VALIDATING.changed(old, subresource="status", spec={}, status=astray)[1] == []
    astray["typeChecking"]["expressionWarnings"][0]["fieldRef"] = "spec[foo]"
    [error] = VALIDATING.changed(old, subresource="status", spec={}, status=astray)[1]
    path = "status.typeChecking.expressionWarnings[0].fieldRef"
    assert error.startswith(f'{path}: Invalid value: "spec[foo]": invalid JSONPath: ')
    *found, reason, nameless, malformed = VALIDATING.changed(old, subresource="status", spec={}, status=bad)[1]
    statuses = 'supported values: "False", "True", "Unknown"'
    assert found == [
        "status.typeChecking.expressionWarnings[0].warning: Required value",
        "status.typeChecking.expressionWarnings[0].fieldRef: Required value",
        f'status.conditions[0].status: Unsupported value: "": {statuses}',
        "status.conditions[0].observedGeneration: Invalid value: -1: must be greater than or equal to zero",
        "status.conditions[0].lastTransitionTime: Required value",
        "status.conditions[0].reason: Required value",
        'status.conditions[1].type: Duplicate value: "Ready"',
        f'status.conditions[1].status: Unsupported value: "Maybe": {statuses}',
    ]
    assert nameless == 'status.conditions[2].type: Invalid value: "": name part must be non-empty'
    assert malformed.startswith('status.conditions[2].type: Invalid value: "": name part must consist of')
    assert reason.startswith('status.conditions[1].reason: Invalid value: "no!": a condition reason must start with')


def mutating(*mutations: Obj, **fields: Any) -> Obj:
    return {"matchConstraints": MATCH, "mutations": list(mutations), "reinvocationPolicy": "Never", **fields}


APPLY = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}}


def test_a_mutating_policy() -> None:
    obj = MUTATING.created(spec=mutating(APPLY))
    assert obj["spec"] == {**mutating(APPLY), "failurePolicy": "Fail", "matchConstraints": FILLED_IN}
    changed, errors = MUTATING.changed(obj, spec=mutating(APPLY, reinvocationPolicy="IfNeeded"))
    assert (changed["metadata"]["generation"], errors) == (2, [])
    assert MUTATING.row(obj) == {"Name": "a", "Mutations": 1, "ParamKind": "<unset>", "Age": "60s"}
    assert MUTATING.resource.subresources == ()


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        (
            {},
            [
                "spec.matchConstraints: Required value",
                "spec.mutations: Required value: mutations must contain at least one item",
                "spec.reinvocationPolicy: Required value",
            ],
        ),
        (
            mutating(
                {"patchType": "Magic"},
                {"patchType": "JSONPatch"},
                {"patchType": "ApplyConfiguration", "jsonPatch": {"expression": "[]"}},
                {},
                {"patchType": "JSONPatch", "jsonPatch": {"expression": ""}},
                reinvocationPolicy="Twice",
            ),
            [
                (
                    'spec.mutations[0].patchType: Unsupported value: "Magic": supported values: "ApplyConfiguration", '
                    '"JSONPatch"'
                ),
                "spec.mutations[1].jsonPatch: Required value: must be specified when patchType is JSONPatch",
                (
                    "spec.mutations[2].applyConfiguration: Required value: must be specified when patchType is "
                    "ApplyConfiguration"
                ),
                (
                    'spec.mutations[2].jsonPatch: Invalid value: "{jsonPatch}": must not be specified when patchType '
                    "is "
                    "ApplyConfiguration"
                ),
                "spec.mutations[3].patchType: Required value",
                "spec.mutations[4].jsonPatch.expression: Required value: expression is not specified",
                'spec.reinvocationPolicy: Unsupported value: "Twice": supported values: "IfNeeded", "Never"',
            ],
        ),
        (
            mutating(APPLY, matchConstraints={"resourceRules": [{**RULE, "operations": ["DELETE"]}]}),
            [
                (
                    'spec.matchConstraints.resourceRules.operations: Unsupported value: "DELETE": supported values: '
                    '"*", '
                    '"CONNECT", "CREATE", "UPDATE"'
                )
            ],
        ),
    ],
)
def test_mutating_policies(spec: Obj, errors: list[str]) -> None:
    assert MUTATING.refused(spec=spec) == errors


def bound(**fields: Any) -> Obj:
    return {"policyName": "p", "validationActions": ["Deny"], **fields}


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        (
            {},
            [
                "spec.policyName: Required value",
                "spec.validationActions: Required value: at least one validation action is required",
            ],
        ),
        (
            bound(validationActions=["Deny", "Warn"]),
            [
                (
                    'spec.validationActions: Invalid value: ["Deny","Warn"]: must not contain both Deny and Warn '
                    "(repeating "
                    "the same validation failure information in the API response and headers serves no purpose)"
                )
            ],
        ),
        (bound(validationActions=["Deny", "Deny"]), ['spec.validationActions[1]: Duplicate value: "Deny"']),
        (
            bound(validationActions=["Shout"]),
            ['spec.validationActions[0]: Unsupported value: "Shout": supported values: "Audit", "Deny", "Warn"'],
        ),
        (
            bound(paramRef={}),
            [
                "spec.paramRef: Required value: one of name or selector must be specified",
                "spec.paramRef.parameterNotFoundAction: Required value",
            ],
        ),
        (
            bound(paramRef={"name": "a", "selector": {}, "parameterNotFoundAction": "Deny"}),
            [
                "spec.paramRef.name: Forbidden: name and selector are mutually exclusive",
                "spec.paramRef.selector: Forbidden: name and selector are mutually exclusive",
            ],
        ),
        (
            bound(paramRef={"name": "a", "parameterNotFoundAction": "Shrug"}),
            ['spec.paramRef.parameterNotFoundAction: Unsupported value: "Shrug": supported values: "Deny", "Allow"'],
        ),
        (
            bound(matchResources={"matchPolicy": "Sometimes"}),
            [
                (
                    'spec.matchResources.matchPolicy: Unsupported value: "Sometimes": supported values: "Equivalent", '
                    '"Exact"'
                )
            ],
        ),
    ],
)
def test_bindings(spec: Obj, errors: list[str]) -> None:
    assert VALIDATING_BINDING.refused(spec=spec) == errors


def test_bindings_of_mutating_policies_have_no_actions() -> None:
    assert MUTATING_BINDING.refused(spec={}) == ["spec.policyName: Required value"]
    obj = MUTATING_BINDING.created(spec={"policyName": "p", "matchResources": MATCH})
    assert obj["spec"]["matchResources"] == FILLED_IN
    assert MUTATING_BINDING.changed(obj, spec={"policyName": "q"})[0]["metadata"]["generation"] == 2


@pytest.mark.parametrize(
    ("param_ref", "shown"),
    [
        (None, "<unset>"),
        ({"name": "a"}, "a"),
        ({"name": "a", "namespace": "n"}, "n/a"),
        (
            {
                "selector": {
                    "matchLabels": {"b": "1", "a": "2"},
                    "matchExpressions": [{"key": "k", "operator": "In", "values": ["x", "y"]}],
                }
            },
            (
                "&LabelSelector{MatchLabels:map[string]string{a: 2,b: 1,},MatchExpressions:[]LabelSelectorRequirement{"
                "LabelSelectorRequirement{Key:k,Operator:In,Values:[x y],},},}"
            ),
        ),
    ],
)
def test_columns_of_bindings(param_ref: Obj | None, shown: str) -> None:
    spec = bound(paramRef={**param_ref, "parameterNotFoundAction": "Allow"} if param_ref else None)
    for kind in (VALIDATING_BINDING, MUTATING_BINDING):
        spec.pop("validationActions" if kind is MUTATING_BINDING else "", None)
        row = kind.row(kind.created(spec=spec))
        assert row == {"Name": "a", "PolicyName": "p", "ParamRef": shown, "Age": "60s"}
        assert kind.resource.categories == ("api-extensions",)


def test_what_changes_requests_is_stored_for_the_release_before() -> None:
    """The hashes of v1beta1 for what came as v1 with 1.36; the others have had their v1 for long."""
    assert MUTATING_ADMISSION_POLICIES.storage_version_hash() == "LYmCf+UMVdg="
    assert MUTATING_ADMISSION_POLICY_BINDINGS.storage_version_hash() == "90V5FRZZ3Zg="
    assert VALIDATING_ADMISSION_POLICIES.storage_version_hash() == "6OxvlMmQ6is="
    assert [v.name for v in MUTATING_ADMISSION_POLICIES.versions if v.served] == ["v1"]
