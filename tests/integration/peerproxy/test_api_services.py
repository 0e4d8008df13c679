"""The API services that servers make of what they serve: one server does not sweep away another's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from controlplane.apiextensions.source import CUSTOM_RESOURCES
from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import GVR, Key
from controlplane.apimachinery.status import APIError
from controlplane.client.resources import ResourceClient
from controlplane.generic.config import Config
from controlplane.testing.planes import Plane
from tests.aio import run
from tests.integration.peerproxy.fleet import Fleet, eventually, fleet, heard
from tests.integration.peerproxy.kinds import BETA_WIDGETS, GADGETS, serve_a

API_SERVICES = GVR("apiregistration.k8s.io", "v1", "apiservices")
DEFINITIONS = GVR("apiextensions.k8s.io", "v1", "customresourcedefinitions")
ONLY_A = f"{BETA_WIDGETS.version}.{BETA_WIDGETS.group}"
ONLY_B = f"{GADGETS.version}.{GADGETS.group}"
CUSTOM: dict[str, Any] = {
    "apiVersion": str(DEFINITIONS.gv),
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "toys.play.example.org"},
    "spec": {
        "group": "play.example.org",
        "scope": "Namespaced",
        "names": {"plural": "toys", "singular": "toy", "kind": "Toy"},
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        ],
    },
}


def without_proxy(_made: Fleet, _config: Config) -> None:
    """Leave a server without."""


def without_custom_resources(config: Config) -> None:
    config.sources = [source for source in config.sources if source is not CUSTOM_RESOURCES]


async def uid_of(plane: Plane, name: str) -> str:
    """``""``: there is none."""
    try:
        found = await ResourceClient(plane.client(), API_SERVICES, namespaced=False).get(Key("", name))
    except APIError as error:
        if error.reason != "NotFound":
            raise
        return ""
    return meta.uid(found)


async def registered(plane: Plane, name: str) -> str:
    """Its uid, once there is one."""
    return await eventually(lambda: uid_of(plane, name))


@pytest.mark.parametrize("change", [None, without_proxy], ids=["with the proxy", "without"])
def test_what_a_newer_server_serves_outlasts_the_start_of_an_older_one(
    change: Callable[[Fleet, Config], None] | None, tmp_path: Path
) -> None:
    async def main() -> None:
        async with fleet(tmp_path, "b") as (made, planes):
            b = planes["b"]
            before = await registered(b, ONLY_B)
            await made.start("a", serve_a, change=change)
            await registered(b, ONLY_A)  # after all others by their names
            assert await uid_of(b, ONLY_B) == before
            await made.stop("b")
            await made.stop("a")
            a = await made.start("a", serve_a, change=change)

            async def swept() -> bool:
                return not await uid_of(a, ONLY_B)

            assert await eventually(swept), "nobody serves it any more"

    run(main())


def test_a_server_that_knows_no_custom_resources_leaves_theirs(tmp_path: Path) -> None:
    async def main() -> None:
        async with fleet(tmp_path, "b") as (made, planes):
            b = planes["b"]
            await ResourceClient(b.client(), DEFINITIONS, namespaced=False).create(CUSTOM)
            before = await registered(b, "v1.play.example.org")
            a = await made.start("a", serve_a, without_custom_resources)
            await heard(a, 1)
            await registered(b, ONLY_A)
            assert await uid_of(b, "v1.play.example.org") == before

    run(main())
