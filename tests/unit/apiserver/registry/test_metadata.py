"""The server's part of metadata."""

from __future__ import annotations

from controlplane.apiserver.registry.metadata import deduplicate_owners


def test_of_equal_owners_the_first_stays() -> None:
    one, two = {"uid": "1", "kind": "A"}, {"uid": "2", "kind": "A"}
    meta = {"ownerReferences": [one, two, dict(reversed(one.items())), two | {"controller": True}]}
    warnings: list[str] = []
    deduplicate_owners(meta, warnings.append, after_admission=False)
    assert meta["ownerReferences"] == [one, two, two | {"controller": True}]
    assert len(warnings) == 1
    assert warnings[0].endswith("duplicate UID(s) observed: 1")


def test_many_owners_are_compared_in_one_pass() -> None:
    """By pairs, these would take a minute."""
    owners = [{"apiVersion": "v1", "kind": "A", "name": "a", "uid": str(i)} for i in range(30_000)]
    meta = {"ownerReferences": owners}
    deduplicate_owners(meta, lambda _: None, after_admission=False)
    assert len(meta["ownerReferences"]) == len(owners)
