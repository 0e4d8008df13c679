"""A person with kubectl who applies, edits and patches: on the client side and on the server's, on each store."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.kubectl_plane import kubectl_plane
from tests.processes import Plane, binary
from tests.stores import STORES

pytestmark = pytest.mark.kubectl


@pytest.fixture(scope="module", params=STORES)
def plane(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plane]:
    yield from kubectl_plane(request.param, tmp_path_factory)


def kubectl(plane: Plane, *arguments: str, stdin: Any = None, code: int = 0) -> str:
    """Run kubectl; ``stdin`` that is no text is sent as JSON. Gives what it printed."""
    program = binary("kubectl")
    assert program is not None
    cache = plane.directory / "kubectl-cache"
    done = subprocess.run(
        [program, f"--kubeconfig={plane.kubeconfig}", f"--cache-dir={cache}", *arguments],
        input=stdin if isinstance(stdin, str) or stdin is None else json.dumps(stdin),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def apply(plane: Plane, obj: Any, *arguments: str, code: int = 0) -> str:
    return kubectl(plane, "apply", "-f", "-", *arguments, stdin=obj, code=code)


def server_apply(plane: Plane, obj: Any, manager: str, *arguments: str, code: int = 0) -> str:
    return apply(plane, obj, "--server-side", f"--field-manager={manager}", *arguments, code=code)


def config_map(name: str, data: dict[str, str], **metadata: Any) -> Any:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}, "data": data}


def get(plane: Plane, name: str) -> Any:
    return json.loads(kubectl(plane, "get", "cm", name, "-o", "json", "--show-managed-fields"))


def managers(obj: Any) -> dict[str, str]:
    return {entry["manager"]: entry["operation"] for entry in obj["metadata"]["managedFields"]}


def test_apply_on_the_client_side_creates_changes_and_removes(plane: Plane) -> None:
    assert "configmap/client created" in apply(plane, config_map("client", {"a": "1", "b": "2"}, labels={"x": "y"}))
    assert "configmap/client unchanged" in apply(plane, config_map("client", {"a": "1", "b": "2"}, labels={"x": "y"}))
    assert "configmap/client configured" in apply(plane, config_map("client", {"a": "3"}))
    stored = get(plane, "client")
    assert stored["data"] == {"a": "3"}
    assert "labels" not in stored["metadata"]
    assert managers(stored) == {"kubectl-client-side-apply": "Update"}


def test_apply_on_the_server_side_refuses_what_another_owns_until_it_is_forced(plane: Plane) -> None:
    assert "configmap/server serverside-applied" in server_apply(plane, config_map("server", {"a": "1"}), "one")
    assert 'conflict with "one": .data.a' in server_apply(plane, config_map("server", {"a": "2"}), "two", code=1)
    server_apply(plane, config_map("server", {"a": "2"}), "two", "--force-conflicts")
    server_apply(plane, config_map("server", {"b": "1"}), "one")
    stored = get(plane, "server")
    assert stored["data"] == {"a": "2", "b": "1"}
    assert managers(stored) == {"one": "Apply", "two": "Apply"}


def test_apply_moves_from_the_client_side_to_the_servers(plane: Plane) -> None:
    apply(plane, config_map("moved", {"a": "1"}))
    server_apply(plane, config_map("moved", {"a": "2"}), "kubectl")
    server_apply(plane, config_map("moved", {"b": "1"}), "kubectl")
    stored = get(plane, "moved")
    assert stored["data"] == {"b": "1"}
    assert "kubectl-client-side-apply" not in managers(stored)


def test_diff_shows_what_an_apply_would_change(plane: Plane) -> None:
    server_apply(plane, config_map("differs", {"a": "1"}), "kubectl")
    changed = config_map("differs", {"a": "2"})
    for mode in ((), ("--server-side",)):
        shown = kubectl(plane, "diff", "-f", "-", *mode, stdin=changed, code=1)
        assert '-  a: "1"' in shown
        assert '+  a: "2"' in shown
    assert get(plane, "differs")["data"] == {"a": "1"}


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        pytest.param("strategic", '{"data":{"b":"2","a":null}}', id="strategic merge patch"),
        pytest.param("merge", '{"data":{"b":"2","a":null}}', id="merge patch"),
        pytest.param(
            "json",
            '[{"op":"remove","path":"/data/a"},{"op":"add","path":"/data/b","value":"2"}]',
            id="JSON patch",
        ),
    ],
)
def test_patch_in_each_type(plane: Plane, kind: str, patch: str) -> None:
    name = f"patched-{kind}"
    apply(plane, config_map(name, {"a": "1"}))
    kubectl(plane, "patch", "cm", name, f"--type={kind}", "-p", patch)
    stored = get(plane, name)
    assert stored["data"] == {"b": "2"}
    assert managers(stored)["kubectl-patch"] == "Update"


def test_label_annotate_replace_and_edit_say_who_they_are(plane: Plane, monkeypatch: pytest.MonkeyPatch) -> None:
    server_apply(plane, config_map("edited", {"a": "1"}), "one")
    kubectl(plane, "label", "cm", "edited", "l=1")
    kubectl(plane, "annotate", "cm", "edited", "n=1")
    monkeypatch.setenv("KUBE_EDITOR", 'sed -i \'s/  a: "1"/  a: "9"/\'')
    assert "configmap/edited edited" in kubectl(plane, "edit", "cm", "edited")
    stored = get(plane, "edited")
    assert stored["data"] == {"a": "9"}
    assert managers(stored) == {"kubectl-annotate": "Update", "kubectl-edit": "Update", "kubectl-label": "Update"}
    kubectl(plane, "replace", "-f", "-", stdin=config_map("edited", {"z": "1"}))
    assert managers(get(plane, "edited")) == {"kubectl-replace": "Update"}
