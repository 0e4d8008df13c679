"""Small files written whole: a reader sees the old content or the new, also after a crash."""

from __future__ import annotations

import glob
import os
from pathlib import Path

__all__ = ["PRIVATE_MODE", "remove_leftovers", "write_atomically"]

PRIVATE_MODE = 0o600
"""Readable by the owner only: keys, and kubeconfigs that hold them."""


def write_atomically(
    path: Path, data: bytes, *, mode: int = PRIVATE_MODE, owner: tuple[int, int] | None = None
) -> None:
    """Write ``data`` to a new file beside ``path``, sync it, and put it in the place of ``path``. ``owner``: user and
    group that it is to belong to, if not to us.

    Raises:
        OSError: not writable, disk full; ``path`` is then as it was and nothing is left beside it.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if owner is not None and owner != (os.geteuid(), os.getegid()):
                os.fchown(descriptor, *owner)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def remove_leftovers(path: Path) -> None:
    """Remove what writers of ``path`` that were killed have left beside it. Only for whoever is its only writer."""
    for temporary in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
        temporary.unlink(missing_ok=True)
