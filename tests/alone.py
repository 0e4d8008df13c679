"""Tests that measure have the machine to themselves while the others run side by side (pytest-xdist).

A test marked ``alone`` waits until those of the other workers have ended, and they wait for it. Two locks make that
fair: who wants to be alone holds the gate while it waits for the room to be empty, so that nobody overtakes it.
"""

from __future__ import annotations

import fcntl
import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["turn", "without_what_others_left"]


@contextmanager
def turn(locks: Path, *, alone: bool) -> Iterator[None]:
    """Have a turn among all who share the directory ``locks``. Blocks."""
    with _locked(locks / "gate", exclusive=alone) as gate, _locked(locks / "room", exclusive=alone):
        if not alone:
            fcntl.flock(gate, fcntl.LOCK_UN)
        yield


@contextmanager
def without_what_others_left() -> Iterator[None]:
    """Garbage collections pass over what is there already: after some thousand tests a full one takes half a second."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@contextmanager
def _locked(path: Path, *, exclusive: bool) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH)
        yield descriptor
    finally:
        os.close(descriptor)
