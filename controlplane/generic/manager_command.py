"""A controller manager as a command: options in, exit status out."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence

from controlplane.base import logs, process
from controlplane.base.runner import runner
from controlplane.base.tasks import TaskGroup
from controlplane.generic.command import UNUSABLE, load_options, stop_on_signals
from controlplane.generic.controller_manager import ManagerFailed, controller_manager
from controlplane.generic.manager_options import ManagerOptions

__all__ = ["manager_command"]


def manager_command(argv: Sequence[str], *, program: str, usage: str = "") -> int:
    """Run controllers until told to stop; returns the exit status. SIGTERM gives the lease back."""
    process.begin()
    loaded = load_options(ManagerOptions, argv, program=program, usage=usage)
    if isinstance(loaded, int):
        return loaded
    options = loaded.options
    logs.configure(format=options.logs.logging_format, verbosity=options.logs.verbosity)
    try:
        with runner() as used:
            used.run(_run(options))
    except ManagerFailed as error:
        print(f"{program}: {error}", file=sys.stderr)  # noqa: T201  # one line, also where logs are JSON
        return UNUSABLE
    return 0


async def _run(options: ManagerOptions) -> None:
    stop = asyncio.Event()
    stop_on_signals(stop)
    async with TaskGroup("controller-manager") as group:
        group.start(_work(options), name="work")
        await stop.wait()


async def _work(options: ManagerOptions) -> None:
    async with controller_manager(options) as manager:
        await manager.run()
