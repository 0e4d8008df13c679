"""The two servers as processes of their own, on one etcd."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.integration.peerproxy.program import SERVER
from tests.processes import NO_CONTROLLERS, Plane, sample_plane

__all__ = ["server", "soon"]

PROGRAM = "tests.integration.peerproxy.program"


@contextmanager
def server(name: str, directory: Path, store: str, *, port: int = 0) -> Iterator[Plane]:
    """Server "a" or "b", with keys that both have."""
    (directory / name).mkdir(exist_ok=True)
    os.environ[SERVER] = name
    flags = (f"--cert-dir={directory / 'certs'}", "--peer-proxy", *NO_CONTROLLERS)
    with sample_plane(directory / name, store=store, flags=flags, port=port, module=PROGRAM) as plane:
        yield plane


def soon(plane: Plane, path: str, status: int, *, seconds: float = 10.0) -> float:
    """Ask until the answer has this status; how long that took."""
    began = time.perf_counter()
    while (answer := plane.request("GET", path)).status != status:
        assert time.perf_counter() - began < seconds, (path, answer.status, answer.body[:300])
        time.sleep(0.02)
    return time.perf_counter() - began
