"""A control plane as a command: options in, exit status out.

    def main() -> None:
        raise SystemExit(serve_command(SampleOptions, sys.argv[1:], program="sample-controlplane"))

What an operator did wrong is said in lines on standard error, without a traceback: status 2 for options, 1 for what
cannot be used. SIGTERM and SIGINT begin the shutdown; a second one ends the process at once.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from controlplane.base import process
from controlplane.base.options import Loaded, OptionGroup, OptionsError, load
from controlplane.base.runner import runner
from controlplane.generic.options import GenericOptions

if TYPE_CHECKING:
    from controlplane.generic.config import CompletedConfig, Config

__all__ = ["REFUSED", "UNUSABLE", "load_options", "serve_command", "stop_on_signals"]

UNUSABLE = 1
REFUSED = 2
"""Exit statuses."""

WANTED_SOON = (
    "controlplane.apimachinery.codec.yaml",
    "controlplane.apiextensions.definition.warnings",
    "controlplane.apiextensions.definition.validation.definition",
    "controlplane.apiextensions.custom.resource",
)
"""Not needed to be ready, but imported then, so that the first to send YAML or a definition need not wait."""

LAG_INTERVAL_SECONDS = 0.05
"""Of the monitor of the loop: twenty turns a second cost an idle server half a percent of a core."""

O = TypeVar("O", bound=GenericOptions)  # noqa: E741
M = TypeVar("M", bound=OptionGroup)


def load_options(model: type[M], argv: Sequence[str], *, program: str, usage: str) -> Loaded[M] | int:
    """The options, or the exit status where the command is done already (help, version, problems)."""
    try:
        loaded = load(model, argv)
    except OptionsError as error:
        for problem in error.problems:
            print(f"{program}: {problem}", file=sys.stderr)  # noqa: T201  # before logs are set up
        return REFUSED
    if loaded.asked == "help":
        from controlplane.base.options import help_text

        print(help_text(model, usage=usage), end="")  # noqa: T201
        return 0
    if loaded.asked == "version":
        from controlplane.apiserver.server.version import VersionInfo, distribution_version

        print(f"{program} {distribution_version()} (Kubernetes {VersionInfo().git_version})")  # noqa: T201
        return 0
    return loaded


def serve_command(
    model: type[O],
    argv: Sequence[str],
    *,
    program: str,
    configure: Callable[[O], Config] | None = None,
    usage: str = "",
) -> int:
    """Run a control plane until it is told to stop; returns the exit status.

    Args:
        model: the options. ``configure``: from options to config; by default ``config_of`` alone.
        argv: the command line without the program's name.
    """
    process.begin()
    process.import_aside("aiohttp")  # reads the system's CA certificates meanwhile, without holding the interpreter
    loaded = load_options(model, argv, program=program, usage=usage)
    if isinstance(loaded, int):
        return loaded
    from controlplane.base import logs

    options = loaded.options
    logs.configure(format=options.logs.logging_format, verbosity=options.logs.verbosity)
    for setting in loaded.settings():
        if setting.origin != "default":
            logs.get(__name__).info(
                "option", flag=f"--{setting.option.flag}", value=setting.value, origin=setting.origin
            )
    return _run(options, configure, program)


def _run(options: O, configure: Callable[[O], Config] | None, program: str) -> int:
    from controlplane.apiserver.server.server import ServerFailed
    from controlplane.generic.config import ConfigError, config_of
    from controlplane.generic.server import StartError

    try:
        config = (configure or config_of)(options)
        config.whole_process = True
        completed = config.complete()
        with runner() as used:
            used.run(_serve(completed, program))
    except (ConfigError, StartError) as error:
        print(f"{program}: {error}", file=sys.stderr)  # noqa: T201  # one line, also where logs are JSON
        return UNUSABLE
    except ServerFailed as error:
        from controlplane.base import logs

        logs.get(__name__).error("the server has failed", exc_info=error)
        return UNUSABLE
    return 0


async def _serve(config: CompletedConfig, program: str) -> None:
    from controlplane.base import logs
    from controlplane.base.tasks import TaskGroup

    stop, started = asyncio.Event(), asyncio.Event()
    stop_on_signals(stop)
    async with TaskGroup("command") as group:
        serving = group.start(_serve_until(stop, started, config, program), name="serve")
        await stop.wait()
        if started.is_set():
            await asyncio.wait([serving])
        else:  # a store that does not answer must not keep it from ending: leaving the block cancels the start
            logs.get(__name__).info("told to stop before it served")


async def _serve_until(stop: asyncio.Event, started: asyncio.Event, config: CompletedConfig, program: str) -> None:
    """Serve until ``stop`` is set. ``started`` is set when it does."""
    from controlplane.base import logs
    from controlplane.base.lag import LagMonitor
    from controlplane.generic.server import open_plane

    log = logs.get(__name__)
    async with open_plane(config) as plane, plane.prepare().serving() as running:
        started.set()
        for note in config.notes:
            log.info("note", note=note)
        with suppress(OSError):  # a server outlives those who read what it prints
            print(f"{program}: serving {running.url}; kubeconfig: {running.kubeconfig or 'none'}", flush=True)  # noqa: T201
        log.info("serving", url=running.url, store=config.store, pid=os.getpid())
        process.serving()
        for module in WANTED_SOON:
            process.import_aside(module)
        async with LagMonitor(interval_seconds=LAG_INTERVAL_SECONDS):
            await stop.wait()
        log.info("shutting down")


def stop_on_signals(stop: asyncio.Event) -> None:
    """Set ``stop`` on SIGTERM and SIGINT; a second one ends the process at once."""

    def told() -> None:
        if stop.is_set():
            os._exit(1)  # asked twice: at once, whatever is under way
        stop.set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told)
