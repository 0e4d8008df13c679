"""How fast this machine is beside the one that the targets were taken on, measured in the same run.

Ratios need no such factor. Figures in seconds or per second do: the targets' machine answered a bare aiohttp GET of
1 KB with 38 us of processor time (spec/stack.md: 18,800 a second); another one, or the same one with neighbours, takes
longer for everything. The factor is how many times as long the same baseline takes here and now. It is measured before
and after the rows that need it, and their mean counts.

The rule: a row marked ``scales`` is judged by its figure divided by the factor (multiplied, where more is better), and
both figures are printed. A factor below 1 counts as 1: a faster machine makes no target harder. Ratios, memory and
stretches of the loop are never scaled. Where the two measurements are far apart the run says so: time on the wall
suffers from other work in ways that a factor of processor time does not tell.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from controlplane.base.tls import issue
from tests.bench.harness import bare_server, run_load

__all__ = ["REFERENCE_CPU_US", "bare_get_cpu_us", "factor_of", "python_ms", "uneven"]

REFERENCE_CPU_US = 38.0
"""Processor time of one bare GET on the targets' machine: spec/stack.md, aiohttp low-level on uvloop over TLS."""

EVEN = 1.25
SECONDS = 2.0
PYTHON_STEPS = 200_000


def bare_get_cpu_us() -> float:
    """Processor time of one GET of 1 KB over TLS at the bare baseline, 32 clients, in microseconds."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        key = issue.new_key()
        cert_file, key_file = directory / "bare.crt", directory / "bare.key"
        cert_file.write_bytes(issue.issue_ca(key, "bare", time.time()))
        key_file.write_bytes(key)
        with bare_server(directory, b"x" * 1000, str(cert_file), str(key_file)) as (port, process):
            options = {"host": "127.0.0.1", "port": port, "path": "/", "seconds": SECONDS, "warm_seconds": 0.5}
            return float(run_load(options, process.pid)["cpu_us"])


def factor_of(*cpu_us: float) -> float:
    """How many times as long as the targets' machine this one takes, from measurements of the baseline; at least 1."""
    return max(1.0, sum(cpu_us) / len(cpu_us) / REFERENCE_CPU_US)


def uneven(*cpu_us: float) -> bool:
    """Whether measurements of the baseline differ so much that a factor of them says little: somebody else was at work
    meanwhile."""
    return max(cpu_us) > EVEN * min(cpu_us)


def python_ms() -> float:
    """Processor time of a loop of ``PYTHON_STEPS`` additions in milliseconds, the best of nine: shown beside the
    factor, so that it can be told whether the interpreter or the system's calls are slow."""
    best = float("inf")
    for _ in range(9):
        begin, total = time.thread_time(), 0
        for step in range(PYTHON_STEPS):
            total += step
        best = min(best, time.thread_time() - begin)
    return best * 1e3
