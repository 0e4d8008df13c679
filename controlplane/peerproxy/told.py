"""What a server tells its peers in its record: that it serves something else than before.

Custom resources and API services come and go while a server runs. Its peers see them in the store; one that does not
know their kinds sees them nowhere, and asks again whenever what is told here changes.
"""

from __future__ import annotations

import asyncio

from controlplane.apiserver.registry.table import ResourceTable
from controlplane.base.live import LiveMapping

__all__ = ["SERVES_ANNOTATION", "Told"]

SERVES_ANNOTATION = "controlplane.internal/serves"
"""Of a peer record: a number that grows whenever its server serves something else. Kubernetes' servers have none."""
PAUSE_SECONDS = 1.0
"""Between two changes of a record, however many definitions come meanwhile."""


class Told:
    """``annotations``: those of this server's record. ``table``: what it serves first."""

    def __init__(self, annotations: LiveMapping, table: ResourceTable) -> None:
        self._annotations = annotations
        self._groups, self._remotes = table.local_groups, table.remotes
        self._count, self._next_at = 0, 0.0
        self._telling: asyncio.TimerHandle | None = None

    def look(self, table: ResourceTable) -> None:
        """Compare a new table, which shares with the one before what has not changed."""
        same_remotes = table.remotes is self._remotes or not (table.remotes or self._remotes)
        if table.local_groups is self._groups and same_remotes:
            return
        self._groups, self._remotes = table.local_groups, table.remotes
        self._count += 1
        if self._telling is None:
            loop = asyncio.get_running_loop()
            self._telling = loop.call_at(max(loop.time(), self._next_at), self._tell)

    def close(self) -> None:
        """Tell no more. Idempotent."""
        if self._telling is not None:
            self._telling.cancel()

    def _tell(self) -> None:
        self._telling = None
        self._next_at = asyncio.get_running_loop().time() + PAUSE_SECONDS
        self._annotations.set(SERVES_ANNOTATION, str(self._count))
