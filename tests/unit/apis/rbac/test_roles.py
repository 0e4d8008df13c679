"""Roles and cluster roles, as the recorded reference answers have them."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.apis.rbac.clusterroles import CLUSTER_ROLES
from controlplane.apis.rbac.roles import ROLES
from tests.unit.apis.kinds import CREATED, Kind

ROLE, CLUSTER_ROLE = Kind(ROLES), Kind(CLUSTER_ROLES)
NO_VERBS = "rules[0].verbs: Required value: verbs must contain at least one value"
NO_GROUPS = "rules[0].apiGroups: Required value: resource rules must supply at least one api group"
NO_RESOURCES = "rules[0].resources: Required value: resource rules must supply at least one resource"
ON_PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}


@pytest.mark.parametrize(
    ("rule", "errors"),
    [
        (ON_PODS, []),
        ({"apiGroups": ["not/a group"], "resources": ["No Such Thing"], "verbs": ["FROB"]}, []),
        ({**ON_PODS, "verbs": []}, [NO_VERBS]),
        ({"verbs": ["get"], "resources": ["pods"]}, [NO_GROUPS]),
        ({}, [NO_VERBS, NO_GROUPS, NO_RESOURCES]),
    ],
)
def test_rules(rule: dict[str, Any], errors: list[str]) -> None:
    assert ROLE.refused(rules=[rule]) == errors
    assert CLUSTER_ROLE.refused(rules=[rule]) == errors


def test_paths_are_for_cluster_roles() -> None:
    paths = {"nonResourceURLs": ["/x", "*y", ""], "verbs": ["get"]}
    at = 'rules[0].nonResourceURLs: Invalid value: ["/x","*y",""]'
    assert ROLE.refused(rules=[paths]) == [f"{at}: namespaced rules cannot apply to non-resource URLs"]
    assert CLUSTER_ROLE.refused(rules=[paths]) == []
    both = f"{at}: rules cannot apply to both regular resources and non-resource URLs"
    assert CLUSTER_ROLE.refused(rules=[{**paths, "resources": ["pods"]}]) == [both]
    assert CLUSTER_ROLE.refused(rules=[{**paths, "resourceNames": ["a"], "verbs": []}]) == [NO_VERBS, both]


@pytest.mark.parametrize(
    ("name", "errors"),
    [
        ("Any Name:odd", []),
        ("a/b", ["metadata.name: Invalid value: \"a/b\": may not contain '/'"]),
        ("..", ["metadata.name: Invalid value: \"..\": may not be '..'"]),
    ],
)
def test_names_are_path_segments(name: str, errors: list[str]) -> None:
    assert ROLE.refused(metadata={"name": name}) == errors


@pytest.mark.parametrize("rules", [None, []])
def test_no_rules_are_null(rules: list[Any] | None) -> None:
    assert ROLE.created(rules=rules)["rules"] is None


SELECTORS = "aggregationRule.clusterRoleSelectors"


@pytest.mark.parametrize(
    ("aggregation", "errors"),
    [
        ({"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}, {}]}, []),
        ({}, [f"{SELECTORS}: Required value: at least one clusterRoleSelector required if aggregationRule is non-nil"]),
        (
            {"clusterRoleSelectors": [{"matchExpressions": [{"key": "a", "operator": "In"}]}]},
            [
                (
                    f"{SELECTORS}[0].matchExpressions[0].values: Required value: must be specified when `operator` "
                    f"is 'In' or "
                    "'NotIn'"
                ),
                f"{SELECTORS}[0]: Invalid value: null: invalid label selector.",
            ],
        ),
        (
            {"clusterRoleSelectors": [{"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]}]},
            [
                (
                    f"{SELECTORS}[0].matchExpressions[0].values: Forbidden: may not be specified when `operator` is "
                    f"'Exists' "
                    "or 'DoesNotExist'"
                ),
                f"{SELECTORS}[0]: Invalid value: null: invalid label selector.",
            ],
        ),
    ],
)
def test_aggregation(aggregation: dict[str, Any], errors: list[str]) -> None:
    assert CLUSTER_ROLE.refused(aggregationRule=aggregation) == errors


def test_an_update_tells_what_is_wrong_with_the_role_first() -> None:
    old = ROLE.created(rules=[ON_PODS])
    assert ROLE.changed(old, rules=[{**ON_PODS, "verbs": ["list"]}])[1] == []
    assert ROLE.changed(old, rules=[{**ON_PODS, "verbs": []}])[1] == [NO_VERBS]


def test_columns_and_flags() -> None:
    for kind in (ROLE, CLUSTER_ROLE):
        assert kind.row(kind.created()) == {"Name": "a", "Created At": CREATED}
        assert kind.strategy.create_on_update
    assert (ROLES.storage_version_hash(), CLUSTER_ROLES.storage_version_hash()) == ("7FuwZcIIItM=", "bYE5ZWDrJ44=")
