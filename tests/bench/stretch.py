"""The longest stretch on the loop while a plane in this process is written to and read from outside, as one JSON line.

    python -m tests.bench.stretch DIRECTORY OBJECTS

Creates ``OBJECTS`` of 1 KB from another process, then lists and gets them. The loop's own processor time is measured in
every turn (``LagMonitor(interval_seconds=0)``), so what the machine gives to others meanwhile is not in it.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import uvloop

from controlplane.base import process
from controlplane.base.lag import LagMonitor
from controlplane.testing.planes import running_plane
from tests.processes import target_of

__all__ = ["measure"]


async def load(options: dict[str, object]) -> dict[str, object]:
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.bench.load", json.dumps(options), stdout=asyncio.subprocess.PIPE
    )
    out, _ = await child.communicate()
    result: dict[str, object] = json.loads(out)
    return result


async def measure(directory: Path, objects: int) -> dict[str, float]:
    """Longest stretches in ms: while creating, listing, getting."""
    longest: dict[str, float] = {}
    async with running_plane(directory, store=f"sqlite:{directory}/store.db") as plane:
        process.serving()
        target = target_of(plane.kubeconfig).options()
        path = "/api/v1/namespaces/default/configmaps"
        lag = LagMonitor(interval_seconds=0)
        lag.start()
        created, part = 0, 0
        while created < objects:
            done = await load({**target, "op": "create", "path": path, "seconds": 4.0, "prefix": f"s{part}"})
            created, part = created + int(str(done["operations"])), part + 1
        for name, options in (
            ("creating", {}),
            ("listing", {"op": "get", "path": f"{path}?limit=7000", "connections": 2}),
            ("getting", {"op": "get", "path": f"{path}/s0-1", "connections": 32}),
        ):
            if options:
                await load({**target, **options, "seconds": 4.0})
            longest[name] = round(lag.longest_busy_seconds * 1000, 2)
            longest[f"{name}, collection"] = round(process.LONGEST_COLLECTION.labels_cached(()).value * 1000, 2)
            lag.reset()
        lag.stop()
    return {**longest, "objects": created}


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        print(json.dumps(runner.run(measure(Path(sys.argv[1]), int(sys.argv[2])))))
