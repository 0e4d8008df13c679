"""Time as an argument: what reads the clock or sleeps is given one, so that tests run on virtual time."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from typing import Protocol

__all__ = ["Clock", "SystemClock", "rfc3339", "rfc3339_micro"]


class Clock(Protocol):
    """``now``: seconds since 1970; ``monotonic``: seconds that never go back."""

    def now(self) -> float: ...
    def monotonic(self) -> float: ...
    async def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def rfc3339(seconds: float) -> str:
    """A time as objects carry it: UTC, whole seconds, ``2026-11-30T08:15:00Z``."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def rfc3339_micro(seconds: float) -> str:
    """The same with microseconds, as leases and events carry it."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
