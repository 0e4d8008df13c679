"""Every boolean off alone, and every pair off together: the plane starts, and what is off is nowhere to be seen.

With CONTROLPLANE_TEST_LONG all of them, else a part.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import GVR, Obj
from controlplane.base.options import load
from controlplane.client.resources import ResourceClient
from controlplane.generic.config import Config, config_of
from controlplane.generic.controllers import served_resources
from controlplane.generic.options import TOGGLES, GenericOptions
from controlplane.testing.planes import Plane, plane_of
from tests.aio import run
from tests.covering import covering_sets
from tests.integration.composition.absence import KINDS, seen_though_off, traces
from tests.integration.composition.examples import EXAMPLES

LONG = bool(os.environ.get("CONTROLPLANE_TEST_LONG"))
PATHS = tuple(toggle.path for toggle in TOGGLES)
PAIRS = covering_sets(PATHS, seed=8)
ALONE = [frozenset({path}) for path in PATHS]


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("certs")


def flag_of(path: str) -> str:
    return f"--{path.replace('_', '-')}=false"


STORAGE_VERSIONS_NEED = {"resources.storageversions", "identity.lease", "resources.leases", "resources.namespaces"}


def without(off: Iterable[str], certificates: Path, directory: Path, *, store: str = "memory:") -> Config:
    """A config with these off and all else on, also what is off by default."""
    flags = [flag_of(path) for path in sorted(off)]
    if not STORAGE_VERSIONS_NEED & set(off):
        flags.append("--resources.storageversions")
    config = config_of(load(GenericOptions, flags, environ={}).options)
    config.port, config.store, config.cert_dir = 0, store, certificates
    config.kubeconfig = directory / "admin.conf"
    return config


def look(off: frozenset[str], certificates: Path, directory: Path) -> list[str]:
    """What can be seen of what is off, in a plane of its own."""

    async def main() -> list[str]:
        async with plane_of(without(off, certificates, directory)) as plane:
            return await seen_though_off(plane)

    return run(main())


def name(off: frozenset[str]) -> str:
    return next(iter(off)) if len(off) == 1 else f"{len(off)}-off-{sorted(off)[0]}"


@pytest.mark.parametrize("off", ALONE if LONG else ALONE[:: len(ALONE) // 8], ids=name)
def test_off_alone(off: frozenset[str], certificates: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert look(off, certificates, tmp_path) == []
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []


@pytest.mark.parametrize("off", PAIRS if LONG else PAIRS[:4], ids=name)
def test_off_together(
    off: frozenset[str], certificates: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert look(off, certificates, tmp_path) == []
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []


def test_every_pair_is_off_together_somewhere() -> None:
    for one in PATHS:
        for other in PATHS:
            assert any({one, other} <= off for off in PAIRS)


def test_the_checks_see_what_is_on(certificates: Path, tmp_path: Path) -> None:
    """With everything on, they find every kind, everywhere."""

    async def main() -> None:
        async with plane_of(without((), certificates, tmp_path)) as plane:
            found = [line async for line in traces(plane.client(), KINDS)]
        for kind in KINDS:
            gvr = kind.gvr(kind.versions[0].name)
            path = f"/{gvr.version}/{gvr.resource}" if not kind.namespaced else f"/{{namespace}}/{gvr.resource}"
            assert f"aggregated discovery has {gvr}" in found
            assert f"discovery has {gvr}" in found
            for document in ("OpenAPI v2 has the path", "OpenAPI v3 of"):
                assert any(line.startswith(document) and line.endswith(path) for line in found), (document, gvr)
            assert any(line.startswith("POST") and f"/{gvr.resource} is answered" in line for line in found), gvr

    run(main())


@pytest.mark.parametrize(
    "sets",
    [pytest.param(PAIRS if LONG else PAIRS[:2], id="pairs"), pytest.param(ALONE if LONG else ALONE[:1], id="alone")],
)
def test_what_was_off_is_there_again(sets: list[frozenset[str]], certificates: Path, tmp_path: Path) -> None:
    """A store that has been served with this and that off has lost nothing when all is on again."""
    store = f"sqlite:{tmp_path}/store.db"
    everywhere = frozenset({"controllers.enabled"})  # what controllers do to these objects is not the question

    async def read() -> dict[str, dict[str, object]]:
        async with plane_of(without(everywhere, certificates, tmp_path, store=store)) as plane:
            return {str(gvr): await client_of(plane, gvr, obj).get(meta.key_of(obj)) for gvr, obj in EXAMPLES}

    async def main() -> None:
        async with plane_of(without(everywhere, certificates, tmp_path, store=store)) as plane:
            for gvr, obj in EXAMPLES:
                await client_of(plane, gvr, obj).create(obj)
        before = await read()
        for off in sets:
            async with plane_of(without(everywhere | off, certificates, tmp_path, store=store)) as plane:
                off_kinds = [kind for kind in KINDS if kind.gr not in served_resources(plane.control_plane.config)]
                assert [line async for line in traces(plane.client(), off_kinds)] == []
        assert await read() == before

    run(main(), seconds=180)


def lasting(obj: Obj) -> Obj:
    """What of an object nobody but its maker changes."""
    metadata = {name: obj["metadata"].get(name) for name in ("name", "namespace", "uid", "creationTimestamp")}
    return {**obj, "metadata": metadata, "status": None}


def client_of(plane: Plane, gvr: GVR, obj: Obj) -> ResourceClient:
    return ResourceClient(plane.client(), gvr, namespaced=bool(meta.namespace(obj)))
