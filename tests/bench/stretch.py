"""The longest single callback on the loop of a plane in this process, kind of work by kind of work, as one JSON line.

    python -m tests.bench.stretch DIRECTORY '{"objects": 7000, …}'

The work comes from other processes: creates until there are ``objects`` of 1 KB, GETs, LISTs of 7,000 of them, writes
that ``watchers`` see, creates of ``definitions`` that are published; ``seconds`` each. Then a list as a table, objects
of ``parts`` parts, and the ``longest`` published definitions. With ``only_creates`` nothing but the creates.
Milliseconds of processor time, garbage collections apart.
"""

from __future__ import annotations

import asyncio
import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from controlplane.base import process
from controlplane.generic.command import WANTED_SOON
from controlplane.testing.planes import running_plane
from tests.bench.traffic_large import TABLE
from tests.processes import target_of
from tests.stretches import Stretches

__all__ = ["CREATES", "measure"]

CREATES = "create, 32 clients"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


async def drive(module: str, *arguments: str) -> int:
    """Run traffic in a process of its own; how many operations it did."""
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", f"tests.bench.{module}", *arguments, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await child.communicate()
    assert child.returncode == 0, f"{module} {arguments} failed"
    return int(json.loads(out)["operations"])


async def measure(
    directory: Path,
    *,
    objects: int = 7000,
    watchers: int = 500,
    definitions: int = 20,
    parts: int = 5000,
    longest: int = 5,
    seconds: float = 3.0,
    only_creates: bool = False,
) -> dict[str, dict[str, Any]]:
    """By kind of work: ``ms`` of the longest callback and which it was, ``collection_ms`` of the longest collection,
    ``operations`` done. For a process of its own, on asyncio's own loop."""
    seen: dict[str, dict[str, Any]] = {}
    async with running_plane(directory, store=f"sqlite:{directory}/store.db") as plane:
        process.serving()
        for module in WANTED_SOON:  # a server imports them aside, once it is ready
            import_module(module)
        options = {
            **target_of(plane.kubeconfig).options(),
            "path": CONFIG_MAPS,
            "seconds": seconds,
            "warm_seconds": 0.0,
        }

        def of(**more: Any) -> str:
            return json.dumps({**options, **more})

        with Stretches() as stretches:

            def note(name: str, operations: int) -> None:
                seen[name] = {
                    "ms": round(stretches.longest_seconds * 1e3, 2),
                    "longest": stretches.longest,
                    "collection_ms": round(stretches.collection_seconds * 1e3, 2),
                    "operations": operations,
                }
                stretches.reset()

            created = part = 0
            while created < objects:
                created, part = created + await drive("load", of(op="create", prefix=f"s{part}")), part + 1
            note(CREATES, created)
            if only_creates:
                return seen
            note("GET, 32 clients", await drive("load", of(path=f"{CONFIG_MAPS}/s0-1")))
            listing = of(path=f"{CONFIG_MAPS}?limit=7000", connections=2)
            note(f"LIST of {min(created, 7000):,}", await drive("load", listing))
            await drive("load", of(path=f"{CONFIG_MAPS}?limit=7000", connections=2, accept=TABLE))
            note("the same as a table", created)
            fan = of(connections=watchers, prefix="fan", path="/api/v1/namespaces/kube-system/configmaps")
            note(f"writes seen by {watchers} watchers", await drive("traffic", "fan", fan))
            defined = await drive("traffic", "definitions", of(), str(definitions))
            if defined:  # none where there is no collection of them beside the checkout
                note("CRD POST", defined)
            note(f"objects of {parts:,} parts", await drive("traffic_large", "objects", of(), str(parts)))
            if changed := await drive("traffic_large", "definitions", of(), str(longest)):
                note("the longest CRDs: POST, patch, apply", changed)
    return seen


if __name__ == "__main__":
    with asyncio.Runner() as runner:
        print(json.dumps(runner.run(measure(Path(sys.argv[1]), **json.loads(sys.argv[2])))))
