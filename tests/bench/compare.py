"""This code against a commit's, in one run: the same loads on both, in turns, the ratio of medians.

    python -m tests.bench compare REV [ROW…] [--rounds N] [--seconds S] [--least RATIO]

The commit is checked out in a temporary worktree and runs its own code. Both servers are up at once and get short loads
alternately, the second first in every other round, so that whatever else the machine does meets both alike. A row's
figure is the ratio of the median rates, ours by theirs; beside it the ratio of processor time an operation, theirs by
ours. So above 1 is better in both. Exits 1 if the better of the two is below ``--least`` (0.95: a run's own noise) in
any row.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from controlplane.testing.etcd import EtcdProcess
from tests.bench.harness import post_many, run_load
from tests.processes import Plane, resident_mb, sample_plane

__all__ = ["ROWS", "main"]

HERE = Path(__file__).parents[2]
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


@dataclass(frozen=True)
class Budget:
    """How many rounds on each side, and how long each of them is."""

    rounds: int
    seconds: float


@dataclass(frozen=True)
class Outcome:
    """Medians of the two sides; ``unit`` says of what. ``at_most``: less is better."""

    ours: float
    theirs: float
    unit: str
    at_most: bool = False
    ours_cpu_us: float = 0.0
    theirs_cpu_us: float = 0.0

    @property
    def ratio(self) -> float:
        return self.theirs / self.ours if self.at_most else self.ours / self.theirs

    @property
    def cpu_ratio(self) -> float:
        """Of processor time an operation; that of the figures where there is none."""
        return self.theirs_cpu_us / self.ours_cpu_us if self.ours_cpu_us else self.ratio

    def show(self, name: str, least: float) -> str:
        mark = "no worse" if self.reached(least) else "WORSE   "
        cpu = f"  cpu {self.ours_cpu_us:.0f} : {self.theirs_cpu_us:.0f} us = {self.cpu_ratio:.2f}x"
        figures = f"{self.ours:.4g} : {self.theirs:.4g} {self.unit} = {self.ratio:.2f}x"
        return f"{mark}  {name:<14} {figures}{cpu if self.ours_cpu_us else ''}"

    def reached(self, least: float) -> bool:
        return max(self.ratio, self.cpu_ratio) >= least


class NotThere(Exception):
    """The commit cannot do it: there is nothing to compare with."""


Row = Callable[[Path, Budget], Outcome]
"""Measures one thing on this code and on that of the checkout it is given."""


def load_row(store: Callable[[Path], contextlib.AbstractContextManager[str]], objects: int, **options: Any) -> Row:
    """A load on two planes with as many objects, each over a store of its own."""

    def measure(code: Path, budget: Budget) -> Outcome:
        with contextlib.ExitStack() as stack:
            planes = []
            for side in (HERE, code):
                directory = Path(stack.enter_context(tempfile.TemporaryDirectory(dir="/dev/shm")))
                url = stack.enter_context(store(directory))
                planes.append(stack.enter_context(sample_plane(directory, store=url, code=side)))
                if objects:
                    post_many(planes[-1].target, "default", objects, prefix="load")
            return _in_turns(planes, budget, options)

    return measure


def _in_turns(planes: list[Plane], budget: Budget, options: dict[str, Any]) -> Outcome:
    rates: list[list[float]] = [[], []]
    cpu: list[list[float]] = [[], []]
    for index in range(budget.rounds):
        for side in (0, 1) if index % 2 == 0 else (1, 0):
            plane = planes[side]
            prefix = f"r{index}" if options["op"] == "create" else "load"
            timing = {"seconds": budget.seconds, "warm_seconds": 0.25, "prefix": prefix}
            done = run_load({"path": CONFIG_MAPS, **plane.target.options(), **timing, **options}, plane.process.pid)
            if done["bad"] and side == 1:
                raise NotThere(f"it answers {done['bad']}")
            assert not done["bad"], done
            rates[side].append(done["rate"])
            cpu[side].append(done["cpu_us"])
    (ours, theirs), (ours_cpu, theirs_cpu) = map(median, rates), map(median, cpu)
    return Outcome(ours, theirs, "/s", ours_cpu_us=ours_cpu, theirs_cpu_us=theirs_cpu)


@contextlib.contextmanager
def embedded(directory: Path) -> Iterator[str]:
    yield f"sqlite:{directory}/store.db"


@contextlib.contextmanager
def etcd(directory: Path) -> Iterator[str]:
    process = EtcdProcess(directory / "etcd")
    asyncio.run(process.start())
    try:
        yield f"etcd:{process.endpoint}"
    finally:
        asyncio.run(process.close())


def ready(code: Path, budget: Budget) -> Outcome:
    """A process on an embedded store of 1,000 objects, in seconds."""
    seconds: tuple[list[float], list[float]] = ([], [])
    with contextlib.ExitStack() as stack:
        sides = [(Path(stack.enter_context(tempfile.TemporaryDirectory())), side) for side in (HERE, code)]
        for directory, side in sides:
            with sample_plane(directory, code=side) as plane:
                post_many(plane.target, "default", 1000)
        for _ in range(budget.rounds):
            for (directory, side), times in zip(sides, seconds, strict=True):
                with sample_plane(directory, code=side) as plane:
                    times.append(plane.ready_seconds)
    return Outcome(median(seconds[0]), median(seconds[1]), "s to ready", at_most=True)


def memory(code: Path, _: Budget) -> Outcome:
    """Resident after 10,000 objects of 1 KB, in MB."""
    resident = []
    for side in (HERE, code):
        with tempfile.TemporaryDirectory(dir="/dev/shm") as name, sample_plane(Path(name), code=side) as plane:
            post_many(plane.target, "default", 10_000)
            resident.append(resident_mb(plane.process.pid))
    return Outcome(resident[0], resident[1], "MB", at_most=True)


ROWS: dict[str, Row] = {
    "get": load_row(embedded, 1, op="get", path=f"{CONFIG_MAPS}/load-1", connections=32),
    "list": load_row(embedded, 7000, op="get", connections=2),
    "create": load_row(embedded, 0, op="create", connections=32),
    "put": load_row(embedded, 1000, op="put", connections=16),
    "merge-patch": load_row(embedded, 1000, op="merge", connections=16),
    "apply": load_row(embedded, 1000, op="apply", connections=16),
    "create-etcd": load_row(etcd, 0, op="create", connections=32),
    "ready": ready,
    "memory": memory,
}


@contextlib.contextmanager
def checkout(revision: str) -> Iterator[Path]:
    """A temporary worktree of a commit."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "code"
        subprocess.run(["git", "worktree", "add", "-q", "--detach", str(path), revision], cwd=HERE, check=True)
        try:
            yield path
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(path)], cwd=HERE, check=True)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench compare", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("revision", metavar="REV")
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"of: {', '.join(ROWS)}")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--least", type=float, default=0.95)
    options = parser.parse_args(arguments)
    unknown = set(options.rows) - set(ROWS)
    if unknown:
        parser.error(f"no row is called {', '.join(sorted(unknown))}; there are {', '.join(ROWS)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that servers, stores and the worktree go, too
    worse = 0
    with checkout(options.revision) as code:
        for name in options.rows or ROWS:
            try:
                outcome = ROWS[name](code, Budget(options.rounds, options.seconds))
            except NotThere as why:
                print(f"nothing   {name:<14} to compare with in {options.revision}: {why}", flush=True)
                continue
            print(outcome.show(name, options.least), flush=True)
            worse += not outcome.reached(options.least)
    return 1 if worse else 0
