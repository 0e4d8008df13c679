"""Ownership through updates and applies, as clients see it in ``metadata.managedFields``."""

from __future__ import annotations

from itertools import count
from operator import itemgetter
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.patch.managed_fields import LAST_APPLIED, FieldManager
from controlplane.apimachinery.patch.structured.errors import Conflict, ConflictError, Manager
from tests.unit.apimachinery.patch.structured.schemas import THING, thing

VERSION = "example.org/v1"


def unreachable(_obj: Obj, version: str) -> Obj:
    raise AssertionError(f"there is no version {version}")


def manager(subresource: str = "", reset: dict[str, Any] | None = None) -> FieldManager:
    seconds = count()
    return FieldManager(
        VERSION,
        types={VERSION: THING},
        convert=unreachable,
        reset=reset or {},
        subresource=subresource,
        blank={"metadata": {}},
        now=lambda: f"2026-01-01T00:00:{next(seconds):02d}Z",
    )


def owners(obj: Obj) -> dict[tuple[str, str], Any]:
    return {(e["manager"], e["operation"]): e["fieldsV1"] for e in obj["metadata"].get("managedFields", [])}


def created(fields: FieldManager, by: str = "creator", **content: Any) -> Obj:
    obj = thing(**content)
    obj["metadata"]["uid"] = "u"
    fields.update(None, obj, by)
    return obj


def test_create_owns_what_it_sets_and_no_system_field() -> None:
    obj = created(manager(), scalar="x", map={"a": "1"})
    assert owners(obj) == {("creator", "Update"): {"f:scalar": {}, "f:map": {".": {}, "f:a": {}}}}


def test_update_takes_what_it_changes() -> None:
    fields = manager()
    old = created(fields, scalar="x", number=1)
    new = thing(scalar="y", number=1)
    new["metadata"]["uid"] = "u"
    fields.update(old, new, "second")
    assert owners(new) == {("creator", "Update"): {"f:number": {}}, ("second", "Update"): {"f:scalar": {}}}


def test_update_that_changes_nothing_keeps_entries_and_times() -> None:
    fields = manager()
    old = created(fields, scalar="x")
    new = thing(scalar="x")
    new["metadata"]["uid"] = "u"
    fields.update(old, new, "second")
    assert new["metadata"]["managedFields"] == old["metadata"]["managedFields"]


def test_sending_an_empty_list_resets() -> None:
    fields = manager()
    old = created(fields, scalar="x", number=1)
    new = thing(scalar="y", number=1)
    new["metadata"].update(uid="u", managedFields=[])
    fields.update(old, new, "second")
    assert owners(new) == {}


def test_apply_owns_what_it_states_and_removes_what_it_no_longer_states() -> None:
    fields = manager()
    live = created(fields, by="other", number=1)
    first = fields.apply(live, thing(scalar="x", map={"a": "1", "b": "2"}), "me", force=False)
    assert first["map"] == {"a": "1", "b": "2"}
    second = fields.apply(first, thing(map={"b": "2"}), "me", force=False)
    assert "scalar" not in second
    assert second["map"] == {"b": "2"}
    assert second["number"] == 1
    assert owners(second)["me", "Apply"] == {"f:map": {"f:b": {}}}


@pytest.mark.parametrize("stated", [{}, None])
def test_a_field_that_is_applied_empty_stays_when_all_in_it_is_given_up(stated: Any) -> None:
    """As in structured-merge-diff 6.3.2, that of Kubernetes 1.36.0: the recorded status of a policy's type checks."""
    fields = manager()
    first = fields.apply(created(fields), thing(map={"a": "1"}, nested={"a": "1"}), "me", force=False)
    second = fields.apply(first, thing(map=stated, nested=stated), "me", force=False)
    assert (second["map"], second["nested"]) == ({}, {})
    assert owners(second)["me", "Apply"] == {"f:map": {}, "f:nested": {}}


def test_what_two_own_stays_when_one_gives_it_up() -> None:
    fields = manager()
    live = created(fields, by="other", number=1)
    one = fields.apply(live, thing(map={"a": "1"}), "one", force=False)
    two = fields.apply(one, thing(map={"a": "1"}), "two", force=False)
    left = fields.apply(two, thing(scalar="s"), "one", force=False)
    assert left["map"] == {"a": "1"}


