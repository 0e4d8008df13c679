"""Booleans and what they need."""

from __future__ import annotations

import pytest

from controlplane.apis.builtin import BUILTIN
from controlplane.apiserver.options import AuthorizationOptions
from controlplane.generic.builtin import CONTROLLERS
from controlplane.generic.config import SOURCES, config_of
from controlplane.generic.controller_options import ControllerOptions, controller_toggle
from controlplane.generic.options import TOGGLES, GenericOptions, ResourceOptions
from controlplane.generic.toggles import Toggle, resolve, toggle_problems

TREE = (Toggle("r.a"), Toggle("r.b", needs=("r.a",)), Toggle("c.c", needs=("r.b", "r.a")))


@pytest.mark.parametrize(
    ("given", "on", "derived"),
    [
        pytest.param({}, {"r.a", "r.b", "c.c"}, {}, id="all by default"),
        pytest.param({"r.a": False}, set(), {"r.b": "r.a", "c.c": "r.b"}, id="what needs it is off too"),
        pytest.param({"r.a": False, "r.b": False}, set(), {"c.c": "r.b"}, id="off never contradicts off"),
        pytest.param({"c.c": False}, {"r.a", "r.b"}, {}, id="a leaf"),
        pytest.param({"r.b": True}, {"r.a", "r.b", "c.c"}, {}, id="said what is so anyway"),
    ],
)
def test_resolving(given: dict[str, bool], on: set[str], derived: dict[str, str]) -> None:
    resolved = resolve(TREE, given.get)
    assert (set(resolved.on), dict(resolved.derived_off)) == (on, derived)
    assert list(toggle_problems(TREE, given.get)) == []
    assert len(resolved.explain()) == len(derived)


OPTIONAL = (Toggle("r.a"), Toggle("r.b", needs=("r.a",), default=False), Toggle("c.c", needs=("r.b",)))


@pytest.mark.parametrize(
    ("given", "on", "derived", "told"),
    [
        pytest.param({}, {"r.a"}, {"c.c": "r.b"}, 0, id="off by default, and what needs it"),
        pytest.param({"r.b": True}, {"r.a", "r.b", "c.c"}, {}, 0, id="asked for"),
        pytest.param({"r.b": False}, {"r.a"}, {"c.c": "r.b"}, 1, id="said what is so anyway"),
        pytest.param({"r.a": False}, set(), {"c.c": "r.b"}, 0, id="what it needs is off"),
    ],
)
def test_off_by_default(given: dict[str, bool], on: set[str], derived: dict[str, str], told: int) -> None:
    resolved = resolve(OPTIONAL, given.get)
    assert (set(resolved.on), dict(resolved.derived_off)) == (on, derived)
    assert len(resolved.explain()) == told


def test_asked_for_and_not_to_be_had() -> None:
    problems = list(toggle_problems(TREE, {"r.a": False, "c.c": True}.get))
    assert [(problem.option, problem.why) for problem in problems] == [("c.c", "needs --r.b, which is off")]


def test_each_built_in_resource_has_a_boolean_and_the_reverse() -> None:
    kinds = {resource.plural for resource in BUILTIN} | {source.name for source in SOURCES}
    together = {"rbac"}
    assert {f"resources.{plural}" for plural in kinds | together} == {
        toggle.path for toggle in TOGGLES if toggle.path.startswith("resources.")
    }
    assert set(ResourceOptions.model_fields) == kinds | together


def test_one_boolean_is_for_roles_and_bindings_of_all_kinds() -> None:
    options = GenericOptions(resources=ResourceOptions(rbac=False))
    kinds = ("roles", "rolebindings", "clusterroles", "clusterrolebindings")
    assert dict(options.toggles().derived_off) == {
        **{f"resources.{kind}": "resources.rbac" for kind in kinds},
        "controllers.cluster_role_aggregation": "resources.clusterroles",
        "controllers.storage_version_garbage_collection": "resources.storageversions",
        "controllers.storage_version_trigger": "resources.storageversions",
    }
    contradicting = GenericOptions(resources=ResourceOptions(rbac=False, clusterroles=True))
    assert [(p.option, p.why) for p in contradicting.problems()] == [
        ("resources.clusterroles", "needs --resources.rbac, which is off")
    ]


def test_the_mode_rbac_cannot_be_without_its_kinds() -> None:
    options = GenericOptions(
        resources=ResourceOptions(clusterrolebindings=False),
        authorization=AuthorizationOptions(authorization_mode=("RBAC",)),
    )
    assert [(p.option, p.why) for p in options.problems()] == [
        ("authorization.authorization_mode", "RBAC needs --resources.clusterrolebindings, which is off")
    ]


def test_options_say_it_in_flags() -> None:
    options = GenericOptions(resources=ResourceOptions(namespaces=False, configmaps=True))
    assert [(p.option, p.why) for p in options.problems()] == [
        ("resources.configmaps", "needs --resources.namespaces, which is off")
    ]
    assert "resources.apiservices" in options.toggles().on, "it is in no namespace"
    assert options.toggles().derived_off["resources.leases"] == "resources.namespaces"


def test_each_controller_has_a_boolean_and_the_reverse() -> None:
    assert {controller_toggle(controller.name) for controller in CONTROLLERS} == {
        toggle.path for toggle in TOGGLES if toggle.path.startswith("controllers.")
    }
    fields = {path.partition(".")[2] for path in map(controller_toggle, (c.name for c in CONTROLLERS))}
    assert set(ControllerOptions.model_fields) == fields | {"enabled"}


def test_what_sets_finalizers_of_the_garbage_collector() -> None:
    """Off, nobody would remove them. Running it elsewhere is not off."""
    off = GenericOptions(controllers=ControllerOptions(garbage_collector=False))
    elsewhere = GenericOptions(controllers=ControllerOptions(enabled=False))
    assert (config_of(off).garbage_collection, config_of(elsewhere).garbage_collection) == (False, True)


def test_a_controller_that_is_asked_for_where_none_run() -> None:
    options = ControllerOptions(enabled=False, garbage_collector=True, system_namespaces=True)
    assert [(p.option, p.why) for p in options.problems()] == [
        ("garbage_collector", "needs --controllers.enabled, which is off")
    ]
