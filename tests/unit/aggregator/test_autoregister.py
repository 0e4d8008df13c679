"""What the server does about the API services of what it serves: upstream's table of cases."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controlplane.aggregator.autoregister import MANAGED, Step, built_in, custom, next_step
from controlplane.apimachinery.identity import Obj
from controlplane.apis.builtin import BUILTIN
from controlplane.apiserver.registry.table import build_table
from controlplane.generic.config import GROUP_PRIORITIES


def service(label: str | None, priority: int = 1) -> Obj:
    labels = {MANAGED: label} if label is not None else {}
    return {"metadata": {"name": "v1.x", "labels": labels}, "spec": {"versionPriority": priority}}


NONE, START, ALWAYS = None, service("onstart", 2), service("true", 2)
NOTHING, CREATE, UPDATE, DELETE = Step.NOTHING, Step.CREATE, Step.UPDATE, Step.DELETE


@pytest.mark.parametrize(
    ("current", "at_start", "first", "later"),
    [
        pytest.param(None, False, (NOTHING, CREATE, CREATE), (NOTHING, NOTHING, CREATE), id="not found"),
        pytest.param(service(None), True, (NOTHING,) * 3, (NOTHING,) * 3, id="somebody's own"),
        pytest.param(service("onstart"), False, (NOTHING,) * 3, (NOTHING,) * 3, id="on start, not there then"),
        pytest.param(service("onstart"), True, (DELETE, UPDATE, UPDATE), (NOTHING,) * 3, id="on start, there then"),
        pytest.param(service("true"), True, (DELETE, UPDATE, UPDATE), (DELETE, NOTHING, UPDATE), id="always"),
    ],
)
def test_the_table_of_cases(
    current: Obj | None, at_start: bool, first: tuple[Step, ...], later: tuple[Step, ...]
) -> None:
    wanted = (NONE, START, ALWAYS)
    assert tuple(next_step(one, current, synced=False, at_start=at_start) for one in wanted) == first
    assert tuple(next_step(one, current, synced=True, at_start=at_start) for one in wanted) == later


def test_an_object_that_is_right_is_left_alone() -> None:
    assert next_step(ALWAYS, service("true", 2), synced=True, at_start=True) is NOTHING


def test_every_built_in_version_has_one_but_that_of_api_services() -> None:
    table = build_table([(resource, None) for resource in BUILTIN if not resource.stored])
    made = built_in(table, GROUP_PRIORITIES)
    assert sorted(made) == ["v1.authentication.k8s.io", "v1.authorization.k8s.io"]
    assert made["v1.authorization.k8s.io"]["spec"] == {
        "group": "authorization.k8s.io",
        "version": "v1",
        "groupPriorityMinimum": 17600,
        "versionPriority": 15,
    }
    assert custom(table, made) == {}
    assert custom(table, {})["v1.authentication.k8s.io"]["metadata"]["labels"] == {MANAGED: "true"}


def test_the_priorities_of_built_in_versions() -> None:
    table = build_table([(replace(resource, stored=False), None) for resource in BUILTIN])
    made = built_in(table, GROUP_PRIORITIES)
    priorities = {name: obj["spec"]["versionPriority"] for name, obj in made.items()}
    assert {name: priority for name, priority in priorities.items() if priority != 15} == {
        "v1.": 1,
        "v1.flowcontrol.apiserver.k8s.io": 21,
        "v1alpha1.internal.apiserver.k8s.io": 9,
        "v1beta1.storagemigration.k8s.io": 9,
    }
