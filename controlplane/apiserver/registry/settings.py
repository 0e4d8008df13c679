"""What the registry is told once, and what it answers with."""

from __future__ import annotations

import os
import random
import re
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
            random_bytes = bytearray(os.urandom(16 * _UIDS_AT_ONCE))
            random_bytes[6::16] = random_bytes[6::16].translate(_VERSION)
            random_bytes[8::16] = random_bytes[8::16].translate(_VARIANT)
            made.extend(map("-".join, _PARTS.findall(random_bytes.hex())))
        return made.pop()

    return new_uid


_PARTS = re.compile("(.{8})(.{4})(.{4})(.{4})(.{12})")
_VERSION = bytes(0x40 | byte & 0x0F for byte in range(256))
_VARIANT = bytes(0x80 | byte & 0x3F for byte in range(256))
"""What a byte of a UUID becomes that says its version, or its variant."""


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
