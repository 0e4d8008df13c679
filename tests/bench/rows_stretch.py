"""No stretch over 5 ms on the loop, and no garbage collection over 20 ms: each kind of work on its own."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

from tests.bench.report import Row

__all__ = ["measured", "stretches"]


def stretches() -> Iterator[Row]:
    """The longest single callback, by processor time; never scaled."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        seen = measured(directory)
    for name, figures in seen.items():
        detail = {"callback": figures["longest"], "operations": figures["operations"]}
        yield Row(
            name=f"longest callback: {name}", value=figures["ms"], target=5, unit="ms", at_most=True, detail=detail
        )
    longest = max(figures["collection_ms"] for figures in seen.values())
    yield Row(name="longest garbage collection meanwhile", value=longest, target=20, unit="ms", at_most=True)


def measured(directory: str, **options: float) -> dict[str, dict[str, Any]]:
    """What ``tests.bench.stretch`` sees, in a process of its own."""
    command = [sys.executable, "-m", "tests.bench.stretch", directory, json.dumps(options)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    seen: dict[str, dict[str, Any]] = json.loads(done.stdout)
    return seen
