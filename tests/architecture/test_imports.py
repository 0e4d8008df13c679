"""The layers, checked as `make imports` checks them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_import_contracts_hold() -> None:
    done = subprocess.run(
        [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_package_init_has_no_logic() -> None:
    for path in sorted((ROOT / "controlplane").rglob("__init__.py")):
        for line in path.read_text().splitlines():
            assert not line.startswith(("def ", "class ", "async def ", "if ")), f"{path}: {line}"
