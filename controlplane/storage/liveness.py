"""Whether a store answers, asked when somebody wants to know: a store that is stopped, or beyond a network that drops
everything, keeps its connections, and a stream that is silent may be so because nothing happens.

Source: kubernetes/apiserver ``pkg/storage/storagebackend/factory/etcd3.go`` (newETCD3Check: a read, at most one each
half of its timeout; who asks sooner gets the last answer), and ``pkg/storage/storagebackend/config.go`` (the timeout).
"""

from __future__ import annotations

from controlplane.base.clock import Clock
from controlplane.base.waiting import within
from controlplane.storage.errors import StorageError
from controlplane.storage.kv.api import KV

__all__ = ["Liveness"]

TIMEOUT_SECONDS = 2.0
INTERVAL_SECONDS = TIMEOUT_SECONDS / 2


class Liveness:
    """``problem``: why the store did not answer when it was last asked, ``""`` if it did."""

    def __init__(self, kv: KV, clock: Clock) -> None:
        self._kv, self._clock = kv, clock
        self._asked_at: float | None = None
        self.problem = ""

    async def ask(self) -> None:
        """Ask the store, unless that is no question or was done just now; 2 s at most."""
        if self._kv.revision_nowait() is not None:
            return
        now = self._clock.monotonic()
        if self._asked_at is not None and now - self._asked_at < INTERVAL_SECONDS:
            return
        self._asked_at = now
        try:
            await within(self._clock, TIMEOUT_SECONDS, self._kv.revision())
        except (StorageError, TimeoutError) as error:
            self.problem = f"the store does not answer: {error}"
        else:
            self.problem = ""
