"""Recorded conversations of the reference server, replayed against ours: each passes, or waits for something named.

``golden.py`` and ``scenarios`` are copies of the shared ones (README.md beside them); they need nothing of the tests.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from controlplane.generic.builtin import CONTROLLERS
from controlplane.generic.config import Config
from controlplane.testing.planes import ThreadedPlane, plane_in_thread
from tests.etcd_fixture import etcd_server

HERE = Path(__file__).parent
FOLDERS = (*sorted((HERE / "scenarios").iterdir()), HERE / "own")
"""What was recorded, by area; and conversations of our own, whose answers come from upstream's source: each says from
which file of it."""

WAITING: dict[str, str] = {}
"""Scenario -> what it waits for. One that passes must leave this list."""


@contextmanager
def recorded_plane(directory: Path, *, controllers: bool, store: str = "memory:") -> Iterator[ThreadedPlane]:
    """A plane with all controllers, at work or not."""

    def configure(config: Config) -> None:
        config.run_controllers = controllers
        config.controllers = list(CONTROLLERS)

    with plane_in_thread(directory, store=store, configure=configure) as running:
        yield running


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreadedPlane]:
    """As the reference was recorded: without controllers."""
    with recorded_plane(tmp_path_factory.mktemp("recorded"), controllers=False) as running:
        yield running


@pytest.fixture(scope="module")
def plane_with_controllers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreadedPlane]:
    with recorded_plane(tmp_path_factory.mktemp("controllers"), controllers=True) as running:
        yield running


@pytest.mark.timeout(300)
@pytest.mark.parametrize("folder", FOLDERS, ids=[folder.name for folder in FOLDERS])
def test_conversations_are_answered_as_by_the_reference(request: pytest.FixtureRequest, folder: Path) -> None:
    name = "plane_with_controllers" if folder.name == "controllers" else "plane"
    plane: ThreadedPlane = request.getfixturevalue(name)
    check(plane, folder)


@pytest.mark.etcd
@pytest.mark.timeout(300)
def test_core_conversations_are_answered_alike_on_etcd(tmp_path: Path) -> None:
    with (
        etcd_server("local") as location,
        recorded_plane(tmp_path, controllers=False, store=f"etcd:{location}") as running,
    ):
        check(running, HERE / "scenarios" / "core")


def check(plane: ThreadedPlane, folder: Path) -> None:
    """Replay a folder's conversations: those that wait differ, all others do not."""
    tried = sorted(folder.glob("*.yaml"))
    command = ["check", "--kubeconfig", str(plane.kubeconfig), "--jobs", "2", *map(str, tried)]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(HERE / "golden.py"), *command],
        capture_output=True,
        text=True,
        check=False,
    )
    differing = set(re.findall(r"^DIFFERS (\S+)$", done.stdout, re.MULTILINE))
    waiting = {path.stem for path in tried if path.stem in WAITING}
    assert re.search(r"^\d+ passed, \d+ failed$", done.stdout, re.MULTILINE), done.stdout + done.stderr
    assert differing - waiting == set(), done.stdout
    assert waiting - differing == set(), "these pass now: take them off the list"
