"""How long a plane takes in this process, imports done: seconds to /readyz, seven times, as one JSON list."""

from __future__ import annotations

import asyncio
import json
import time

import uvloop

from controlplane.testing.planes import running_plane

__all__ = ["measure"]


async def measure() -> float:
    begin = time.perf_counter()
    async with running_plane():
        return round(time.perf_counter() - begin, 3)


if __name__ == "__main__":
    times = []
    for _ in range(7):
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            times.append(runner.run(measure()))
    print(json.dumps(times))
