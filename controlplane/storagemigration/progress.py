"""What a migration has done so far, in numbers that add up."""

from __future__ import annotations

from controlplane.apimachinery.identity import GroupResource
from controlplane.storagemigration.metrics import OBJECTS, REMAINING

__all__ = ["OUTCOMES", "Progress"]

OUTCOMES = ("rewritten", "current", "superseded", "failed")
"""Of an object: it was written anew; it was stored as it is to be already; it was changed or deleted by somebody else
meanwhile, and needs nothing more; it could not be written."""


class Progress:
    """Counts of one run over a resource, also kept as metrics. ``seen`` is the sum of the outcomes; ``remaining``:
    objects that were not looked at yet, None if that is not known. ``first_failure`` says why the first failed."""

    def __init__(self, gr: GroupResource) -> None:
        self._labels = (gr.group, gr.resource)
        self.counts = dict.fromkeys(OUTCOMES, 0)
        self.remaining: int | None = None
        self.first_failure = ""

    @property
    def seen(self) -> int:
        return sum(self.counts.values())

    def count(self, outcome: str) -> None:
        """One more object has come to this."""
        self.counts[outcome] += 1
        OBJECTS.labels_cached((*self._labels, outcome)).inc()

    def failed(self, why: str) -> None:
        self.count("failed")
        self.first_failure = self.first_failure or why

    def remain(self, objects: int | None) -> None:
        """So many have not been looked at."""
        self.remaining = objects
        REMAINING.labels_cached(self._labels).set(objects or 0)

    def text(self) -> str:
        """For people: ``120 of 500 seen: 100 rewritten, 15 already current, …``."""
        total = f" of {self.seen + self.remaining}" if self.remaining else ""
        counts = self.counts
        return (
            f"{self.seen}{total} seen: {counts['rewritten']} rewritten, {counts['current']} already current, "
            f"{counts['superseded']} changed or deleted meanwhile, {counts['failed']} failed"
        )
