"""The order of system calls: the log's fdatasync has returned before a 201 is sent.

TLS hides the answer's text, so the requests are sent one at a time: between two answers on the socket there must be one
completed sync of the log.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.processes import sample_plane

PATH = "/api/v1/namespaces/default/configmaps"
CREATES = 20
CALLS = "trace=fdatasync,fsync,sendto,sendmsg,write,writev"
SYNCED = re.compile(
    r"(fdatasync|fsync)\((\d+)(?:<(?P<file>[^>]*)>)?\)?\s*= 0|<\.\.\. (fdatasync|fsync) resumed>\)\s*= 0"
)
SENT = re.compile(r"(sendto|sendmsg|write|writev)\(\d+<(?:TCP|socket)[^>]*>")


def test_sync_returns_before_the_answer_is_sent(tmp_path: Path) -> None:
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("no strace on this machine (Debian: strace)")
    with sample_plane(tmp_path) as plane, contextlib.closing(plane.connect()) as connection:
        connection.request("GET", PATH)
        connection.getresponse().read()
        trace = tmp_path / "trace.txt"
        tracer = subprocess.Popen(
            [strace, "-f", "-yy", "-e", CALLS, "-o", str(trace), "-p", str(plane.process.pid)],
            stderr=subprocess.PIPE,
        )
        assert tracer.stderr is not None
        line = tracer.stderr.readline()
        if b"attached" not in line:
            tracer.wait()
            pytest.skip("strace may not attach here: " + line.decode().strip())
        for index in range(CREATES):
            body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c{index}"}}
            connection.request("POST", PATH, json.dumps(body), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 201
        time.sleep(0.2)  # strace writes what it saw in its own time
        tracer.send_signal(signal.SIGINT)
        tracer.wait()
        tracer.stderr.close()
    order = [
        "sync" if SYNCED.search(line) else "send"
        for line in trace.read_text().splitlines()
        if SYNCED.search(line) or SENT.search(line)
    ]
    assert order.count("send") >= CREATES, trace.read_text()[-3000:]
    answers = 0
    synced = False
    for what in order:
        if what == "sync":
            synced = True
        else:
            assert synced, f"answer {answers + 1} was sent before the log was synced"
            answers += 1
            synced = False
    assert answers >= CREATES
