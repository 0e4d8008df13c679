"""Write ``rpc_pb2.py`` and ``rpc_pb2.pyi`` from ``rpc.proto``: ``python -m controlplane.storage.kv.etcd.generate``."""

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
    return protoc.generate(HERE / "rpc.proto", by="controlplane.storage.kv.etcd.generate")


def write() -> None:
    """Replace the generated files beside this module."""
    for name, text in generate().items():
        (HERE / name).write_text(text)


if __name__ == "__main__":
    write()