def test_conflict_names_every_field_and_owner() -> None:
    fields = manager()
    live = created(fields, by="other", scalar="x", number=1)
    with pytest.raises(ConflictError) as caught:
        fields.apply(live, thing(scalar="y", number=2), "me", force=False)
    assert str(caught.value) == (
        'Apply failed with 2 conflicts: conflicts with "other" using example.org/v1:\n- .number\n- .scalar'
    )
    forced = fields.apply(live, thing(scalar="y", number=2), "me", force=True)
    assert owners(forced) == {("me", "Apply"): {"f:scalar": {}, "f:number": {}}}


def test_same_value_is_shared_without_conflict() -> None:
    fields = manager()
    live = created(fields, by="other", scalar="x")
    shared = fields.apply(live, thing(scalar="x"), "me", force=False)
    assert set(owners(shared)) == {("me", "Apply"), ("other", "Update")}


def test_items_of_lists_are_owned_one_by_one() -> None:
    fields = manager()
    live = created(fields, by="other", ports=[{"port": 1, "protocol": "TCP"}])
    mine = fields.apply(live, thing(ports=[{"port": 2, "protocol": "UDP"}]), "me", force=False)
    assert [p["port"] for p in mine["ports"]] == [1, 2]
    gone = fields.apply(mine, thing(), "me", force=False)
    assert [p["port"] for p in gone["ports"]] == [1]


def test_first_apply_gives_untracked_fields_an_owner() -> None:
    live = thing(scalar="x")
    live["metadata"]["uid"] = "u"
    applied = manager().apply(live, thing(number=1), "me", force=False)
    assert owners(applied) == {
        ("before-first-apply", "Update"): {"f:scalar": {}},
        ("me", "Apply"): {"f:number": {}},
    }


def test_updates_beyond_the_limit_are_joined() -> None:
    fields = manager()
    obj = created(fields, map={"k0": "v"})
    for index in range(1, 15):
        new = thing(map={**obj["map"], f"k{index}": "v"})
        new["metadata"]["uid"] = "u"
        fields.update(obj, new, f"m{index:02d}")
        obj = new
    entries = obj["metadata"]["managedFields"]
    assert len(entries) == 10
    assert entries[0]["manager"] == "ancient-changes"
    owned = [name for e in entries for name in e["fieldsV1"]["f:map"] if name != "."]
    assert sorted(owned) == sorted(f"f:k{i}" for i in range(15))


def test_kubectl_takes_over_what_it_applied_on_the_client_side() -> None:
    fields = manager()
    last = '{"apiVersion":"example.org/v1","kind":"Thing","metadata":{"name":"t"},"scalar":"x"}'
    obj = thing(scalar="x")
    obj["metadata"].update(uid="u", annotations={LAST_APPLIED: last})
    fields.update(None, obj, "kubectl-client-side-apply")
    with pytest.raises(ConflictError):
        fields.apply(obj, thing(scalar="y"), "someone", force=False)
    taken = fields.apply(obj, thing(scalar="y"), "kubectl", force=False)
    assert taken["scalar"] == "y"
    assert '"scalar":"y"' in taken["metadata"]["annotations"][LAST_APPLIED]


@pytest.mark.parametrize(
    "last",
    [
        pytest.param('{"apiVersion":"example.org/v2","kind":"Thing","scalar":"x"}', id="of another version"),
        pytest.param('{"apiVersion":"example.org/v1","kind":"Other","scalar":"x"}', id="of another kind"),
        pytest.param('{"apiVersion":"example.org/v1","scalar":"x"}', id="of no kind"),
        pytest.param('{"apiVersion":"example.org/v1","kind":"Thing","scalar":"z"}', id="changed since"),
        pytest.param("scalar: x", id="no JSON"),
    ],
)
def test_kubectl_takes_over_nothing_by_a_last_configuration(last: str) -> None:
    fields = manager()
    obj = thing(scalar="x")
    obj["metadata"].update(uid="u", annotations={LAST_APPLIED: last})
    fields.update(None, obj, "kubectl-client-side-apply")
    with pytest.raises(ConflictError):
        fields.apply(obj, thing(scalar="y"), "kubectl", force=False)


