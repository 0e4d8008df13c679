"""A definition and an object of it in one file: what ``kubectl apply`` and ``create`` make of it, on each store.

kubectl finds the kind of every document before it applies the first, so that the first run cannot reach the object,
whatever the server does. The server's part is that the next run does, at once (docs/kubectl.md).
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.kubectl_plane import kubectl_plane
from tests.processes import Plane, binary
from tests.stores import STORES

pytestmark = pytest.mark.kubectl

GROUPS = {"--client": "a.example.org", "--server-side": "b.example.org", "create": "c.example.org"}

BOTH = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: walls.{group}}}
spec:
  group: {group}
  scope: Namespaced
  names: {{plural: walls, singular: wall, kind: Wall}}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema: {{type: object, properties: {{spec: {{type: object, properties: {{color: {{type: string}}}}}}}}}}
---
apiVersion: {group}/v1
kind: Wall
metadata: {{name: north, namespace: default}}
spec: {{color: red}}
"""


@pytest.fixture(scope="module", params=STORES)
def plane(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plane]:
    yield from kubectl_plane(request.param, tmp_path_factory)


def kubectl(plane: Plane, *arguments: str, stdin: str = "") -> tuple[int, str]:
    """Exit status and all that it printed."""
    program = binary("kubectl")
    assert program is not None
    done = subprocess.run(
        [program, f"--kubeconfig={plane.kubeconfig}", f"--cache-dir={plane.directory}/kubectl-cache", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("mode", ["--client", "--server-side"])
def test_the_second_apply_reaches_the_object_without_a_wait(plane: Plane, mode: str) -> None:
    apply = ["apply", "-f", "-", *([] if mode == "--client" else [mode])]
    both = BOTH.format(group=GROUPS[mode])
    status, first = kubectl(plane, *apply, stdin=both)
    assert f"customresourcedefinition.apiextensions.k8s.io/walls.{GROUPS[mode]} " in first
    if status:  # a kubectl that can do it in one run is welcome
        assert "ensure CRDs are installed first" in first
        status, second = kubectl(plane, *apply, stdin=both)
        assert status == 0, second
        assert f"wall.{GROUPS[mode]}/north {'created' if mode == '--client' else 'serverside-applied'}" in second
    assert kubectl(plane, "get", f"walls.{GROUPS[mode]}", "-o", "jsonpath={..spec.color}") == (0, "red")


def test_create_reaches_the_object_in_one_run(plane: Plane, tmp_path: Path) -> None:
    kubectl(plane, "get", "namespaces")  # with a cache from an earlier run kubectl asks again for what it does not find
    both = tmp_path / "both.yaml"
    both.write_text(BOTH.format(group=GROUPS["create"]))
    status, shown = kubectl(plane, "create", "-f", str(both))
    assert status == 0, shown
    assert f"wall.{GROUPS['create']}/north created" in shown
