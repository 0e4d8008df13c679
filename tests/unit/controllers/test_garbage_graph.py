"""The graph and its rules, without a server: what is kept, and what each observation asks for."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.apimachinery.codec.json import dumps
from controlplane.apimachinery.identity import Obj
from controlplane.controllers.garbage_collector.graph import Identity, Node
from controlplane.controllers.garbage_collector.observed import ABSENT_OWNERS, AbsentOwners, Observer


class Asked:
    """An observer, and what it has asked for since it was last looked at."""

    def __init__(self) -> None:
        self.deletes: list[str] = []
        self.orphans: list[str] = []
        self.misplaced: list[tuple[str, str]] = []
        self.observer = Observer(
            delete=self.deletes.append,
            orphan=self.orphans.append,
            misplaced=lambda n, u: self.misplaced.append((n.uid, u)),
        )

    def take(self) -> list[str]:
        taken, self.deletes[:] = sorted(set(self.deletes)), []
        return taken

    def seen(self, uid: str, *owners: str, namespace: str = "ns", blocks: bool = True, **metadata: Any) -> None:
        refs = [reference(owner, blocks=blocks) for owner in owners]
        obj: Obj = {"metadata": {"uid": uid, **({"ownerReferences": refs} if refs else {}), **metadata}}
        self.observer.seen(identity(uid, namespace), obj)

    def node(self, uid: str) -> Node:
        node = self.observer.graph.get(uid)
        assert node is not None
        return node


def identity(uid: str, namespace: str = "ns") -> Identity:
    return Identity("v1", "ConfigMap", namespace, f"name-{uid}", uid)


def reference(uid: str, *, blocks: bool = True, **other: str) -> Obj:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": f"name-{uid}",
        "uid": uid,
        "blockOwnerDeletion": blocks,
        **other,
    }


@pytest.mark.parametrize(
    ("metadata", "concerns"),
    [
        pytest.param({"uid": "a"}, False, id="without owners, unknown"),
        pytest.param({"uid": "known"}, True, id="known as an owner"),
        pytest.param({"uid": "a", "ownerReferences": [reference("b")]}, True, id="with an owner"),
        pytest.param({"uid": "a", "deletionTimestamp": "2026-01-01T00:00:00Z"}, True, id="being deleted"),
    ],
)
def test_most_objects_do_not_concern_the_graph(metadata: Obj, *, concerns: bool) -> None:
    asked = Asked()
    asked.seen("dependent", "known")
    assert asked.observer.concerns({"metadata": metadata}) is concerns


@pytest.fixture
def asked() -> Asked:
    return Asked()


def test_objects_without_owners_and_dependents_are_not_kept(asked: Asked) -> None:
    for number in range(100):
        asked.seen(f"u{number}")
    assert len(asked.observer.graph) == 0
    asked.seen("child", "u1")
    assert len(asked.observer.graph) == 2
    asked.observer.gone(identity("child"))
    assert asked.observer.graph.get("u1") is not None, "not seen yet: a live read has to tell"
    asked.seen("u1")
    assert len(asked.observer.graph) == 0


def test_an_owner_that_was_not_seen_is_asked_for_and_its_absence_asks_for_its_dependents(asked: Asked) -> None:
    asked.seen("child", "owner")
    assert asked.take() == ["owner"]
    assert asked.node("owner").virtual
    asked.observer.proved_absent(identity("owner"))
    assert asked.take() == ["child"]
    assert identity("owner") in asked.observer.absent
    assert asked.observer.graph.get("owner") is None


def test_the_end_of_an_owner_asks_for_its_dependents(asked: Asked) -> None:
    asked.seen("child", "owner")
    asked.seen("owner")
    asked.take()
    asked.observer.gone(identity("owner"))
    assert asked.take() == ["child"]


def test_dependents_that_disagree_on_coordinates_are_told_apart(asked: Asked) -> None:
    """One names the owner's uid under another name: its absence there says nothing of the other."""
    asked.seen("right", "owner")
    wrong = reference("owner") | {"name": "elsewhere"}
    asked.observer.seen(identity("wrong"), {"metadata": {"uid": "wrong", "ownerReferences": [wrong]}})
    asked.take()
    asked.observer.proved_absent(identity("owner"))
    assert asked.take() == ["owner", "right"], "the right one goes; the owner is looked for under its other name"
    assert asked.node("owner").identity.name == "elsewhere"
    asked.observer.graph.remove(asked.node("right"))
    asked.observer.proved_absent(asked.node("owner").identity)
    assert asked.take() == ["wrong"]


