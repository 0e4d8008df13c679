"""The rows of an embedded store: what one write leaves behind, and what the live index keeps of it."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from controlplane.storage.kv.api import Event, KeyValue

__all__ = ["Entry", "Record", "event_of", "key_value_of", "new"]

new = tuple.__new__
"""Makes a named tuple at half the cost of calling its class: these are made for every write."""

Entry: TypeAlias = tuple[int, int, int, int]
"""A live key's ``(mod_revision, create_revision, version, lease)``. A plain tuple of ints: the garbage collector stops
tracking those, so 100,000 of them do not lengthen a full collection."""


class Record(NamedTuple):
    """One write. ``prev_revision`` is the revision of the value it replaced, 0 if there was none.

    A deletion is a tombstone: ``value`` None, ``version``, ``create_revision`` and ``lease`` 0.
    The fields are in the order of the SQLite log's columns, so a record is a row.
    """

    revision: int
    key: bytes
    value: bytes | None
    create_revision: int
    prev_revision: int
    version: int
    lease: int


def key_value_of(record: Record) -> KeyValue | None:
    """The key-value that a write left; None if it was a deletion."""
    revision, key, value, create_revision, _, version, lease = record
    return None if value is None else new(KeyValue, (key, value, create_revision, revision, version, lease))


def event_of(record: Record, prev: KeyValue | None = None) -> Event:
    """The write as watches see it."""
    revision, key, value, create_revision, _, version, lease = record
    kv = None if value is None else new(KeyValue, (key, value, create_revision, revision, version, lease))
    return new(Event, (key, revision, kv, prev))
