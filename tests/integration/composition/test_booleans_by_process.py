"""The sample as a process, with booleans off by flags: twenty sets with CONTROLPLANE_TEST_LONG, else three."""

from __future__ import annotations

from pathlib import Path

import pytest

from controlplane.apimachinery.identity import GVR
from tests.integration.composition.absence import KINDS
from tests.integration.composition.test_booleans import ALONE, LONG, PAIRS, flag_of
from tests.processes import Plane, sample_plane

SETS = [*PAIRS[:8], *ALONE[:: len(ALONE) // 12][:12]]
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
CONFIGMAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kept"}, "data": {"a": "1"}}


def listed(plane: Plane) -> set[GVR]:
    """What discovery lists."""
    core = plane.request("GET", "/api")
    paths = [f"/api/{version}" for version in core.json()["versions"]] if core.status == 200 else []
    for group in plane.request("GET", "/apis").json()["groups"]:
        paths += [f"/apis/{version['groupVersion']}" for version in group["versions"]]
    found = set()
    for path in paths:
        group, _, version = path.removeprefix("/apis/").removeprefix("/api/").rpartition("/")
        resources = plane.request("GET", path).json()["resources"]
        found |= {GVR(group, version, one["name"]) for one in resources if "/" not in one["name"]}
    return found


@pytest.mark.timeout(600)
def test_by_process_and_flags(tmp_path: Path) -> None:
    """It starts; what is off is 404 and in no list; no error is logged; started again with all on, the old data is
    there."""
    with sample_plane(tmp_path) as plane:
        assert plane.request("POST", CONFIGMAPS, CONFIGMAP).status == 201
    for off in SETS if LONG else [SETS[0], *SETS[-2:]]:
        with sample_plane(tmp_path, flags=tuple(flag_of(path) for path in sorted(off))) as plane:
            served = listed(plane)
            assert not {path.partition(".")[2] for path in off if path.startswith("resources.")} & {
                gvr.resource for gvr in served
            }
            for kind in KINDS:
                place = "/namespaces/default" if kind.namespaced else ""
                for version in kind.versions:
                    root = f"/apis/{kind.group}/{version.name}" if kind.group else f"/api/{version.name}"
                    status = plane.request("GET", f"{root}{place}/{kind.plural}").status
                    assert (status == 404) == (kind.gvr(version.name) not in served), (off, kind.gr, status)
    with sample_plane(tmp_path) as plane:
        assert plane.request("GET", f"{CONFIGMAPS}/kept").json()["data"] == CONFIGMAP["data"]
    assert [line for line in (tmp_path / "log.txt").read_text().splitlines() if line.startswith("E")] == []


def test_a_requirement_that_is_missing_is_named(tmp_path: Path) -> None:
    """Asked for explicitly, and not to be had: refused with both flags; by default, derived off."""
    with (
        pytest.raises(RuntimeError) as failure,
        sample_plane(tmp_path, flags=("--resources.secrets=false", "--controllers.service-account-tokens=true")),
    ):
        pass
    assert "ended with 2" in str(failure.value)
    assert "--controllers.service-account-tokens: needs --resources.secrets, which is off" in str(failure.value)
