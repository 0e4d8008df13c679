"""What the registry is told once, and what it answers with."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import field
from functools import lru_cache
from typing import NamedTuple

from controlplane.apimachinery.identity import Obj
from controlplane.base.clock import Clock, SystemClock, rfc3339
from controlplane.base.values import dataclass
from controlplane.storage.api import Entry

__all__ = ["Deleted", "RegistrySettings", "Written"]


_UIDS_AT_ONCE = 32
"""The system is asked for the randomness of so many: to ask it for each was two hundredths of a create."""


def _uids() -> Callable[[], str]:
    """A source of random UUIDs, version 4 (RFC 9562)."""
    made: list[str] = []

    def new_uid() -> str:
        if not made:
            digits = os.urandom(16 * _UIDS_AT_ONCE).hex()
            made.extend(_uid(digits[at : at + 32]) for at in range(0, len(digits), 32))
        return made.pop()

    return new_uid


_VARIANT = {digit: "89ab"[int(digit, 16) & 3] for digit in "0123456789abcdef"}


def _uid(h: str) -> str:
    return f"{h[:8]}-{h[8:12]}-4{h[13:16]}-{_VARIANT[h[16]]}{h[17:20]}-{h[20:]}"


_new_uid = _uids()


@lru_cache(maxsize=8)
def _second(seconds: int) -> str:
    return rfc3339(seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrySettings:
    """``garbage_collection``: whether a garbage collector runs, so that its finalizers may be set on objects whose
    dependents are to be orphaned or deleted first (nobody would remove them otherwise)."""

    clock: Clock = field(default_factory=SystemClock)
    random: random.Random = field(default_factory=random.Random)
    new_uid: Callable[[], str] = _new_uid
    garbage_collection: bool = True

    def now(self) -> str:
        """The time, as objects carry it."""
        return _second(int(self.clock.now()))


class Written(NamedTuple):
    """A write's outcome: the ``entry`` that is stored now, or (dry run; an update that removed the object) the object
    as it would be or last was. ``created``: there was none before."""

    entry: Entry | None
    obj: Obj | None
    created: bool = False


class Deleted(NamedTuple):
    """A deletion's outcome. ``gone``: the object is no more (``uid`` and the name say which it was), and ``entry`` is
    its last state. Otherwise it waits for its finalizers, and ``entry`` or (dry run) ``obj`` shows it."""

    gone: bool
    uid: str
    entry: Entry | None = None
    obj: Obj | None = None
