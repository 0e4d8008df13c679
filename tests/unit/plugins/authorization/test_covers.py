"""Whether rules allow all that others allow."""

from __future__ import annotations

import pytest

from controlplane.apimachinery.policy_rule import PolicyRule
from controlplane.plugins.authorization.rbac.covers import described, uncovered


def resources(verbs: str, names: str, *, group: str = "", only: str = "") -> PolicyRule:
    return PolicyRule(tuple(verbs.split()), (group,), tuple(names.split()), tuple(only.split()))


def paths(*urls: str) -> PolicyRule:
    return PolicyRule(("get",), non_resource_urls=urls)


@pytest.mark.parametrize(
    ("owned", "wanted", "missing"),
    [
        pytest.param([resources("get list", "a b")], [resources("get", "b")], "", id="part of one"),
        pytest.param(
            [resources("get", "a"), resources("list", "a")], [resources("get list", "a")], "", id="of several"
        ),
        pytest.param(
            [], [resources("get list", "a")], '{APIGroups:[""], Resources:["a"], Verbs:["get" "list"]}', id="nothing"
        ),
        pytest.param([resources("*", "*", group="*")], [resources("x", "a/b", group="g", only="n")], "", id="all"),
        pytest.param([resources("get", "*/scale")], [resources("get", "a/scale")], "", id="any resource's subresource"),
        pytest.param(
            [resources("get", "a")],
            [resources("get", "a/scale")],
            '{APIGroups:[""], Resources:["a/scale"], Verbs:["get"]}',
            id="a subresource is not in its resource",
        ),
        pytest.param([resources("get", "a", only="x y")], [resources("get", "a", only="y")], "", id="names"),
        pytest.param(
            [resources("get", "a", only="x")],
            [resources("get", "a")],
            '{APIGroups:[""], Resources:["a"], Verbs:["get"]}',
            id="some names are not all",
        ),
        pytest.param(
            [],
            [resources("get list", "a", only="x")],
            '{APIGroups:[""], Resources:["a"], ResourceNames:["x"], Verbs:["get"]}\n'
            '{APIGroups:[""], Resources:["a"], ResourceNames:["x"], Verbs:["list"]}',
            id="those with names stay apart",
        ),
        pytest.param([paths("/a/*")], [paths("/a/b", "/a/*")], "", id="paths"),
        pytest.param([paths("/a")], [paths("/a/*")], '{NonResourceURLs:["/a/*"], Verbs:["get"]}', id="wider paths"),
        pytest.param(
            [resources("*", "*", group="*")],
            [paths("/a")],
            '{NonResourceURLs:["/a"], Verbs:["get"]}',
            id="all resources are no paths",
        ),
    ],
)
def test_covering(owned: list[PolicyRule], wanted: list[PolicyRule], missing: str) -> None:
    assert described(uncovered(owned, wanted)) == missing
