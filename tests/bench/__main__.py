"""`make bench`: measure every row of the targets, or those named.

    python -m tests.bench [ROW…] [--json FILE]

Exits 1 if a row misses its target.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.bench import bench_openapi, rows_http, rows_reference, rows_size
from tests.bench.report import Row

ROWS: dict[str, Callable[[], Iterator[Row]]] = {
    "get": rows_http.get,
    "list": rows_http.list_7000,
    "create-embedded": rows_http.create_embedded,
    "create-etcd": rows_http.create_etcd,
    "watch-memory": rows_size.watch_memory,
    "readiness": rows_size.readiness,
    "openapi": bench_openapi.openapi,
    "idle-memory": rows_size.idle_memory,
    "100000": rows_size.hundred_thousand,
    "reference": rows_reference.against_reference,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", choices=[*ROWS, []], metavar="ROW", help=f"of: {', '.join(ROWS)}")
    parser.add_argument("--json", type=Path, help="append one JSON line a row to this file")
    arguments = parser.parse_args()
    missed = 0
    for name in arguments.rows or ROWS:
        for row in ROWS[name]():
            print(row.show(), flush=True)
            missed += not row.reached
            if arguments.json:
                with arguments.json.open("a") as file:
                    file.write(row.line() + "\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
