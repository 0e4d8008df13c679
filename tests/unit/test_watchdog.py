"""A test that hangs ends its worker and is named; the others run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HANGING = """
import asyncio, threading, time
import pytest, uvloop

def test_before():
    pass

@pytest.mark.timeout(1)
def test_of_a_loop():
    async def forever():
        task = asyncio.create_task(asyncio.Event().wait(), name="waits-without-end")
        while True:
            try:
                await asyncio.sleep(60)
            except BaseException:
                pass
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(forever())

@pytest.mark.timeout(1)
def test_of_a_teardown(request):
    request.addfinalizer(threading.Event().wait)

def test_after():
    pass
"""


def test_a_run_ends_whatever_hangs(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    (tmp_path / "test_hanging.py").write_text(HANGING)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n  long: x\n")
    (tmp_path / "conftest.py").write_text("from tests.conftest import *")
    command = [sys.executable, "-m", "pytest", "-n", "1", "-q", "-p", "no:cacheprovider", "--rootdir", ".", "."]
    ended = subprocess.run(
        command,
        cwd=tmp_path,
        env={"PYTHONPATH": str(root), "PATH": ""},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    told = ended.stdout + ended.stderr
    assert "2 failed, 3 passed" in told, "the call of the test that hangs in its teardown passes"
    assert "crashed while running 'test_hanging.py::test_of_a_loop'" in told
    assert "crashed while running 'test_hanging.py::test_of_a_teardown'" in told
    assert "test_hanging.py::test_of_a_loop: not done within 1 s" in told
    assert "--- task waits-without-end" in told
    assert "--- thread MainThread" in told
