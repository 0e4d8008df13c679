"""``store check``, ``store backup``, ``store restore``: looking after an embedded store from the command line."""

from __future__ import annotations

import sys
from collections.abc import Callable

from controlplane.storage.errors import StoreUnusable
from controlplane.storage.kv.backends import BACKENDS
from controlplane.storage.maintenance import backup, check, restore

__all__ = ["store_command"]

USAGE = """\
store check sqlite:PATH              examine a store; status 1 if it is not clean
store backup sqlite:PATH BACKUP      copy a store to a new file, also while it is served
store restore BACKUP sqlite:PATH     make a store from a backup, at a path where there is none
"""


def store_command(argv: list[str], *, program: str) -> int:
    """Do what the command line says; returns the exit status."""
    commands: dict[tuple[str, int], Callable[..., int]] = {
        ("check", 1): _check,
        ("backup", 2): _backup,
        ("restore", 2): _restore,
    }
    command = commands.get((argv[0], len(argv) - 1)) if argv else None
    if command is None:
        asked = argv[:1] in (["--help"], ["-h"])
        print(USAGE, end="", file=sys.stdout if asked else sys.stderr)
        return 0 if asked else 2
    try:
        return command(*(_path(argument) for argument in argv[1:]))
    except StoreUnusable as error:
        print(f"{program}: {error}", file=sys.stderr)  # noqa: T201
        return 1


def _path(argument: str) -> str:
    scheme, colon, rest = argument.partition(":")
    if colon and scheme in BACKENDS and scheme != "sqlite":
        raise StoreUnusable(f"{argument}: only embedded stores are looked after here; write sqlite:PATH")
    return rest if colon and scheme == "sqlite" else argument


def _check(path: str) -> int:
    report = check(path)
    for problem in report.problems:
        print(problem)  # noqa: T201
    state = "clean" if report.clean else f"{len(report.problems)} problems"
    print(  # noqa: T201
        f"{report.path}: {state}; revision {report.revision}, compacted through {report.compacted}, "
        f"{report.live_keys} keys, {report.log_rows} log rows, {report.size_bytes} bytes"
    )
    return 0 if report.clean else 1


def _backup(path: str, destination: str) -> int:
    print(f"{destination}: revision {backup(path, destination)}")  # noqa: T201
    return 0


def _restore(source: str, path: str) -> int:
    print(f"{path}: revision {restore(source, path)}")  # noqa: T201
    return 0
