"""--runtime-config and --feature-gates: which entry decides, and what is refused."""

from __future__ import annotations

import pytest

from controlplane.apis.builtin import BUILTIN
from controlplane.base.options import OptionsError, load
from controlplane.generic.config import config_of
from controlplane.generic.feature_gates import GATES
from controlplane.generic.options import GenericOptions
from controlplane.generic.runtime_config import Enablement, RuntimeConfig


def served(*argv: str) -> set[str]:
    return {str(resource.gr) for resource in config_of(load(GenericOptions, argv, environ={}).options).resources}


ALL = {str(resource.gr) for resource in BUILTIN} - {"storageversions.internal.apiserver.k8s.io"}
CORE = {str(resource.gr) for resource in BUILTIN if not resource.group}


@pytest.mark.parametrize(
    ("given", "version", "expected"),
    [
        pytest.param({}, "v1", Enablement(on=True, entry=""), id="general versions are served"),
        pytest.param({}, "v1beta1", Enablement(on=False, entry=""), id="others are not"),
        pytest.param({"api/all": "true"}, "v1alpha1", Enablement(on=True, entry="api/all=true"), id="all"),
        pytest.param(
            {"api/all": "false", "api/beta": "true"}, "v1beta1", Enablement(on=True, entry="api/beta=true"), id="stage"
        ),
        pytest.param(
            {"g/v1": "true", "api/ga": "false"}, "v1", Enablement(on=True, entry="g/v1=true"), id="group version"
        ),
        pytest.param(
            {"g/v1": "true", "g/v1/things": "false"},
            "v1",
            Enablement(on=False, entry="g/v1/things=false"),
            id="resource",
        ),
    ],
)
def test_the_most_specific_entry_decides(given: dict[str, str], version: str, expected: Enablement) -> None:
    assert RuntimeConfig(given).enablement("g", version, "things") == expected


@pytest.mark.parametrize(
    ("argv", "gone"),
    [
        pytest.param(["--runtime-config=v1/secrets=false"], {"secrets"}, id="a resource of the core group"),
        pytest.param(["--runtime-config=/v1/secrets=false,api/legacy=true"], {"secrets"}, id="with its slash"),
        pytest.param(["--runtime-config=events.k8s.io/v1=false"], {"events.events.k8s.io"}, id="one of two groups"),
        pytest.param(
            ["--runtime-config=v1/secrets=false", "--resources.secrets=true"], set(), id="our own flag decides before"
        ),
        pytest.param(["--runtime-config=api/all=false,v1=true"], ALL - CORE, id="all but the core group"),
    ],
)
def test_what_is_served(argv: list[str], gone: set[str]) -> None:
    assert ALL - served(*argv) == gone


@pytest.mark.parametrize(
    ("flag", "problem"),
    [
        ("--runtime-config=api/all=false", "--runtime-config: invalid runtime-config with only api/all=false"),
        ("--runtime-config=nothing.io/v1=true", "--runtime-config: unknown api groups nothing.io/v1"),
        (
            "--runtime-config=coordination.k8s.io/v7=true",
            "--runtime-config: group version coordination.k8s.io/v7 that has not been registered",
        ),
        ("--runtime-config=v1=maybe", "--runtime-config: invalid value v1=maybe: must be true or false"),
        (
            "--runtime-config=v1/secret=false",
            "--runtime-config: v1/secret: /v1 has no resource 'secret'; it has configmaps, events, namespaces",
        ),
        ("--feature-gates=Nonsense=true", "--feature-gates: unrecognized feature gate: Nonsense"),
        (
            "--feature-gates=WatchList=false",
            "--feature-gates: cannot set feature gate WatchList to false, feature is locked to true",
        ),
        (
            "--feature-gates=kube:CBORServingAndStorage=true",
            "--feature-gates: cannot set feature gate CBORServingAndStorage to true, feature is locked to false",
        ),
        (
            "--feature-gates=WatchList=perhaps",
            "--feature-gates: invalid value of WatchList=perhaps, must be true or false",
        ),
    ],
)
def test_what_is_refused(flag: str, problem: str) -> None:
    with pytest.raises(OptionsError) as refused:
        load(GenericOptions, [flag], environ={})
    assert any(found.startswith(problem) for found in refused.value.problems)


def test_every_gate_can_be_set_to_what_holds() -> None:
    for name, holds in GATES.items():
        load(GenericOptions, [f"--feature-gates={name}={str(holds).lower()}"], environ={})