def test_a_proof_of_absence_does_not_touch_what_is_known_under_other_coordinates(asked: Asked) -> None:
    asked.seen("child", "owner")
    asked.seen("owner")
    asked.take()
    asked.observer.proved_absent(identity("owner", "other-namespace"))
    assert asked.take() == []
    assert not asked.node("owner").virtual


def test_a_dependent_in_another_namespace_is_reported_and_asked_for(asked: Asked) -> None:
    asked.seen("near", "owner")
    asked.seen("owner")
    asked.take()
    asked.seen("far", "owner", namespace="other")
    assert asked.misplaced == [("far", "owner")]
    assert asked.take() == ["far"]


def test_it_is_reported_too_when_the_owner_is_found_later(asked: Asked) -> None:
    asked.seen("far", "owner", namespace="other")
    asked.take()
    asked.seen("owner")
    assert asked.misplaced == [("far", "owner")]
    assert asked.take() == ["far"]


def test_foreground_asks_for_the_dependents_and_again_when_one_is_gone_or_lets_go(asked: Asked) -> None:
    asked.seen("one", "owner")
    asked.seen("two", "owner")
    asked.seen("three", "owner")
    asked.seen("owner")
    asked.take()
    deletion: dict[str, Any] = {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["foregroundDeletion"]}
    asked.seen("owner", **deletion)
    assert asked.take() == ["one", "owner", "three", "two"]
    asked.seen("owner", **deletion)
    assert asked.take() == [], "it has begun already"
    asked.observer.gone(identity("one"))
    assert asked.take() == ["owner"]
    asked.seen("two")
    assert asked.take() == ["owner"], "its reference is off"
    asked.seen("three", "owner", blocks=False)
    assert asked.take() == ["owner"], "it does not block any more"
    assert not list(asked.node("owner").blocking_dependents())


def test_orphaning_is_asked_for_once(asked: Asked) -> None:
    asked.seen("child", "owner")
    deletion: dict[str, Any] = {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["orphan"]}
    asked.seen("owner", **deletion)
    asked.seen("owner", **deletion)
    assert asked.orphans == ["owner"]


def test_what_was_missed_is_left_to_a_live_read(asked: Asked) -> None:
    asked.seen("child", "owner")
    asked.seen("owner")
    asked.take()
    asked.observer.unsure(asked.node("owner"))
    assert asked.take() == ["owner"]
    assert identity("owner") not in asked.observer.absent


def test_absences_are_remembered_up_to_a_bound() -> None:
    absent = AbsentOwners()
    for number in range(ABSENT_OWNERS):
        absent.add(identity(str(number)))
    assert identity("0") in absent  # asked for just now, so the next to go is 1
    absent.add(identity("new"))
    assert identity("0") in absent
    assert identity("1") not in absent


@pytest.mark.parametrize(
    ("metadata", "unconcerned"),
    [
        pytest.param({"uid": "a", "annotations": {"x": '{"uid":"known"}'}}, True, id="unknown, without owners"),
        pytest.param({"uid": "known"}, False, id="known"),
        pytest.param({"uid": "a", "ownerReferences": [reference("o")]}, False, id="with owners"),
        pytest.param({"uid": "a", "deletionTimestamp": "2026-01-01T00:00:00Z"}, False, id="being deleted"),
        pytest.param({"name": "a"}, False, id="without a uid, which is not to be judged by its bytes"),
        pytest.param({"uid": 'a"b'}, False, id="of a uid that is spelled with an escape"),
    ],
)
def test_what_bytes_tell_is_what_the_object_would(metadata: Obj, unconcerned: bool) -> None:
    asked = Asked()
    asked.seen("known", "owner")
    line = dumps({"type": "ADDED", "object": {"metadata": metadata}})
    assert asked.observer.is_unconcerned(line) == unconcerned
    assert not (unconcerned and asked.observer.concerns({"metadata": metadata}))
