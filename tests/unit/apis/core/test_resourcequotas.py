"""Resource quotas, as the recorded reference answers have them."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.apimachinery.schema.decode import DecodeError
from controlplane.apis.core.resourcequotas import RESOURCE_QUOTAS
from tests.unit.apis.kinds import Kind

KIND = Kind(RESOURCE_QUOTAS)
SELECTOR = "spec.scopeSelector.matchExpressions"
NO_VALUES = (
    "must be 'Exist' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
    "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)


def test_amounts_are_kept_in_their_canonical_text() -> None:
    hard = {"requests.memory": "1024Mi", "requests.cpu": "1000m", "configmaps": 5, "limits.cpu": "1u", "pods": None}
    assert KIND.created(spec={"hard": hard})["spec"]["hard"] == {
        "requests.memory": "1Gi",
        "requests.cpu": "1",
        "configmaps": "5",
        "limits.cpu": "1m",
        "pods": "0",
    }


@pytest.mark.parametrize("amount", ["lots", "", True, [1], {}])
def test_amounts_are_quantities(amount: object) -> None:
    with pytest.raises(DecodeError, match="quantities must match the regular expression"):
        KIND.decoded(spec={"hard": {"configmaps": amount}})


def selector(scope: str, operator: str, *values: str) -> dict[str, Any]:
    requirement = {"scopeName": scope, "operator": operator, "values": list(values)}
    return {"hard": {"configmaps": "1"}, "scopeSelector": {"matchExpressions": [requirement]}}


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        ({"hard": {"configmaps": "1.5"}}, ['spec.hard[configmaps]: Invalid value: "1500m": must be an integer']),
        ({"hard": {"requests.cpu": "1.5", "requests.example.com/x": "1.5"}}, []),
        (
            {"hard": {"example.com/gpu": "1.5"}},
            ['spec.hard[example.com/gpu]: Invalid value: "1500m": must be an integer'],
        ),
        (
            {"hard": {"configmaps": "-1"}},
            ['spec.hard[configmaps]: Invalid value: "-1": must be greater than or equal to 0'],
        ),
        (
            {"hard": {"bananas": "1"}},
            [
                'spec.hard[bananas]: Invalid value: "bananas": must be a standard resource type or fully qualified',
                'spec.hard[bananas]: Invalid value: "bananas": must be a standard resource for quota',
            ],
        ),
        (
            {"hard": {"storage": "1"}},
            ['spec.hard[storage]: Invalid value: "storage": must be a standard resource for quota'],
        ),
        ({"hard": {"requests.hugepages-2Mi": "1Gi", "count/leases.coordination.k8s.io": "2"}}, []),
        (
            {"scopes": ["Sometimes"], "hard": {"pods": "1"}},
            ['spec.scopes: Invalid value: ["Sometimes"]: unsupported scope'],
        ),
        (
            {"scopes": ["NotTerminating"], "hard": {"configmaps": "5", "requests.cpu": "1"}},
            ['spec.scopes: Invalid value: ["NotTerminating"]: unsupported scope applied to resource'],
        ),
        (
            {"scopes": ["BestEffort", "NotBestEffort"], "hard": {"pods": "5"}},
            ['spec.scopes: Invalid value: ["BestEffort","NotBestEffort"]: conflicting scopes'],
        ),
        ({"scopes": ["VolumeAttributesClass"], "hard": {"requests.storage": "5"}}, []),
        (
            selector("Sometimes", "Is"),
            [
                f'{SELECTOR}.scopeName: Invalid value: "Sometimes": unsupported scope',
                f'{SELECTOR}.operator: Invalid value: "Is": not a valid selector operator',
            ],
        ),
        (
            selector("PriorityClass", "In"),
            [
                (
                    f'{SELECTOR}: Invalid value: {{"MatchExpressions":[{{"ScopeName":"PriorityClass","Operator":"In",'
                    '"Values":null}]}: unsupported scope applied to resource'
                ),
                (
                    f"{SELECTOR}.values: Required value: must be at least one value when `operator` is 'In' or "
                    f"'NotIn' for "
                    "scope selector"
                ),
            ],
        ),
        (
            {**selector("BestEffort", "DoesNotExist", "x"), "hard": {"pods": "1"}},
            [
                f'{SELECTOR}.operator: Invalid value: "DoesNotExist": {NO_VALUES}',
                (
                    f"{SELECTOR}.values: Invalid value: [\"x\"]: must be no value when `operator` is 'Exist' or "
                    "'DoesNotExist' for scope selector"
                ),
            ],
        ),
    ],
)
def test_create(spec: dict[str, Any], errors: list[str]) -> None:
    assert KIND.refused(spec=spec) == errors


def test_spec_and_status_are_written_apart() -> None:
    status = {"hard": {"pods": "1"}, "used": {"pods": "0"}}
    old = KIND.created(spec={"hard": {"pods": "1"}}, status=status)
    assert old["status"] == {}
    changed, errors = KIND.changed(old, spec={"hard": {"pods": "2"}}, status=status)
    assert (changed["spec"], changed["status"], errors) == ({"hard": {"pods": "2"}}, {}, [])
    changed, errors = KIND.changed(old, subresource="status", spec={"hard": {"pods": "2"}}, status=status)
    assert (changed["spec"], changed["status"], errors) == ({"hard": {"pods": "1"}}, status, [])
    _, errors = KIND.changed(old, subresource="status", status={"used": {"pods": "-1"}})
    assert errors == ['status.used[pods]: Invalid value: "-1": must be greater than or equal to 0']


def test_scopes_stay() -> None:
    old = KIND.created(spec={"scopes": ["BestEffort"]})
    assert KIND.changed(old, spec={})[1] == ["spec.scopes: Invalid value: null: field is immutable"]
    assert KIND.changed(old, spec={"scopes": ["BestEffort", "BestEffort"]})[1] == []


def test_columns() -> None:
    old = KIND.created()
    status = {
        "hard": {"pods": "4", "limits.cpu": "2", "configmaps": "5"},
        "used": {"pods": "1", "limits.cpu": "500m"},
    }
    changed, _ = KIND.changed(old, subresource="status", status=status)
    assert KIND.row(changed) == {
        "Name": "a",
        "Request": "configmaps: 0/5, pods: 1/4",
        "Limit": "limits.cpu: 500m/2",
        "Age": "60s",
    }
    assert RESOURCE_QUOTAS.storage_version_hash() == "8uhSgffRX6w="
