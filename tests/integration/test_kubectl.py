"""A person with kubectl: the commands of the README against the sample as a process, on each store."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.kubectl_plane import kubectl_plane
from tests.processes import Plane, binary
from tests.stores import STORES

pytestmark = pytest.mark.kubectl


@pytest.fixture(scope="module", params=STORES)
def plane(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plane]:
    yield from kubectl_plane(request.param, tmp_path_factory)


def kubectl(plane: Plane, *arguments: str, stdin: str | None = None, code: int = 0) -> str:
    program = binary("kubectl")
    assert program is not None
    cache = plane.directory / "kubectl-cache"
    done = subprocess.run(
        [program, f"--kubeconfig={plane.kubeconfig}", f"--cache-dir={cache}", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_system_namespaces_are_there(plane: Plane) -> None:
    names = kubectl(plane, "get", "ns", "-o", "name").split()
    assert {"namespace/default", "namespace/kube-system", "namespace/kube-public"} <= set(names)


def test_go_clients_speak_protobuf(plane: Plane) -> None:
    """kubectl's typed commands prefer it, so this is client-go reading and writing ours."""
    made = kubectl(plane, "create", "secret", "generic", "typed", "--from-literal=a=b", "-v=8")
    assert "secret/typed created" in made
    assert made.count("Content-Type: application/vnd.kubernetes.protobuf") == 2  # the request's, and the answer's
    assert 'secrets "typed" already exists' in kubectl(
        plane, "create", "secret", "generic", "typed", "--from-literal=a=b", code=1
    )
    shown = kubectl(plane, "describe", "secret", "typed", "-v=8")
    assert "Content-Type: application/vnd.kubernetes.protobuf" in shown
    assert "a:  1 bytes" in shown
    kubectl(plane, "create", "quota", "typed", "--hard=configmaps=7,count/secrets=5k")
    assert "Name:     typed" in kubectl(plane, "describe", "namespace", "default")  # a list
    hard = json.loads(kubectl(plane, "get", "quota", "typed", "-o", "jsonpath={.spec.hard}"))
    assert hard == {"configmaps": "7", "count/secrets": "5k"}
    kubectl(plane, "create", "role", "typed", "--verb=get,list", "--resource=configmaps", "--resource-name=x")
    assert re.search(r"configmaps +\[\] +\[x\] +\[get list\]", kubectl(plane, "describe", "role", "typed"))
    kubectl(plane, "delete", "secret/typed", "quota/typed", "role/typed")


def test_create_get_patch_delete_a_configmap(plane: Plane) -> None:
    manifest = json.dumps(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shop"}, "data": {"color": "red"}}
    )
    assert "configmap/shop created" in kubectl(plane, "create", "--validate=false", "-f", "-", stdin=manifest)
    assert "AlreadyExists" in kubectl(plane, "create", "--validate=false", "-f", "-", stdin=manifest, code=1)
    got = json.loads(kubectl(plane, "get", "cm", "shop", "-o", "json"))
    assert got["data"] == {"color": "red"}
    kubectl(plane, "patch", "cm", "shop", "--type=merge", "-p", '{"data":{"color":"blue","size":"9"}}')
    kubectl(plane, "patch", "cm", "shop", "--type=json", "-p", '[{"op":"remove","path":"/data/size"}]')
    assert json.loads(kubectl(plane, "get", "cm", "shop", "-o", "json"))["data"] == {"color": "blue"}
    assert 'configmap "shop" deleted' in kubectl(plane, "delete", "cm", "shop")
    assert "NotFound" in kubectl(plane, "get", "cm", "shop", code=1)


def test_yaml_manifest(plane: Plane) -> None:
    manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: yaml\ndata:\n  a: |\n    two\n    lines\n"
    kubectl(plane, "create", "--validate=false", "-f", "-", stdin=manifest)
    assert kubectl(plane, "get", "cm", "yaml", "-o", "jsonpath={.data.a}") == "two\nlines\n"
    kubectl(plane, "delete", "cm", "yaml")


def test_watch_shows_events(plane: Plane) -> None:
    program = binary("kubectl")
    assert program is not None
    command = [program, f"--kubeconfig={plane.kubeconfig}", "get", "cm", "-w", "-o", "name"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as watch:
        try:
            assert watch.stdout is not None
            kubectl(plane, "create", "configmap", "seen", "--from-literal=a=b", "--validate=false")
            assert any(line.strip() == "configmap/seen" for line in watch.stdout)
        finally:
            watch.kill()
    kubectl(plane, "delete", "cm", "seen")


def test_labels_and_selectors(plane: Plane) -> None:
    for name, color in (("one", "red"), ("two", "blue")):
        kubectl(plane, "create", "configmap", name, "--validate=false")
        kubectl(plane, "label", "cm", name, f"color={color}")
    assert kubectl(plane, "get", "cm", "-l", "color=red", "-o", "name") == "configmap/one\n"
    assert kubectl(plane, "get", "cm", "--field-selector", "metadata.name=two", "-o", "name") == "configmap/two\n"
    kubectl(plane, "delete", "cm", "-l", "color in (red,blue)")


def test_chunked_list(plane: Plane) -> None:
    for index in range(7):
        kubectl(plane, "create", "configmap", f"page-{index}", "--validate=false")
    names = kubectl(plane, "get", "cm", "--chunk-size=2", "-o", "name").split()
    assert {f"configmap/page-{i}" for i in range(7)} <= set(names)
    kubectl(plane, "delete", "cm", *[f"page-{i}" for i in range(7)])


@pytest.mark.parametrize(
    ("path", "text"),
    [
        pytest.param("/healthz", "ok", id="healthz"),
        pytest.param("/readyz?verbose", "readyz check passed", id="readyz"),
        pytest.param("/version", "gitVersion", id="version"),
        pytest.param("/api/v1", "configmaps", id="resources"),
        pytest.param("/apis", "coordination.k8s.io", id="groups"),
        pytest.param("/metrics", "apiserver_request_total", id="metrics"),
    ],
)
def test_raw_reads(plane: Plane, path: str, text: str) -> None:
    assert text in kubectl(plane, "get", "--raw", path)


def test_api_resources_lists_what_is_served(plane: Plane) -> None:
    out = kubectl(plane, "api-resources", "-o", "name").split()
    assert {"namespaces", "configmaps", "leases.coordination.k8s.io"} <= set(out)


def test_admin_conf_is_private(plane: Plane) -> None:
    assert Path(plane.kubeconfig).stat().st_mode & 0o777 == 0o600


def test_service_accounts_and_who_one_is(plane: Plane) -> None:
    assert "admin" in kubectl(plane, "auth", "whoami", "-o", "jsonpath={.status.userInfo.username}")
    kubectl(plane, "create", "serviceaccount", "robot")
    token = kubectl(plane, "create", "token", "robot", "--duration=20m").strip()
    assert token.count(".") == 2
    bound = ("--audience=bank", "--bound-object-kind=Secret", "--bound-object-name=none")
    other = kubectl(plane, "create", "token", "robot", *bound, code=1)
    assert 'secrets "none" not found' in other
    jane = kubectl(plane, "auth", "whoami", "--as=jane", "--as-group=system:masters", "-o", "json")
    assert json.loads(jane)["status"]["userInfo"] == {
        "username": "jane",
        "groups": ["system:masters", "system:authenticated"],
    }
    refused = kubectl(plane, "get", "--raw", "/api/v1/namespaces", "--as=jane", code=1)
    assert 'User "jane" cannot list resource "namespaces"' in refused
