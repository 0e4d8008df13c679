"""The expression language is loaded when the first rule comes, not when the server starts."""

from __future__ import annotations

import subprocess
import sys


def test_nothing_loads_the_engine_before_there_are_rules() -> None:
    source = "import sys, controlplane.apiextensions.source; print('controlplane.cel.program' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
