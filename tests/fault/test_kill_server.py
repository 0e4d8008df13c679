"""kill -9 of the whole server under write load on the embedded store.

Every acknowledged write is there afterwards, ``store check`` is clean, and a watch that resumes at the last event it
saw continues without a gap (or is told 410).
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.conftest import LONG
from tests.processes import NO_CONTROLLERS, Plane, sample_plane

ROUNDS = 20 if LONG else 3
PATH = "/api/v1/namespaces/default/configmaps"


@dataclass
class Acknowledged:
    """What a writer was told is stored: name -> the value last acknowledged."""

    written: dict[str, int] = field(default_factory=dict)
    started: threading.Event = field(default_factory=threading.Event)


def write_until_killed(plane: Plane, prefix: str, told: Acknowledged) -> None:
    """Create objects and update each once, as fast as one connection goes."""
    with contextlib.suppress(OSError, http.client.HTTPException), contextlib.closing(plane.connect()) as connection:
        for index in range(1_000_000):
            name = f"{prefix}-{index}"
            for value, method, path in ((1, "POST", PATH), (2, "PUT", f"{PATH}/{name}")):
                body = {
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "metadata": {"name": name},
                    "data": {"value": str(value), "fill": "x" * 500},
                }
                connection.request(method, path, json.dumps(body), {"Content-Type": "application/json"})
                answer = connection.getresponse()
                answer.read()
                if answer.status not in (200, 201):
                    return
                told.written[name] = value
            if index == 20:
                told.started.set()


def watch_names(plane: Plane, version: str, seen: list[tuple[str, str, int]]) -> None:
    """Read a watch until it ends; keep (type, name, resourceVersion) of each event."""
    with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
        with contextlib.closing(plane.connect()) as connection:
            connection.request("GET", f"{PATH}?watch=1&resourceVersion={version}")
            answer = connection.getresponse()
            while line := answer.readline():
                event = json.loads(line)
                meta = event["object"]["metadata"]
                seen.append((event["type"], meta.get("name", ""), int(meta.get("resourceVersion", 0))))


def store_check(directory: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sample_controlplane", "store", "check", f"sqlite:{directory}/store.db"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ},
    )


@pytest.mark.timeout(900)
def test_nothing_acknowledged_is_lost_and_watches_resume(tmp_path: Path) -> None:
    told = Acknowledged()
    seen: list[tuple[str, str, int]] = []
    version = "0"
    for round_ in range(ROUNDS):
        with sample_plane(tmp_path, flags=NO_CONTROLLERS) as plane:
            listed = plane.request("GET", PATH).json()
            stored = {item["metadata"]["name"]: int(item["data"]["value"]) for item in listed["items"]}
            for name, value in told.written.items():
                assert stored.get(name, 0) >= value, f"round {round_}: {name} was acknowledged with value {value}"
            if round_ == 0:
                version = listed["metadata"]["resourceVersion"]
            told.started = threading.Event()
            watcher = threading.Thread(target=watch_names, args=(plane, version, seen))
            watcher.start()
            writers = [
                threading.Thread(target=write_until_killed, args=(plane, f"r{round_}w{w}", told)) for w in range(4)
            ]
            for writer in writers:
                writer.start()
            assert told.started.wait(60)
            plane.kill()
            for thread in (*writers, watcher):
                thread.join()
            if seen:
                assert seen[-1][0] != "ERROR", seen[-1]
                version = str(seen[-1][2])
        checked = store_check(tmp_path)
        assert checked.returncode == 0, checked.stdout + checked.stderr
    revisions = [revision for _, _, revision in seen]
    assert revisions == sorted(set(revisions)), "each event once, in order, over all restarts"
    with sample_plane(tmp_path, flags=NO_CONTROLLERS) as plane:
        tail: list[tuple[str, str, int]] = []
        newest = int(plane.request("GET", PATH).json()["metadata"]["resourceVersion"])
        with contextlib.closing(plane.connect()) as connection:
            connection.request("GET", f"{PATH}?watch=1&resourceVersion={version}&timeoutSeconds=2")
            for line in connection.getresponse().read().splitlines():
                meta = json.loads(line)["object"]["metadata"]
                tail.append((json.loads(line)["type"], meta["name"], int(meta["resourceVersion"])))
        added = {name for kind, name, _ in seen + tail if kind == "ADDED"}
        assert set(told.written) <= added, "the resumed watches missed an acknowledged create"
        assert all(revision <= newest for _, _, revision in tail)
