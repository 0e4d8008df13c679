"""Every test that the threat model names is there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "threat-model.md").read_text()


def test_the_tests_that_claims_name_exist() -> None:
    named = set(re.findall(r"`(test_\w+)`", TEXT))
    there = {
        name for file in (ROOT / "tests").rglob("test_*.py") for name in re.findall(r"def (test_\w+)", file.read_text())
    }
    assert named
    assert named - there == set()


def test_the_files_that_claims_name_exist() -> None:
    named = set(re.findall(r"`((?:tests|docs)/[\w/.-]+)`", TEXT))
    assert named
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


def test_the_conversations_that_claims_name_exist() -> None:
    named = set(re.findall(r"`([a-z]+(?:-[a-z]+)+)`", TEXT))
    assert [name for name in sorted(named) if not list((ROOT / "tests" / "recorded").rglob(f"{name}.yaml"))] == []
