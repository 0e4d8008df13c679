"""A kopf operator, unchanged: handlers, finalizers, and going on after its own restart and the server's."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from controlplane.testing.planes import ThreadedPlane
from tests.integration.clients.rest import Rest, eventually
from tests.integration.clients.widgets import COLLECTION, DEFINITION, DEFINITIONS
from tests.processes import free_port, sample_plane

pytest.importorskip("kopf", reason="no kopf (PyPI: kopf)")
pytestmark = pytest.mark.filterwarnings("default")

OPERATOR = Path(__file__).with_name("kopf_operator.py")
FINALIZER = "example.org/operator"


@dataclass(frozen=True)
class Watched:
    """What the operator watches: how kopf names it, where it lives, and what an object of a color is."""

    name: str
    collection: str
    template: dict[str, Any]
    section: str
    definition: dict[str, Any] | None = None

    def define(self, rest: Rest) -> None:
        """Make the custom resource, where it is one."""
        if self.definition is not None:
            rest.create(DEFINITIONS, self.definition)

    def color_seen(self, obj: Any) -> Any:
        """What the operator last wrote to the object: to its status, or where a kind has none, to a label."""
        written = obj.get("status", {}) if self.section == "spec" else obj["metadata"].get("labels", {})
        return written.get("painted")

    def object(self, name: str, color: str) -> dict[str, Any]:
        return {**self.template, "metadata": {"name": name}, self.section: {"color": color}}


CONFIGMAPS = Watched(
    "configmaps", "/api/v1/namespaces/default/configmaps", {"apiVersion": "v1", "kind": "ConfigMap"}, "data"
)
WIDGETS = Watched(
    "widgets.example.org", COLLECTION, {"apiVersion": "example.org/v1", "kind": "Widget"}, "spec", DEFINITION
)


@dataclass
class Journal:
    """What the operator's handlers wrote down, over all its starts."""

    path: Path

    def lines(self) -> list[str]:
        return self.path.read_text().splitlines() if self.path.exists() else []

    def wait(self, line: str, *, times: int = 1) -> None:
        eventually(self.lines, lambda lines: lines.count(line) >= times)


@contextmanager
def operator(kubeconfig: Path, journal: Journal, watched: Watched, **env: str) -> Iterator[subprocess.Popen[bytes]]:
    """``kopf run`` in a process, until the block ends."""
    log_path = journal.path.with_suffix(".log")
    with log_path.open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "kopf", "run", "--standalone", "--namespace=default", str(OPERATOR)],
            env={
                **os.environ,
                "KUBECONFIG": str(kubeconfig),
                "OPERATOR_JOURNAL": str(journal.path),
                "OPERATOR_RESOURCE": watched.name,
                "OPERATOR_SECTION": watched.section,
                **env,
            },
            stdout=log,
            stderr=log,
        )
        try:
            yield process
            assert process.poll() in (None, -signal.SIGKILL), log_path.read_text()[-3000:]
        except TimeoutError as error:
            error.add_note(log_path.read_text()[-5000:])
            raise
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "journal.txt")


@pytest.fixture(params=[CONFIGMAPS, WIDGETS], ids=lambda watched: watched.name)
def watched(request: pytest.FixtureRequest) -> Watched:
    found: Watched = request.param
    return found


def test_handlers_of_an_objects_life(control_plane: ThreadedPlane, journal: Journal, watched: Watched) -> None:
    rest = Rest(control_plane.kubeconfig)
    watched.define(rest)
    path = f"{watched.collection}/door"
    with operator(control_plane.kubeconfig, journal, watched):
        rest.create(watched.collection, watched.object("door", "red"))
        made = eventually(lambda: rest.get(path), lambda door: watched.color_seen(door) == "red")
        assert made["metadata"]["finalizers"] == [FINALIZER]
        rest.merge(path, {watched.section: {"color": "blue"}})
        journal.wait("update door blue")
        eventually(lambda: rest.get(path), lambda door: watched.color_seen(door) == "blue")
        rest.delete(path)
        eventually(lambda: rest.get(path), lambda door: door is None)
    assert journal.lines() == ["create door red", "update door blue", "delete door blue"]


def test_finalizer_holds_until_the_restarted_operator_lets_go(
    control_plane: ThreadedPlane, journal: Journal, watched: Watched
) -> None:
    rest = Rest(control_plane.kubeconfig)
    watched.define(rest)
    path = f"{watched.collection}/door"
    with operator(control_plane.kubeconfig, journal, watched, OPERATOR_STUCK="1") as process:
        rest.create(watched.collection, watched.object("door", "red"))
        rest.create(watched.collection, watched.object("gate", "green"))
        for line in ("create door red", "create gate green"):
            journal.wait(line)
        eventually(lambda: rest.get(path), lambda door: watched.color_seen(door) == "red")
        rest.delete(path)
        journal.wait("stuck door red")
        process.kill()
        process.wait()
    held = rest.get(path)
    assert held["metadata"]["deletionTimestamp"]
    assert held["metadata"]["finalizers"] == [FINALIZER]
    rest.merge(f"{watched.collection}/gate", {watched.section: {"color": "white"}})  # while nobody watches
    journal.path.unlink()
    rest.merge(path, {"metadata": {"annotations": {"operator.example.org/deleted": None}}})  # forget the delay of 600 s
    with operator(control_plane.kubeconfig, journal, watched):
        journal.wait("resume gate white")
        journal.wait("update gate white")
        eventually(lambda: rest.get(path), lambda door: door is None)
    assert sorted(journal.lines()) == ["delete door red", "resume gate white", "update gate white"]


def test_operator_goes_on_when_the_server_is_back(tmp_path: Path, journal: Journal, watched: Watched) -> None:
    """The operator runs all the time; the server is killed and started again on its store and port."""
    port = free_port()
    path = f"{watched.collection}/door"
    with sample_plane(tmp_path, port=port) as plane:
        rest = Rest(plane.kubeconfig)
        watched.define(rest)
        eventually(lambda: rest.get("/api/v1/namespaces/default"), bool)  # a loop makes it
        with operator(plane.kubeconfig, journal, watched) as running:
            rest.create(watched.collection, watched.object("door", "red"))
            eventually(lambda: rest.get(path), lambda door: watched.color_seen(door) == "red")
            plane.kill()
            with sample_plane(tmp_path, port=port):
                rest.merge(path, {watched.section: {"color": "blue"}})
                journal.wait("update door blue")
                rest.create(watched.collection, watched.object("gate", "green"))
                journal.wait("create gate green")
                rest.delete(path)
                eventually(lambda: rest.get(path), lambda door: door is None)
                assert running.poll() is None
    assert journal.lines() == ["create door red", "update door blue", "create gate green", "delete door blue"]