def test_managers_of_one_time_are_joined_in_the_order_of_their_identifiers() -> None:
    """Of one name the one with a subresource comes first, as its JSON does."""
    owned = [("m", ""), ("m", "status"), ("m", "scale"), *((f"n{index}", "") for index in range(8))]
    entries = [
        {
            "manager": name,
            "operation": "Update",
            "apiVersion": VERSION,
            "time": "2026-01-01T00:00:00Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:map": {f"f:{name}-{subresource}": {}}},
            **({"subresource": subresource} if subresource else {}),
        }
        for name, subresource in owned
    ]
    old = created(manager())
    new = thing()
    new["metadata"].update(uid="u", managedFields=entries)
    manager().update(old, new, "nobody")
    kept = new["metadata"]["managedFields"]
    assert len(kept) == 10
    assert kept[0]["manager"] == "ancient-changes"
    assert kept[0]["fieldsV1"] == {"f:map": {"f:m-scale": {}, "f:m-status": {}}}
    assert [entry["manager"] for entry in kept[1:]] == ["m", *(f"n{index}" for index in range(8))]


def test_conflicts_of_several_name_managers_in_the_order_of_their_identifiers() -> None:
    conflicts = [
        Conflict(Manager('a "b"', "Apply"), ("f:x",)),
        Conflict(Manager('a "b"', "Apply", subresource="status"), ("f:y",)),
    ]
    assert str(ConflictError(conflicts)) == (
        'Apply failed with 2 conflicts: conflicts with "a \\"b\\"" with subresource "status":\n- .y\n'
        'conflicts with "a \\"b\\"":\n- .x'
    )


def test_subresource_keeps_stored_entries_whatever_is_sent() -> None:
    status = manager("status")
    obj = created(manager(), scalar="x")
    new = thing(scalar="x", nested={"a": "1"})
    new["metadata"].update(uid="u", managedFields=[])
    status.update(obj, new, "controller")
    assert set(owners(new)) == {("creator", "Update"), ("controller", "Update")}


def test_reset_fields_cannot_be_owned() -> None:
    fields = manager(reset={VERSION: {"f:nested": {}}})
    obj = created(fields, scalar="x", nested={"a": "1"})
    assert owners(obj) == {("creator", "Update"): {"f:scalar": {}}}


PORT: Any = itemgetter("port")
CONFIGS = st.fixed_dictionaries(
    {},
    optional={
        "scalar": st.sampled_from(["x", "y"]),
        "map": st.dictionaries(st.sampled_from("abc"), st.sampled_from("12"), max_size=3),
        "set": st.lists(st.sampled_from("abc"), unique=True, max_size=3),
        "ports": st.lists(
            st.fixed_dictionaries({"port": st.integers(1, 3)}, optional={"name": st.sampled_from("xy")}),
            unique_by=PORT,
            max_size=3,
        ),
    },
)


@given(CONFIGS, CONFIGS)
def test_applying_twice_changes_nothing(before: Any, config: Any) -> None:
    fields = manager()
    live = created(fields, by="other", **before)
    once = fields.apply(live, thing(**config), "me", force=True)
    assume("managedFields" in once["metadata"])  # else all there is, as an empty set, is found before the next apply
    twice = fields.apply(once, thing(**config), "me", force=False)
    assert twice == once


@given(CONFIGS, CONFIGS)
def test_giving_everything_up_leaves_what_the_other_had_untouched(before: Any, config: Any) -> None:
    """What only I added goes; what the other had and I did not change stays."""
    fields = manager()
    live = created(fields, by="other", **before)
    try:
        once = fields.apply(live, thing(**config), "me", force=False)
    except ConflictError:
        return
    back = fields.apply(once, thing(), "me", force=False)
    for name, value in before.items():
        if name == "set":
            assert sorted(back.get(name) or []) == sorted(value)
        elif name == "ports":
            assert {p["port"] for p in back.get(name) or []} == {p["port"] for p in value}
        else:
            assert (back.get(name) or {}) == (value or {})
