"""The order of system calls below the KV: the log is synced after its last write and before the answer is given."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

WRITES = 30
CALL = re.compile(r"^(?P<pid>\d+) +(?P<call>pwrite64|write|fdatasync|fsync)\((?P<fd>\d+)<(?P<file>[^>]*)>(?P<rest>.*)$")
RESUMED = re.compile(r"^(?P<pid>\d+) +<\.\.\. (?P<call>\w+) resumed>.*= (?P<result>-?\d+)")


def test_the_log_is_synced_before_a_write_is_acknowledged(tmp_path: Path) -> None:
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("no strace on this machine (Debian: strace)")
    trace = tmp_path / "trace.txt"
    child = [sys.executable, "-m", "tests.fault.kv_child", f"sqlite:{tmp_path}/store.db", "1", str(WRITES)]
    command = [strace, "-f", "-y", "-e", "trace=pwrite64,write,fdatasync,fsync", "-o", str(trace), *child]
    done = subprocess.run(command, capture_output=True, check=False, timeout=100)
    if b"PTRACE" in done.stderr and b"not permitted" in done.stderr:
        pytest.skip("strace may not trace here")
    assert done.returncode == 0, done.stderr.decode()
    assert len(done.stdout.splitlines()) == WRITES
    assert acknowledgements(trace.read_text()) == WRITES


def acknowledgements(trace: str) -> int:
    """Count the answers, verifying that nothing written to the log before one was still unsynced."""
    unsynced = False
    syncing: dict[str, bool] = {}  # thread -> whether its unfinished sync covers the log's last write
    answers = syncs = 0
    for line in trace.splitlines():
        if (resumed := RESUMED.match(line)) is not None:
            if syncing.pop(resumed["pid"], False) and resumed["result"] == "0":
                unsynced, syncs = False, syncs + 1
            continue
        if (call := CALL.match(line)) is None:
            continue
        of_log = call["file"].endswith("store.db-wal")
        if call["call"] == "pwrite64" and of_log:
            unsynced = True
            syncing = dict.fromkeys(syncing, False)
        elif call["call"] in {"fdatasync", "fsync"} and of_log:
            if "unfinished" in call["rest"]:
                syncing[call["pid"]] = True
            elif call["rest"].endswith("= 0"):
                unsynced, syncs = False, syncs + 1
        elif call["call"] == "write" and '"{\\"revision\\"' in call["rest"]:
            assert not unsynced, f"answered before the log was synced: {line}"
            answers += 1
            assert syncs >= answers, "more answers than syncs, from one client"
    return answers
