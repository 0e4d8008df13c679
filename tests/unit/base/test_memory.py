import os
import subprocess
import sys

import pytest

from controlplane.base.memory import LARGE_PAGE_BYTES, gather_in_large_pages
from tests.processes import resident_mb

PROGRAM = """
import resource, sys
from controlplane.base.memory import keep_freed_memory
if sys.argv[1] == "keep":
    keep_freed_memory()
def once():
    pieces = [b"x" * 262144 for _ in range(24)]
once()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(5):
    once()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(mode: str) -> int:
    """Page faults of making and dropping 6 MB in pieces five times."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, mode], capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="what glibc does")
def test_freed_memory_is_used_again_without_faulting_it_in() -> None:
    assert faults("keep") < faults("leave") / 10


@pytest.mark.skipif(sys.platform != "linux", reason="what Linux does")
def test_memory_in_large_pages_holds_what_it_held_and_is_hardly_more() -> None:
    held = [bytes([n % 256]) * 500_000 for n in range(40)]
    before = resident_mb(os.getpid())
    made = gather_in_large_pages()
    assert 0 <= made <= before * 1e6 / LARGE_PAGE_BYTES
    assert resident_mb(os.getpid()) - before < 5
    assert all(block.count(n % 256) == 500_000 for n, block in enumerate(held))
