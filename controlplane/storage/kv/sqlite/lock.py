"""One server a store: a lock on ``PATH.lock``, which names who holds it.

A file of its own, so that others may read the database beside the server (``store backup``). It stays when the lock is
released: removing it would let two processes lock two files of one name.
"""

from __future__ import annotations

import fcntl
import os
import sys
from pathlib import Path

from controlplane.storage.errors import StoreLocked, StoreUnusable

__all__ = ["StoreLock"]


class StoreLock:
    """Held from ``acquire`` to ``release``, or to the end of the process, however it ends."""

    __slots__ = ("_descriptor",)

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    def acquire(cls, store: Path) -> StoreLock:
        """Lock the store at this path (links resolved).

        Raises:
            StoreLocked: another process has it; the message names it. StoreUnusable: the lock file cannot be written.
        """
        path = store.with_name(store.name + ".lock")
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StoreUnusable(
                f"store {store}: cannot write its lock file {path}: {error.strerror}; "
                "give this user write permission on the directory"
            ) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(descriptor, 200, 0).decode(errors="replace").strip() or "unknown"
            os.close(descriptor)
            raise StoreLocked(
                f"store {store} is held by process {holder}; stop it or name another file "
                "(several servers on one store need etcd: --etcd-servers)"
            ) from error
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()} ({Path(sys.argv[0] or sys.executable).name})\n".encode(), 0)
        return cls(descriptor)

    def release(self) -> None:
        """Let go. Idempotent."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
