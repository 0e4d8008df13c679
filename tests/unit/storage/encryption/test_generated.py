"""The generated messages are what ``kms.proto`` says."""

from __future__ import annotations

from pathlib import Path

import pytest

from controlplane.storage.encryption.kms import generate


@pytest.mark.parametrize("name", ["kms_pb2.py", "kms_pb2.pyi"])
def test_generated_files_are_current(name: str) -> None:
    current = Path(generate.__file__).with_name(name).read_text()
    assert generate.generate()[name] == current, "run: python -m controlplane.storage.encryption.kms.generate"
