"""Run a coroutine in a test, on the loop that production uses."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from controlplane.base.runner import runner

__all__ = ["run"]

T = TypeVar("T")


def run(coro: Coroutine[Any, Any, T], *, seconds: float = 60.0) -> T:
    """Run to the end on a fresh uvloop loop; fail after ``seconds``."""

    async def bounded() -> T:
        async with asyncio.timeout(seconds):
            return await coro

    with runner() as used:
        return used.run(bounded())
