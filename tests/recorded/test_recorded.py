"""Recorded conversations of the reference server, replayed against ours: each passes, or waits for something named.

``golden.py`` and ``scenarios`` are copies of the shared ones (README.md beside them); they need nothing of the tests.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from controlplane.generic.config import Config
from controlplane.testing.planes import ThreadedPlane, plane_in_thread
from tests.etcd_fixture import etcd_server

HERE = Path(__file__).parent
FOLDERS = (*sorted((HERE / "scenarios").iterdir()), HERE / "own")
"""What was recorded, by area; and conversations of our own, whose answers come from upstream's source: each says from
which file of it."""

WAITING = {
    "delete-propagation-policies": "the garbage collector",
    "discovery-aggregated-core": "serviceaccounts/token",
    "discovery-core-resources": "serviceaccounts/token",
    "discovery-group-and-version": "the review kinds",
    "discovery-group-order": "the review kinds",
    "service-accounts-token": "serviceaccounts/token",
    "cel-has-and-escaping": "CEL",
    "cel-library-network-quantity": "CEL",
    "cel-message-reason-fieldpath": "CEL",
    "cel-on-root-and-metadata-name": "CEL",
    "cel-transition-rules": "CEL",
    "crd-cel-compile-errors": "CEL",
    "crd-cel-cost-over-budget": "CEL",
    "crd-cel-rule-options": "CEL",
}
"""Scenario -> what it waits for. One that passes must leave this list."""


def without_controllers(config: Config) -> None:
    """As the reference was recorded."""
    config.run_controllers = False


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreadedPlane]:
    with plane_in_thread(tmp_path_factory.mktemp("recorded"), configure=without_controllers) as running:
        yield running


@pytest.mark.timeout(300)
@pytest.mark.parametrize("folder", FOLDERS, ids=[folder.name for folder in FOLDERS])
def test_conversations_are_answered_as_by_the_reference(plane: ThreadedPlane, folder: Path) -> None:
    check(plane, folder)


@pytest.mark.etcd
@pytest.mark.timeout(300)
def test_core_conversations_are_answered_alike_on_etcd(tmp_path: Path) -> None:
    with (
        etcd_server("local") as location,
        plane_in_thread(tmp_path, store=f"etcd:{location}", configure=without_controllers) as running,
    ):
        check(running, HERE / "scenarios" / "core")


def check(plane: ThreadedPlane, folder: Path) -> None:
    """Replay a folder's conversations: those that wait differ, all others do not."""
    command = ["check", "--kubeconfig", str(plane.kubeconfig), "--jobs", "2", str(folder)]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(HERE / "golden.py"), *command],
        capture_output=True,
        text=True,
        check=False,
    )
    differing = set(re.findall(r"^DIFFERS (\S+)$", done.stdout, re.MULTILINE))
    waiting = {name for name in WAITING if (folder / f"{name}.yaml").exists()}
    assert re.search(r"^\d+ passed, \d+ failed$", done.stdout, re.MULTILINE), done.stdout + done.stderr
    assert differing - waiting == set(), done.stdout
    assert waiting - differing == set(), "these pass now: take them off the list"
