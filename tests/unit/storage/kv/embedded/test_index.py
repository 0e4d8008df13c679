"""What the live index keeps of each key."""

from __future__ import annotations

import pytest

from controlplane.storage.kv.embedded.index import LiveIndex
from controlplane.storage.kv.embedded.records import Entry, Record

KEY = b"/registry/configmaps/default/a"


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param((7, 7, 1, 0), id="created"),
        pytest.param((9, 7, 2, 0), id="changed"),
        pytest.param((7, 7, 1, 42), id="created under a lease"),
        pytest.param((9, 7, 2, 42), id="changed under a lease"),
    ],
)
def test_an_entry_comes_back_whole(entry: Entry) -> None:
    revision, created, version, lease = entry
    applied = LiveIndex()
    applied.apply([Record(revision, KEY, b"{}", created, 0, version, lease)])
    for index in (applied, LiveIndex([(KEY, entry)])):
        assert index.get(KEY) == entry
        assert list(index.leased()) == ([(lease, KEY)] if lease else [])
    applied.apply([Record(10, KEY, None, 0, revision, 0, 0)])
    assert applied.get(KEY) is None
    assert len(applied) == 0


def test_a_created_key_costs_no_object_of_its_own() -> None:
    """Its revision is the one that the event and the mirror have too."""
    index, revision = LiveIndex(), int("1000000")
    index.apply([Record(revision, KEY, b"{}", revision, 0, 1, 0)])
    found = index.get(KEY)
    assert found is not None
    assert found[0] is revision
    assert found[1] is revision
