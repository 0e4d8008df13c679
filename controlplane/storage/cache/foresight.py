"""Long changes, worked on beside the loop before they are applied.

A step applies a change on the loop without a break: it reads the new state, shows it to the observer of its collection,
and frames it for those who watch. Of a long object each of that may take many milliseconds, and each is a function of
the change alone. So it is done beforehand, in a thread, and the step finds it done. What is not as it was foreseen when
the step comes (another event of the batch concerns the same object, a watch has begun meanwhile) is done in the step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from controlplane.base import logs
from controlplane.base.aside import LONG_BYTES, aside
from controlplane.storage.cache.collection import Collection
from controlplane.storage.cache.entry import Entry
from controlplane.storage.cache.ring import Change
from controlplane.storage.cache.selection import Memo, Selection
from controlplane.storage.kv.api import Event

if TYPE_CHECKING:
    from controlplane.storage.cache.image import Image

__all__ = ["Foreseen", "foresee"]

log = logs.get(__name__)


class Foreseen(NamedTuple):
    """The new state of a change, read (None: deleted); the old one that it was foreseen with; and what selections have
    made of both."""

    entry: Entry | None
    prev: Entry | None
    memo: Memo


async def foresee(image: Image, events: Sequence[Event]) -> None:
    """Work out what the steps that apply these events will need of long objects."""
    for event in events:
        if event.kv is not None and len(event.kv.value) < LONG_BYTES:
            continue
        prev = image.index.get(event.key)
        if event.kv is None and (prev is None or len(prev.data) < LONG_BYTES):
            continue
        collection = image.collections.of(event.key)
        if collection is not None and (prev is None or not prev.origin.unread):
            await _foresee_one(image, event, collection, prev)


async def _foresee_one(image: Image, event: Event, collection: Collection, prev: Entry | None) -> None:
    selections = [channel.selection for channel in collection.channels_of(event.key) if channel.frames]
    observer = collection.foresees

    def work() -> Foreseen:
        memo: Memo = {}
        entry = image.intake.read(event.kv, collection) if event.kv is not None else None
        change = Change(event.mod_revision, event.key, entry, prev)
        if observer is not None:
            observer(change)
        for selection in selections:
            _frame(selection, change, memo)
        return Foreseen(entry, prev, memo)

    image.foreseen[event.mod_revision, event.key] = await aside(work, urgent=True)


def _frame(selection: Selection, change: Change, memo: Memo) -> None:
    try:
        selection.frame(change, memo)
    except Exception as error:  # noqa: BLE001  # the step meets it again, and tells those who watch
        log.debug("a watch event could not be foreseen", key=change.key, error=error)
