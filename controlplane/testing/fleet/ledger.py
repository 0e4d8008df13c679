"""What a client under load was told has happened, and what an informer has shown: the two must agree.

Of each key: the states that a server has acknowledged, in order, and whether a deletion has been asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import Key, Obj

__all__ = ["NAME_PREFIX", "Ledger"]

NAME_PREFIX = "load-"
"""Of the names of what the load makes; objects of others are none of its business."""


class Ledger:
    """Of one resource. ``changed`` is called when an informer has shown something. ``present``: keys that are
    acknowledged to be there, with the uid. ``retried``: what made a client try again, and how often. ``faults``: what
    no client may see."""

    def __init__(self, resource: str, changed: Callable[[], None]) -> None:
        self.resource, self._changed = resource, changed
        self.present: dict[Key, str] = {}
        self.retried: Counter[str] = Counter()
        self.faults: list[str] = []
        self.writes = 0
        self._leaving: set[Key] = set()
        self._seen: dict[Key, str] = {}

    def stored(self, obj: Obj) -> None:
        """A write was acknowledged."""
        self.writes += 1
        key = meta.key_of(obj)
        if self.present.setdefault(key, meta.uid(obj)) != meta.uid(obj):
            self.faults.append(f"{self.resource} {key}: is another object than the one that was created")

    def leaving(self, key: Key) -> None:
        """Its deletion is about to be asked for."""
        self._leaving.add(key)

    def left(self, key: Key) -> None:
        """Its deletion was acknowledged."""
        self.writes += 1
        self.present.pop(key, None)

    def shown(self, old: Obj | None, new: Obj | None) -> None:
        """An informer reports a change."""
        obj = new if new is not None else old
        if obj is None or not meta.name(obj).startswith(NAME_PREFIX):
            return
        if new is not None:
            self._seen[meta.key_of(new)] = meta.uid(new)
        elif old is not None:
            key = meta.key_of(old)
            self._seen.pop(key, None)
            if key not in self._leaving:
                self.faults.append(f"{self.resource} {key}: an informer lost it; nobody had deleted it")
        self._changed()

    @property
    def settled(self) -> bool:
        """Whether the informer shows what was acknowledged, and nothing else."""
        return self._seen == self.present

    def difference(self) -> str:
        """For people: what is there and not shown, and the reverse."""
        missing, extra = self.present.keys() - self._seen.keys(), self._seen.keys() - self.present.keys()
        return f"{self.resource}: not shown: {_some(missing)}; shown though deleted: {_some(extra)}"


def _some(keys: set[Key]) -> str:
    return ", ".join(map(str, sorted(keys)[:5])) + (f" and {len(keys) - 5} more" if len(keys) > 5 else "") or "none"
