import subprocess
import sys

import pytest

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
