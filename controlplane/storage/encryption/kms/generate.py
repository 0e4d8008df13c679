"""Write ``kms_pb2.py`` and ``kms_pb2.pyi``: ``python -m controlplane.storage.encryption.kms.generate``."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from controlplane.base import protoc

__all__ = ["generate", "write"]

HERE: Final = Path(__file__).parent


def generate() -> dict[str, str]:
    """The generated files: name -> text.

    Raises:
        RuntimeError: protoc refused the file.
    """
    return protoc.generate(HERE / "kms.proto", by="controlplane.storage.encryption.kms.generate")


def write() -> None:
    """Replace the generated files beside this module."""
    for name, text in generate().items():
        (HERE / name).write_text(text)


if __name__ == "__main__":
    write()
