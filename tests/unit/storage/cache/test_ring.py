"""What the ring keeps and what it drops."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.storage.cache.entry import RAW, Entry
from controlplane.storage.cache.ring import CHANGE_BYTES, Change, Ring, RingBudget

KEEP_ALL = RingBudget(max_bytes=1 << 30, max_changes=1000, min_changes=0, keep_seconds=1e9)


def change(revision: int, size_bytes: int = 0) -> Change:
    prev = Entry(b"k", b"x" * size_bytes, revision - 1, 1, RAW) if size_bytes else None
    return Change(revision, b"k", None, prev)


def revisions(changes: list[Change]) -> list[int]:
    return [c.revision for c in changes]


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        pytest.param(10, [11, 12, 12, 14], id="from the floor"),
        pytest.param(11, [12, 12, 14], id="whole revisions"),
        pytest.param(13, [14], id="between revisions"),
        pytest.param(14, [], id="caught up"),
        pytest.param(99, [], id="in the future"),
    ],
)
def test_changes_after_a_revision(after: int, expected: list[int]) -> None:
    ring = Ring(10, KEEP_ALL)
    for revision in (11, 12, 12, 14):
        ring.append(change(revision))
    assert revisions(ring.after(after)) == expected


def test_of_a_creation_only_its_entry_is_kept() -> None:
    """With 50,000 changes the changes themselves are 4 MB, and as much work again for the garbage collector."""
    ring = Ring(0, KEEP_ALL)
    first, second = (Entry(b"k", b"{}", revision, 1, RAW) for revision in (1, 2))
    changes = [Change(1, b"k", first, None), Change(2, b"k", second, first), Change(3, b"k", None, second)]
    for made in changes:
        ring.append(made)
    assert ring.after(0) == changes
    assert list(ring.backward(1)) == [changes[2], changes[1]]
    assert [shown is made for shown, made in zip(ring.after(0), changes, strict=True)] == [False, True, True]


def test_a_limited_read_ends_at_a_revision_boundary() -> None:
    ring = Ring(0, KEEP_ALL)
    for revision in (1, 2, 2, 2, 3):
        ring.append(change(revision))
    assert revisions(ring.after(0, limit=2)) == [1, 2, 2, 2]
    assert revisions(ring.after(2, limit=2)) == [3]


def test_bytes_over_the_budget_are_dropped_oldest_first() -> None:
    ring = Ring(0, KEEP_ALL._replace(max_bytes=3 * (CHANGE_BYTES + 100)))
    for revision in range(1, 6):
        ring.append(change(revision, 100))
    assert ring.over
    ring.trim(0.0)
    assert ring.floor == 2
    assert revisions(ring.after(2)) == [3, 4, 5]
    assert not ring.over


def test_a_revision_is_dropped_whole() -> None:
    ring = Ring(0, KEEP_ALL._replace(max_changes=2))
    for revision in (1, 1, 1, 2):
        ring.append(change(revision))
    ring.trim(0.0)
    assert ring.floor == 1
    assert revisions(ring.after(1)) == [2]


def test_what_is_young_or_little_is_kept() -> None:
    ring = Ring(0, RingBudget(max_bytes=1 << 30, max_changes=1000, min_changes=2, keep_seconds=75))
    ring.append(change(1))
    ring.append(change(2))
    ring.trim(100.0)
    ring.append(change(3))
    ring.append(change(4))
    ring.trim(174.0)
    assert ring.floor == 0
    ring.trim(176.0)
    assert ring.floor == 2
    ring.trim(1000.0)
    assert revisions(ring.after(2)) == [3, 4]


@given(steps=st.lists(st.integers(0, 2), max_size=3000), limit=st.integers(1, 50))
def test_nothing_above_the_floor_is_missing(steps: list[int], limit: int) -> None:
    ring, revision, all_revisions = Ring(0, KEEP_ALL._replace(max_changes=limit)), 1, []
    for step in steps:
        revision += step
        ring.append(change(revision))
        all_revisions.append(revision)
        if step:
            ring.trim(0.0)
        assert revisions(ring.after(ring.floor)) == [r for r in all_revisions if r > ring.floor]
