"""@kubernetes/client-node, unchanged, from the npm registry: the scenarios of client_node.mjs, each a test."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from controlplane.testing.planes import ThreadedPlane
from tests.integration.clients.widgets import DEFINITION

PROGRAM = Path(__file__).with_name("client_node.mjs")
SCENARIOS = re.findall(r"^  async (\w+)\(\) {$", PROGRAM.read_text(), re.MULTILINE)
PACKAGE = "@kubernetes/client-node@~1.3.0"  # 1.x: 2.x asks for node 22
OUT_OF_REACH = re.compile(r"\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)\b")


@pytest.fixture(scope="session")
def installed(request: pytest.FixtureRequest) -> Path:
    """A directory where the package is installed; kept in pytest's cache, since npm takes 10 s and more."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip("no node and npm on this machine")
    cache = request.config.cache
    assert cache is not None
    directory = cache.mkdir("client-node-1.3")
    if not (directory / "node_modules" / ".package-lock.json").exists():  # npm writes it last
        (directory / "package.json").write_text('{"private": true, "type": "module"}')
        done = subprocess.run(
            [npm, "install", "--no-audit", "--no-fund", "--fetch-retries=0", PACKAGE],
            cwd=directory,
            capture_output=True,
            text=True,
            timeout=110,
            check=False,
        )
        if done.returncode and OUT_OF_REACH.search(done.stderr):
            pytest.skip("the npm registry is out of reach")
        assert done.returncode == 0, done.stderr
    shutil.copy(PROGRAM, directory)  # node looks for packages beside the program
    return directory


def test_scenarios_are_found() -> None:
    assert SCENARIOS == ["list", "watch", "informer", "patch", "custom", "delete"]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_client_node(control_plane: ThreadedPlane, installed: Path, scenario: str) -> None:
    done = subprocess.run(
        ["node", PROGRAM.name, scenario],
        cwd=installed,
        env={**os.environ, "KUBECONFIG": str(control_plane.kubeconfig), "DEFINITION": json.dumps(DEFINITION)},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
