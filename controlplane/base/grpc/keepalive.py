"""Whether the other side is still there: a ping after silence, and an end if nothing comes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, NamedTuple

__all__ = ["KEEPALIVE", "Keepalive", "Watchdog"]


class Keepalive(NamedTuple):
    """A ping after ``seconds`` of silence while there are calls, and the connection is dead after ``timeout_seconds``
    more without any sign of life."""

    seconds: float = 10.0
    timeout_seconds: float = 5.0


KEEPALIVE: Final = Keepalive()
"""etcd's servers drop clients that ping more often than every 5 s, or without a call."""


class Watchdog:
    """Watches one connection from ``start`` to ``stop``.

    Args:
        busy: whether there are calls; without, silence means nothing.
        ping, dead: what to do after silence; ``dead`` is told how long it has lasted, in seconds.
    """

    __slots__ = ("_busy", "_dead", "_heard_at", "_keepalive", "_loop", "_ping", "_pinged", "_timer")

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        keepalive: Keepalive,
        *,
        busy: Callable[[], bool],
        ping: Callable[[], None],
        dead: Callable[[float], None],
    ) -> None:
        self._loop, self._keepalive = loop, keepalive
        self._busy, self._ping, self._dead = busy, ping, dead
        self._heard_at = 0.0
        self._pinged = False
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """The connection is there."""
        self.heard()
        self._timer = self._loop.call_later(self._keepalive.seconds, self._look)

    def stop(self) -> None:
        """The connection has ended. Idempotent."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def heard(self) -> None:
        """Something has come, whatever it is."""
        self._heard_at = self._loop.time()
        self._pinged = False

    def _look(self) -> None:
        silence = self._loop.time() - self._heard_at
        wait = self._keepalive.seconds
        if self._busy():
            if self._pinged:  # and nothing has come since
                self._dead(silence)
                return
            if silence >= wait:
                self._pinged = True
                self._ping()
                wait = self._keepalive.timeout_seconds
            else:
                wait -= silence
        self._timer = self._loop.call_later(wait, self._look)
