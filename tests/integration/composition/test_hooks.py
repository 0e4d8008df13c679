"""The post-start hooks by the names that probes know, present with what they are about."""

from __future__ import annotations

from pathlib import Path

import pytest

from controlplane.testing.planes import plane_of
from tests.aio import run
from tests.integration.composition.test_booleans import without

EXTENSIONS = {"start-apiextensions-informers", "start-apiextensions-controllers", "crd-informer-synced"}
AGGREGATION = {
    "start-kube-aggregator-informers",
    "apiservice-registration-controller",
    "apiservice-status-local-available-controller",
    "apiservice-wait-for-first-sync",
    "apiservice-discovery-controller",
    "apiservice-openapi-controller",
    "apiservice-openapiv3-controller",
    "kube-apiserver-autoregistration",
}
AUTHENTICATION = {"start-cluster-authentication-info-controller"}
TOKENS = {"start-legacy-token-tracking-controller"}
FLOW_CONTROL = {"priority-and-fairness-config-consumer", "priority-and-fairness-config-producer"}
LEASES = {"start-kube-apiserver-identity-lease-garbage-collector"}
ALWAYS = {
    "generic-apiserver-start-informers",
    "storage-object-count-tracker-hook",
    "storage-readiness",
    "start-apiserver-admission-initializer",
    "start-system-namespaces-controller",
}


@pytest.mark.parametrize(
    ("off", "gone"),
    [
        pytest.param((), set(), id="nothing"),
        pytest.param(("resources.customresourcedefinitions",), EXTENSIONS, id="definitions"),
        pytest.param(("resources.apiservices",), AGGREGATION, id="API services"),
        pytest.param(("resources.configmaps",), AUTHENTICATION | TOKENS, id="configmaps"),
        pytest.param(("resources.leases",), LEASES, id="leases"),
        pytest.param(("resources.flowschemas",), FLOW_CONTROL, id="flow schemas"),
    ],
)
def test_hooks_are_there_with_what_they_are_about(off: tuple[str, ...], gone: set[str], tmp_path: Path) -> None:
    async def main() -> None:
        async with plane_of(without(off, tmp_path / "certs", tmp_path)) as plane:
            answer = await plane.client().request("GET", "/readyz", query=[("verbose", "")])
            lines = answer.content().decode().splitlines()
            hooks = {
                line.removeprefix("[+]poststarthook/").removesuffix(" ok")
                for line in lines
                if line.startswith("[+]poststarthook/")
            }
            known = ALWAYS | EXTENSIONS | AGGREGATION | AUTHENTICATION | TOKENS | LEASES | FLOW_CONTROL
            assert known & hooks == known - gone

    run(main())
