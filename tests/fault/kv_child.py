"""A process that writes to a store and tells each acknowledged write on its standard output, one JSON line a write.

    python -m tests.fault.kv_child STORE CLIENTS WRITES

``WRITES`` 0: until killed. Lines: ``{"revision": …, "key": …, "size": …}``; ``size`` null is a deletion. A line leaves
the process by one ``write`` to the pipe, after the store's answer and before the client's next write.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys

import uvloop

from controlplane.storage.kv.api import ABSENT, KV
from controlplane.storage.kv.backends import open_kv


def tell(revision: int, key: bytes, size: int | None) -> None:
    os.write(1, json.dumps({"revision": revision, "key": key.decode(), "size": size}).encode() + b"\n")


async def write(kv: KV, key: bytes, writes: int) -> None:
    """Create, grow, delete, again and again. Starts from what is stored."""
    stored = (await kv.range(key, b"")).items
    revision = stored[0].mod_revision if stored else ABSENT
    n = 0
    while n < writes or not writes:
        if revision and n % 7 == 6:
            result, size = await kv.delete(key, expect=revision), None
        else:
            size = 100 + n % 50 * 30
            result = await kv.put(key, bytes(size), expect=revision)
        if not result.succeeded:
            raise RuntimeError(f"{key!r}: expected {revision}, the store answered {result}")
        tell(result.revision, key, size)
        revision = ABSENT if size is None else result.revision
        n += 1


async def main(store: str, clients: int, writes: int) -> None:
    kv = await open_kv(store)
    async with asyncio.TaskGroup() as group:
        for client in range(clients):
            group.create_task(write(kv, b"/load/%03d" % client, writes))
    await kv.close()


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
