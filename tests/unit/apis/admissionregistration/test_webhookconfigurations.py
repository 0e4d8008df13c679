"""Webhook configurations of both kinds, as the recorded reference answers have them."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.apimachinery.identity import Obj
from controlplane.apis.admissionregistration.mutatingwebhookconfigurations import MUTATING_WEBHOOK_CONFIGURATIONS
from controlplane.apis.admissionregistration.validatingwebhookconfigurations import VALIDATING_WEBHOOK_CONFIGURATIONS
from tests.unit.apis.kinds import Kind

VALIDATING, MUTATING = Kind(VALIDATING_WEBHOOK_CONFIGURATIONS), Kind(MUTATING_WEBHOOK_CONFIGURATIONS)
RULE = {"apiGroups": [""], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["configmaps"]}
CLIENT = "webhooks[0].clientConfig"
FORM = "desired format: https://host[/path]"


def hook(name: str = "h.example.com", **fields: Any) -> Obj:
    return {
        "name": name,
        "clientConfig": {"url": "https://127.0.0.1:1/x"},
        "rules": [RULE],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        **fields,
    }


FILLED_IN = {
    "failurePolicy": "Fail",
    "matchPolicy": "Equivalent",
    "namespaceSelector": {},
    "objectSelector": {},
    "rules": [{**RULE, "scope": "*"}],
    "timeoutSeconds": 10,
}


def test_what_is_filled_in() -> None:
    obj = VALIDATING.created(webhooks=[hook()], metadata={"generation": 7})
    assert obj["webhooks"] == [{**hook(), **FILLED_IN}]
    assert obj["metadata"]["generation"] == 1
    service = {"service": {"namespace": "n", "name": "s"}}
    obj = MUTATING.created(
        webhooks=[hook(clientConfig=service, timeoutSeconds=1, reinvocationPolicy="IfNeeded"), hook("h2.a.b")]
    )
    assert obj["webhooks"][0]["clientConfig"] == {"service": {"namespace": "n", "name": "s", "port": 443}}
    assert [h["reinvocationPolicy"] for h in obj["webhooks"]] == ["IfNeeded", "Never"]
    assert [h["timeoutSeconds"] for h in obj["webhooks"]] == [1, 10]
    assert "webhooks" not in VALIDATING.created()


def test_changes_of_webhooks_are_counted() -> None:
    old = VALIDATING.created()
    changed, errors = VALIDATING.changed(old, metadata={"labels": {"a": "b"}})
    assert (changed["metadata"]["generation"], errors) == (1, [])
    changed, errors = VALIDATING.changed(old, webhooks=[hook()])
    assert (changed["metadata"]["generation"], errors) == (2, [])
    assert VALIDATING.changed(changed, webhooks=[hook()])[0]["metadata"]["generation"] == 2


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([hook(), hook()], [hook(), hook(), hook()]),
        ([hook(admissionReviewVersions=["v9"])], [hook(admissionReviewVersions=["v8", "v9"])]),
        ([hook(sideEffects="Unknown")], [hook(sideEffects="Some")]),
        ([hook(matchConditions=[{"name": "c", "expression": "later()"}])],) * 2,
        (
            [hook(objectSelector={"matchExpressions": [{"key": "a", "operator": "In", "values": ["?"]}]})],
            [hook(namespaceSelector={"matchExpressions": [{"key": "a", "operator": "In", "values": ["!"]}]})],
        ),
    ],
)
def test_what_an_old_configuration_has_wrong_may_stay_wrong(before: list[Obj], after: list[Obj]) -> None:
    for kind in (VALIDATING, MUTATING):
        old = kind.created()
        assert kind.changed(old, webhooks=after)[1], "not if it was right before"
        old["webhooks"] = kind.decoded(webhooks=before)["webhooks"]
        assert kind.changed(old, metadata={"labels": {"a": "b"}}, webhooks=after)[1] == []


def test_effects_that_were_known_once() -> None:
    old = VALIDATING.created()
    old["webhooks"] = VALIDATING.decoded(webhooks=[hook(sideEffects="Some")])["webhooks"]
    [error] = VALIDATING.changed(old, webhooks=[hook(sideEffects="Many")])[1]
    known = '"None", "NoneOnDryRun", "Some", "Unknown"'
    assert error == f'webhooks[0].sideEffects: Unsupported value: "Many": supported values: {known}'


@pytest.mark.parametrize(
    ("hooks", "errors"),
    [
        (
            [{"name": "short"}],
            [
                (
                    'webhooks[0].name: Invalid value: "short": should be a domain with at least three segments '
                    "separated "
                    "by dots"
                ),
                "webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun",
                f"{CLIENT}: Required value: exactly one of url or service is required",
                "webhooks[0].admissionReviewVersions: Required value: must specify one of v1, v1beta1",
            ],
        ),
        ([hook(), hook()], ['webhooks[1].name: Duplicate value: "h.example.com"']),
        ([hook(name="")], ["webhooks[0].name: Required value"]),
        (
            [hook(clientConfig={"url": "https://x.y/z", "service": {"namespace": "n", "name": "s"}})],
            [f"{CLIENT}: Required value: exactly one of url or service is required"],
        ),
        (
            [
                hook(
                    sideEffects="Some",
                    admissionReviewVersions=["v9", "v1", "v1"],
                    timeoutSeconds=31,
                    failurePolicy="Perhaps",
                    matchPolicy="Near",
                )
            ],
            [
                'webhooks[0].failurePolicy: Unsupported value: "Perhaps": supported values: "Fail", "Ignore"',
                'webhooks[0].matchPolicy: Unsupported value: "Near": supported values: "Equivalent", "Exact"',
                'webhooks[0].sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"',
                "webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds",
                'webhooks[0].admissionReviewVersions[2]: Invalid value: "v1": duplicate version',
            ],
        ),
        (
            [hook(timeoutSeconds=0, admissionReviewVersions=["v9"])],
            [
                "webhooks[0].timeoutSeconds: Invalid value: 0: the timeout value must be between 1 and 30 seconds",
                'webhooks[0].admissionReviewVersions: Invalid value: ["v9"]: must include at least one of v1, v1beta1',
            ],
        ),
        (
            [hook(namespaceSelector={"matchExpressions": [{"key": "a", "operator": "Is"}]})],
            [
                (
                    'webhooks[0].namespaceSelector.matchExpressions[0].operator: Invalid value: "Is": not a valid '
                    "selector "
                    "operator"
                )
            ],
        ),
        (
            [
                hook(
                    matchConditions=[
                        {"name": "c", "expression": "true"},
                        {"name": "c", "expression": " "},
                        {},
                    ]
                )
            ],
            [
                "webhooks[0].matchConditions[1].expression: Required value",
                'webhooks[0].matchConditions[1].name: Duplicate value: "c"',
                "webhooks[0].matchConditions[2].expression: Required value",
                "webhooks[0].matchConditions[2].name: Required value",
            ],
        ),
    ],
)
def test_create(hooks: list[Obj], errors: list[str]) -> None:
    assert VALIDATING.refused(webhooks=hooks) == errors


@pytest.mark.parametrize(
    ("url", "errors"),
    [
        ("https://x.y/z", []),
        ("http://x.y/z", [f"\"http\": 'https' is the only allowed URL scheme; {FORM}"]),
        ("https:///z", [f'"": host must be specified; {FORM}']),
        (
            "https://u:p@x.y/z?a=b#c",
            [
                '"u:p": user information is not permitted in the URL',
                '"c": fragments are not permitted in the URL',
                '"a=b": query parameters are not permitted in the URL',
            ],
        ),
    ],
)
def test_urls(url: str, errors: list[str]) -> None:
    found = VALIDATING.refused(webhooks=[hook(clientConfig={"url": url})])
    assert found == [f"{CLIENT}.url: Invalid value: {error}" for error in errors]


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("https://[::1/x", "missing ']' in host"),
        ("https://a b", 'invalid character " " in host name'),
        ("https://h:x", 'invalid port ":x" after host'),
        ("https://h/%zz", 'invalid URL escape "%zz"'),
        ("://x", "missing protocol scheme"),
    ],
)
def test_a_url_that_is_none(url: str, why: str) -> None:
    [error] = VALIDATING.refused(webhooks=[hook(clientConfig={"url": url})])
    assert error == f'{CLIENT}.url: Required value: url must be a valid URL: parse "{url}": {why}; {FORM}'


@pytest.mark.parametrize(
    ("service", "errors"),
    [
        (
            {"port": 0, "path": "no-slash"},
            [
                "name: Required value",
                "namespace: Required value",
                "port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive",
                "path: Invalid value: \"no-slash\": must start with a '/'",
            ],
        ),
        ({"namespace": "n", "name": "s", "path": "/"}, []),
        ({"namespace": "n", "name": "s", "path": "/a/b/"}, []),
        (
            {"namespace": "n", "name": "s", "path": "//"},
            ['path: Invalid value: "//": segment[0] may not be empty'],
        ),
        (
            {"namespace": "n", "name": "s", "path": "/a//b"},
            ['path: Invalid value: "/a//b": segment[1] may not be empty'],
        ),
    ],
)
def test_services(service: Obj, errors: list[str]) -> None:
    found = VALIDATING.refused(webhooks=[hook(clientConfig={"service": service})])
    assert found == [f"{CLIENT}.service.{error}" for error in errors]


@pytest.mark.parametrize(
    ("rule", "errors"),
    [
        ({"resources": ["pods", "*"]}, []),
        ({"resources": ["a/*", "*/b", "c"]}, []),
        (
            {"operations": ["*", "CREATE"], "scope": "Galaxy"},
            [
                'operations: Invalid value: ["*","CREATE"]: if \'*\' is present, must not specify other operations',
                'scope: Unsupported value: "Galaxy": supported values: "*", "Cluster", "Namespaced"',
            ],
        ),
        (
            {"operations": ["FLY"], "apiGroups": [], "apiVersions": ["*", "v1"], "resources": ["*/*", "a"]},
            [
                (
                    'operations[0]: Unsupported value: "FLY": supported values: "*", "CONNECT", "CREATE", "DELETE", '
                    '"UPDATE"'
                ),
                "apiGroups: Required value",
                'apiVersions: Invalid value: ["*","v1"]: if \'*\' is present, must not specify other API versions',
                'resources: Invalid value: ["*/*","a"]: if \'*/*\' is present, must not specify other resources',
            ],
        ),
        (
            {"apiVersions": [""], "resources": ["", "*", "a"]},
            [
                "apiVersions[0]: Required value",
                "resources[0]: Required value",
                (
                    'resources: Invalid value: ["","*","a"]: if \'*\' is present, must not specify other resources '
                    "without "
                    "subresources"
                ),
            ],
        ),
        (
            {"resources": ["a/*", "a/b", "*/c", "d/c"]},
            [
                "resources[1]: Invalid value: \"a/b\": if 'a/*' is present, must not specify a/b",
                "resources[3]: Invalid value: \"d/c\": if '*/c' is present, must not specify d/c",
            ],
        ),
    ],
)
def test_rules(rule: Obj, errors: list[str]) -> None:
    found = VALIDATING.refused(webhooks=[hook(rules=[{**RULE, **rule}])])
    assert found == [f"webhooks[0].rules[0].{error}" for error in errors]


def test_reinvocation_is_for_mutating_webhooks() -> None:
    assert MUTATING.refused(webhooks=[hook(reinvocationPolicy="Always")]) == [
        'webhooks[0].reinvocationPolicy: Unsupported value: "Always": supported values: "IfNeeded", "Never"'
    ]


def test_reinvocation_is_told_between_selectors_and_client() -> None:
    found = MUTATING.refused(
        webhooks=[
            hook(
                reinvocationPolicy="Always",
                timeoutSeconds=0,
                clientConfig={},
                objectSelector={"matchLabels": {"-": ""}},
            )
        ]
    )
    fields = ["timeoutSeconds", "objectSelector.matchLabels", "reinvocationPolicy", "clientConfig"]
    assert [error.partition(":")[0] for error in found] == [f"webhooks[0].{field}" for field in fields]


def test_too_many_conditions() -> None:
    conditions = [{"name": f"c{i}", "expression": "true"} for i in range(65)]
    assert VALIDATING.refused(webhooks=[hook(matchConditions=conditions)]) == [
        "webhooks[0].matchConditions: Too many: 65: must have at most 64 items"
    ]


def test_columns_and_flags() -> None:
    for kind in (VALIDATING, MUTATING):
        assert kind.row(kind.created(webhooks=[hook()])) == {"Name": "a", "Webhooks": 1, "Age": "60s"}
        assert not kind.strategy.unconditional_update
        assert kind.resource.categories == ("api-extensions",)
