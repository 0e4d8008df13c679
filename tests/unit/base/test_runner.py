"""Runners close their loops, whatever was left open, and say what was."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import warnings

import pytest

from controlplane.base.runner import runner

LEFT_OPEN = """
import asyncio, sys
from controlplane.base.runner import runner

async def main():
    loop = asyncio.get_running_loop()
    server = await loop.create_server(asyncio.Protocol, "127.0.0.1", 0)
    kept.append(await loop.create_connection(asyncio.Protocol, *server.sockets[0].getsockname()))
    if len(sys.argv) > 1:
        raise LookupError(sys.argv[1])

kept = []
with runner() as used:
    used.run(main())
"""


@pytest.mark.parametrize(("arguments", "told"), [((), "ResourceWarning"), (("of its own",), "LookupError: of its own")])
def test_what_is_left_open_is_told_also_where_warnings_are_errors(arguments: tuple[str, ...], told: str) -> None:
    command = [sys.executable, "-W", "error", "-c", LEFT_OPEN, *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert ended.returncode == 1
    assert told in ended.stderr
    assert "unclosed resource <TCP" in ended.stderr


def test_nothing_is_told_where_nothing_was_left() -> None:
    async def answer() -> int:
        await asyncio.sleep(0)
        return 7

    with warnings.catch_warnings(), runner() as used:
        warnings.simplefilter("error")
        assert used.run(answer()) == 7
