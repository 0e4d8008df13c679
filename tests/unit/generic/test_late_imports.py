"""What is imported late is not needed by anything that a start imports."""

from __future__ import annotations

import subprocess
import sys

from controlplane.generic.command import WANTED_SOON

LATE = ("controlplane.cel.program", "yaml", *WANTED_SOON)


def test_a_start_imports_nothing_that_is_imported_late() -> None:
    source = "import sys, controlplane.generic.command, controlplane.generic.server; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    assert not set(LATE) & set(done.stdout.split())
