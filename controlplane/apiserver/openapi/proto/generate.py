"""Write the Python of the ``.proto`` files here: ``python -m controlplane.apiserver.openapi.proto.generate``."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from controlplane.base import protoc

__all__ = ["generate", "write"]

HERE: Final = Path(__file__).parent


def generate() -> dict[str, str]:
    """The generated files: name -> text.

    Raises:
        RuntimeError: protoc refused a file.
    """
    files: dict[str, str] = {}
    for proto in sorted(HERE.glob("*.proto")):
        files |= protoc.generate(proto, by="controlplane.apiserver.openapi.proto.generate")
    return files


def write() -> None:
    """Replace the generated files beside this module."""
    for name, text in generate().items():
        (HERE / name).write_text(text)


if __name__ == "__main__":
    write()
