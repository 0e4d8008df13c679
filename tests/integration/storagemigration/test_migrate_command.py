"""``migrate``: as a person runs it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from controlplane.generic.migrate_command import migrate_command
from controlplane.testing.planes import Plane, ThreadedPlane, plane_in_thread
from tests.integration.storagemigration.test_migrations import refuses
from tests.integration.storagemigration.widgets import Migrations
from tests.processes import binary


@pytest.fixture(scope="module")
def plane() -> Iterator[ThreadedPlane]:
    """Five widgets to migrate, of which the last cannot be written once it is called so."""

    async def fill(plane: Plane) -> None:
        m = Migrations(plane)
        await m.define()
        await m.make_widgets(5)
        await m.store_as_v1()

    with plane_in_thread(configure=lambda config: refuses("w00009", config)) as running:
        running.run(fill)
        yield running


def migrate(plane: ThreadedPlane, resource: str) -> int:
    return migrate_command([resource, "--kubeconfig", str(plane.kubeconfig)], program="migrate")


def kubectl(plane: ThreadedPlane, *words: str) -> str:
    program = binary("kubectl")
    assert program is not None
    command = [program, "--kubeconfig", str(plane.kubeconfig), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.kubectl
def test_progress_and_counts_are_shown_and_kubectl_tells_the_same(
    plane: ThreadedPlane, capsys: pytest.CaptureFixture[str]
) -> None:
    assert migrate(plane, "widget") == 0
    created, *running, counts, last = capsys.readouterr().out.splitlines()
    name = created.removeprefix("storageversionmigration ").removesuffix(" created")
    assert name.startswith("widgets.example.org-")
    assert "The migration is running" in running
    assert counts == (
        "5 seen: 5 rewritten, 0 already current, 0 changed or deleted meanwhile, 0 failed; stored now: 5 as v1"
    )
    assert last == "succeeded"
    head, row = kubectl(plane, "get", "storageversionmigrations").splitlines()
    assert (head.split(), row.split()) == (["NAME", "RESOURCE", "STATUS"], [name, "widgets.example.org", "Succeeded"])
    assert counts in kubectl(plane, "describe", "storageversionmigration", name)


def test_a_failure_is_the_exit_status(plane: ThreadedPlane, capsys: pytest.CaptureFixture[str]) -> None:
    async def again(plane: Plane) -> None:
        await plane.reset()
        m = Migrations(plane)
        await m.define()
        await m.make_widgets(10)
        await m.store_as_v1()

    plane.run(again)
    assert migrate(plane, "widgets.example.org") == 1
    assert capsys.readouterr().out.splitlines()[-1].startswith("failed: migration encountered unhandled error: ")


def test_a_resource_that_is_not_there_is_said_at_once(plane: ThreadedPlane, capsys: pytest.CaptureFixture[str]) -> None:
    assert migrate(plane, "nothings") == 1
    assert "'nothings' names no single resource" in capsys.readouterr().err


def test_what_is_missing_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert migrate_command([], program="migrate") == 2
    assert migrate_command(["widgets"], program="migrate") == 2
    assert capsys.readouterr().err == "migrate: no RESOURCE is named\nmigrate: --kubeconfig: must be given\n"
