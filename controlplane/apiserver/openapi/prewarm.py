"""``--openapi-prewarm``: the merged document is built when nothing has changed for a while, not when it is asked for.

For those who would rather spend the time and the memory at once than let the first client wait.
"""

from __future__ import annotations

import asyncio

from controlplane.apiserver.openapi.handler import OpenAPI
from controlplane.apiserver.registry.table import TableHolder
from controlplane.base import logs
from controlplane.base.clock import Clock

__all__ = ["QUIET_SECONDS", "keep_warm"]

log = logs.get(__name__)

QUIET_SECONDS = 2.0
"""Without a change of what is served: definitions come by the hundred, and are best built together."""


async def keep_warm(openapi: OpenAPI, tables: TableHolder, clock: Clock) -> None:
    """Build after the start and after each change that is followed by a quiet moment. Runs until it is cancelled."""
    changed = asyncio.Event()
    changed.set()
    stop = tables.subscribe(lambda _table: changed.set())
    try:
        while True:
            await changed.wait()
            while changed.is_set():
                changed.clear()
                await clock.sleep(QUIET_SECONDS)
            try:
                await openapi.prewarm()
            except Exception as error:  # who asks for the document gets the error; nobody else is concerned
                log.exception("openapi documents could not be built ahead", error=error)
    finally:
        stop()
