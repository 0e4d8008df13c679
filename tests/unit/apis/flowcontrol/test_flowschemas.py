"""Flow schemas, as the recorded reference answers have them."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.apimachinery.identity import Obj
from controlplane.apis.flowcontrol.flowschemas import FLOW_SCHEMAS
from controlplane.apis.flowcontrol.mandatory import MANDATORY_FLOW_SCHEMAS
from tests.unit.apis.kinds import Kind

KIND = Kind(FLOW_SCHEMAS)
LEVEL = {"priorityLevelConfiguration": {"name": "global-default"}}
RULE = "spec.rules[0]"
ALL = {"kind": "Group", "group": {"name": "*"}}
EVERYTHING = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}


def test_precedence_is_filled_in_and_changes_are_counted() -> None:
    obj = KIND.created(spec=LEVEL)
    assert obj["spec"] == {**LEVEL, "matchingPrecedence": 1000}
    assert (obj["metadata"]["generation"], obj["status"]) == (1, {})
    changed, errors = KIND.changed(obj, spec={**LEVEL, "matchingPrecedence": 500}, metadata={"generation": 7})
    assert (changed["metadata"]["generation"], errors) == (2, [])
    changed, _ = KIND.changed(obj, spec=LEVEL, metadata={"labels": {"a": "b"}})
    assert changed["metadata"]["generation"] == 1


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        ({}, ["spec.priorityLevelConfiguration.name: Required value: must reference a priority level"]),
        (
            {**LEVEL, "matchingPrecedence": 1},
            ["spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1"],
        ),
        (
            {**LEVEL, "matchingPrecedence": -1},
            ["spec.matchingPrecedence: Invalid value: -1: must be a positive value"],
        ),
        (
            {**LEVEL, "matchingPrecedence": 10001, "distinguisherMethod": {"type": "ByMood"}},
            [
                "spec.matchingPrecedence: Invalid value: 10001: must not be greater than 10000",
                (
                    'spec.distinguisherMethod.type: Unsupported value: {"Type":"ByMood"}: supported values: '
                    '"ByNamespace", '
                    '"ByUser"'
                ),
            ],
        ),
        (
            {**LEVEL, "rules": [{"subjects": [ALL], "resourceRules": [{**EVERYTHING, "namespaces": ["a.b"]}]}]},
            [
                (
                    f'{RULE}.resourceRules[0].namespaces[0]: Invalid value: "a.b": '
                    "each member of this list must be '*' or a DNS-1123 label; must not contain dots"
                )
            ],
        ),
        (
            {**LEVEL, "rules": [{}]},
            [
                f"{RULE}.subjects: Required value: subjects must contain at least one value",
                f"{RULE}: Required value: at least one of resourceRules and nonResourceRules has to be non-empty",
            ],
        ),
    ],
)
def test_create(spec: Obj, errors: list[str]) -> None:
    assert KIND.refused(spec=spec) == errors


ANY_PATH = {"nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}]}
USERS = [{"kind": "User", "user": {"name": "*"}}]


@pytest.mark.parametrize(
    ("subject", "errors"),
    [
        ({"kind": "User"}, [".user: Required value: user is required when subject kind is 'User'"]),
        ({"kind": "Group", "group": {"name": ""}}, [".group.name: Required value"]),
        (
            {"kind": "ServiceAccount", "serviceAccount": {}},
            [
                ".serviceAccount.name: Required value",
                ".serviceAccount.namespace: Required value: must specify namespace for service account",
            ],
        ),
        ({"kind": "ServiceAccount", "serviceAccount": {"name": "*", "namespace": "n"}}, []),
        (
            {"kind": "Group", "group": {"name": "g"}, "user": {"name": "u"}, "serviceAccount": {}},
            [
                ".serviceAccount: Forbidden: serviceAccount is forbidden when subject kind is not 'ServiceAccount'",
                ".user: Forbidden: user is forbidden when subject kind is not 'User'",
            ],
        ),
        (
            {"kind": "Pet"},
            ['.kind: Unsupported value: "Pet": supported values: "Group", "ServiceAccount", "User"'],
        ),
    ],
)
def test_subjects(subject: Obj, errors: list[str]) -> None:
    found = KIND.refused(spec={**LEVEL, "rules": [{"subjects": [subject], **ANY_PATH}]})
    assert found == [f"{RULE}.subjects[0]{error}" for error in errors]


@pytest.mark.parametrize(
    ("rule", "errors"),
    [
        (
            {
                "nonResourceRules": [
                    {"verbs": [], "nonResourceURLs": ["no-slash", "/a*b", "", "/a//b", "/a b", "/a/*", "/"]}
                ]
            },
            [
                ".nonResourceRules[0].verbs: Required value: verbs must contain at least one value",
                '.nonResourceRules[0].nonResourceURLs[0]: Invalid value: "no-slash": must start with slash',
                '.nonResourceRules[0].nonResourceURLs[1]: Invalid value: "/a*b": wildcard can only do suffix matching',
                '.nonResourceRules[0].nonResourceURLs[2]: Invalid value: "": must not be empty',
                '.nonResourceRules[0].nonResourceURLs[3]: Invalid value: "/a//b": must not contain double slash',
                '.nonResourceRules[0].nonResourceURLs[4]: Invalid value: "/a b": must not contain white-space',
            ],
        ),
        (
            {"nonResourceRules": [{"verbs": ["fly"], "nonResourceURLs": ["*", "/x"]}]},
            [
                (
                    '.nonResourceRules[0].verbs: Unsupported value: ["fly"]: supported values: "create", "delete", '
                    '"deletecollection", "get", "list", "patch", "proxy", "update", "watch"'
                ),
                (
                    '.nonResourceRules[0].nonResourceURLs: Invalid value: ["*","/x"]: if \'*\' is present, must not '
                    "specify "
                    "other non-resource URLs"
                ),
            ],
        ),
        (
            {"resourceRules": [{"verbs": ["get", "*"]}]},
            [
                (
                    '.resourceRules[0].verbs: Invalid value: ["get","*"]: if \'*\' is present, must not specify other '
                    "verbs"
                ),
                ".resourceRules[0].apiGroups: Required value: resource rules must supply at least one api group",
                ".resourceRules[0].resources: Required value: resource rules must supply at least one resource",
                (
                    ".resourceRules[0].namespaces: Required value: resource rules that are not cluster scoped must "
                    "supply at "
                    "least one namespace"
                ),
            ],
        ),
        (
            {
                "resourceRules": [
                    {"verbs": ["get"], "apiGroups": ["*", "a"], "resources": ["*", "b"], "namespaces": ["*", "c"]}
                ]
            },
            [
                (
                    '.resourceRules[0].apiGroups: Invalid value: ["*","a"]: if \'*\' is present, must not specify '
                    "other api "
                    "groups"
                ),
                (
                    '.resourceRules[0].resources: Invalid value: ["*","b"]: if \'*\' is present, must not specify '
                    "other "
                    "resources"
                ),
                (
                    '.resourceRules[0].namespaces: Invalid value: ["*","c"]: if \'*\' is present, must not specify '
                    "other "
                    "namespaces"
                ),
            ],
        ),
        ({"resourceRules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["x"], "clusterScope": True}]}, []),
    ],
)
def test_rules(rule: dict[str, Any], errors: list[str]) -> None:
    found = KIND.refused(spec={**LEVEL, "rules": [{"subjects": USERS, **rule}]})
    assert found == [f"{RULE}{error}" for error in errors]


@pytest.mark.parametrize("name", MANDATORY_FLOW_SCHEMAS)
def test_what_must_exist_must_be_as_it_is(name: str) -> None:
    spec = MANDATORY_FLOW_SCHEMAS[name]
    assert KIND.refused(metadata={"name": name}, spec=spec) == []
    [error] = KIND.refused(metadata={"name": name}, spec={**spec, "rules": []})
    assert error.endswith(f": spec of '{name}' must equal the fixed value")


def test_status() -> None:
    old = KIND.created(spec=LEVEL)
    conditions = [{"type": "Dangling", "status": "True"}]
    changed, errors = KIND.changed(
        old, subresource="status", spec={}, status={"conditions": conditions}, metadata={"labels": {"a": "b"}}
    )
    assert (changed["spec"], errors) == (old["spec"], [])
    assert "labels" not in changed["metadata"]
    assert changed["status"]["conditions"] == [{**conditions[0], "lastTransitionTime": None}]
    assert KIND.row(changed) == {
        "Name": "a",
        "PriorityLevel": "global-default",
        "MatchingPrecedence": 1000,
        "DistinguisherMethod": "<none>",
        "Age": "60s",
        "MissingPL": "True",
    }
    assert KIND.changed(old, subresource="status", status={"conditions": [{}, {}]})[1] == [
        "status.conditions[0].type: Required value: must not be empty",
        'status.conditions[1].type: Duplicate value: ""',
        "status.conditions[1].type: Required value: must not be empty",
    ]


def test_flags() -> None:
    assert not FLOW_SCHEMAS.strategy.create_on_update
    assert FLOW_SCHEMAS.strategy.unconditional_update
    assert KIND.row(KIND.created(spec=LEVEL))["MissingPL"] == "?"


def test_what_must_be_as_it_is_is_shown_as_upstream_prints_it() -> None:
    assert KIND.refused(metadata={"name": "exempt"}, spec=LEVEL) == [
        (
            'spec: Invalid value: {"PriorityLevelConfiguration":{"Name":"global-default"},"MatchingPrecedence":1000,'
            '"DistinguisherMethod":null,"Rules":null}: spec of \'exempt\' must equal the fixed value'
        )
    ]
