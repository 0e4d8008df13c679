"""`make bench`: measure every row of the targets, or those named.

    python -m tests.bench [ROW…] [--json FILE]
    python -m tests.bench compare REV [ROW…]     the same loads on this code and on a commit's (tests/bench/compare.py)

Exits 1 if a row misses its target. Rows whose targets are of another machine are judged as scaled to it, and show what
was measured too: tests/bench/machine.py says how.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from tests.bench import (
    bench_cel,
    bench_openapi,
    compare,
    machine,
    rows_access,
    rows_controllers,
    rows_crds,
    rows_http,
    rows_peers,
    rows_reference,
    rows_size,
    rows_stretch,
)
from tests.bench.report import Row

ROWS: dict[str, Callable[[], Iterator[Row]]] = {
    "get": rows_http.get,
    "access": rows_access.access,
    "list": rows_http.list_7000,
    "create-embedded": rows_http.create_embedded,
    "create-etcd": rows_http.create_etcd,
    "watch-memory": rows_size.watch_memory,
    "readiness": rows_size.readiness,
    "openapi": bench_openapi.openapi,
    "expressions": bench_cel.expressions,
    "definitions": rows_crds.definitions,
    "many-definitions": rows_crds.many_definitions,
    "checking": rows_crds.checking,
    "deletions": rows_controllers.deletions,
    "idle-memory": rows_size.idle_memory,
    "100000": rows_size.hundred_thousand,
    "peers": rows_peers.peers,
    "stretch": rows_stretch.stretches,
    "reference": rows_reference.against_reference,
}
SCALING = frozenset(
    {"access", "checking", "definitions", "deletions", "many-definitions", "openapi", "readiness", "reference"}
)
"""Those that have rows which scale."""


def measured(name: str) -> Iterator[Row]:
    """The rows of one name; those that scale come at the end, with the machine's factor."""
    if name not in SCALING:
        yield from ROWS[name]()
        return
    before, python, waiting = machine.bare_get_cpu_us(), machine.python_ms(), []
    for row in ROWS[name]():
        if row.scales:
            waiting.append(row)
        else:
            yield row
    after = machine.bare_get_cpu_us()
    factor = machine.factor_of(before, after)
    print(
        f"machine: bare GET {before:.0f} and {after:.0f} us of processor time, {machine.REFERENCE_CPU_US:.0f} on the "
        f"targets' machine: x{factor:.2f}; Python loop {python:.1f} ms"
        + ("; UNEVEN, so the scaled figures only orient" if machine.uneven(before, after) else ""),
        flush=True,
    )
    yield from (replace(row, factor=factor) for row in waiting)


def main() -> int:
    if sys.argv[1:2] == ["compare"]:
        return compare.main(sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", choices=[*ROWS, []], metavar="ROW", help=f"of: {', '.join(ROWS)}")
    parser.add_argument("--json", type=Path, help="append one JSON line a row to this file")
    arguments = parser.parse_args()
    missed = 0
    for name in arguments.rows or ROWS:
        for row in measured(name):
            print(row.show(), flush=True)
            missed += not row.reached
            if arguments.json:
                with arguments.json.open("a") as file:
                    file.write(row.line() + "\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
