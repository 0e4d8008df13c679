"""Any sequence of updates and applies leaves the objects and the owners that the definition gives."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.patch.managed_fields import FieldManager
from controlplane.apimachinery.patch.structured.beside import Beside
from controlplane.apimachinery.patch.structured.compare import compare
from controlplane.apimachinery.patch.structured.errors import ConflictError
from controlplane.apimachinery.patch.structured.fieldset import Fields, union
from controlplane.apimachinery.patch.structured.merge import merge
from tests.property.apply.model import Conflicts, Model, Owner, Paths, extract, fields_of, paths_of
from tests.unit.apimachinery.patch.structured.schemas import THING, thing

VERSION = "example.org/v1"
SYSTEM: Paths = frozenset(
    {("f:apiVersion",), ("f:kind",), ("f:metadata",)}
    | {("f:metadata", f"f:{name}") for name in ("name", "uid", "managedFields")}
)
TEXT = st.sampled_from(["x", "y"])
PORT: Any = itemgetter("port", "protocol")
ANYTHING = st.recursive(
    st.sampled_from([None, True, 1, 0, "x"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=4,
)
PORTS = st.lists(
    st.fixed_dictionaries(
        {"port": st.integers(1, 2), "protocol": st.sampled_from(["TCP", "UDP"])},
        optional={"name": TEXT, "tags": st.lists(st.sampled_from("abc"), unique=True, max_size=3)},
    ),
    unique_by=PORT,
    max_size=3,
)
CONTENT = st.fixed_dictionaries(
    {},
    optional={
        "scalar": st.none() | TEXT,
        "number": st.integers(0, 1),
        "set": st.lists(st.sampled_from("abc"), unique=True, max_size=3),
        "atomic": st.lists(st.sampled_from("ab"), max_size=2),
        "map": st.dictionaries(st.sampled_from("abc"), st.sampled_from("12"), max_size=3),
        "atomicMap": st.dictionaries(st.sampled_from("ab"), st.sampled_from("12"), max_size=2),
        "ports": PORTS,
        "nested": st.fixed_dictionaries({}, optional={"a": TEXT, "b": TEXT}),
        "anything": st.dictionaries(st.sampled_from("ab"), ANYTHING, max_size=2),
    },
)
LABELS = st.dictionaries(st.sampled_from("ab"), TEXT, max_size=2)
STEPS = st.lists(
    st.tuples(st.sampled_from(["update", "apply", "force"]), st.sampled_from(["one", "two", "three"]), CONTENT, LABELS),
    min_size=1,
    max_size=8,
)


def field_manager() -> FieldManager:
    def unreachable(_obj: Obj, version: str) -> Obj:
        raise AssertionError(f"there is no version {version}")

    return FieldManager(
        VERSION,
        types={VERSION: THING},
        convert=unreachable,
        reset={},
        subresource="",
        now=lambda: "2026-01-01T00:00:00Z",
        blank={"metadata": {}},
    )


def made(content: Obj, labels: Obj) -> Obj:
    obj = thing(**content)
    if labels:
        obj["metadata"]["labels"] = labels
    return obj


def owners(obj: Obj) -> dict[Owner, Paths]:
    entries = obj["metadata"].get("managedFields", [])
    return {(e["manager"], e["operation"]): paths_of(e["fieldsV1"]) for e in entries}


def bare(obj: Obj) -> Obj:
    return {**obj, "metadata": {k: v for k, v in obj["metadata"].items() if k != "managedFields"}}


@given(CONTENT, LABELS, STEPS)
def test_objects_and_owners_are_those_of_the_definition(content: Obj, labels: Obj, steps: Any) -> None:
    fields, model = field_manager(), Model(THING, SYSTEM)
    live = made(content, labels)
    live["metadata"]["uid"] = "u"
    model.update({"metadata": {}}, live, "creator")
    fields.update(None, live, "creator")
    assert owners(live) == model.owners
    for operation, name, content_, labels_ in steps:
        if not model.owners:
            return  # from here on everything counts as there before the first apply
        config = made(content_, labels_)
        if operation == "update":
            config["metadata"]["uid"] = "u"
            model.update(bare(live), config, name)
            fields.update(live, config, name)
            live = config
        else:
            live = apply_both(fields, model, live, config, name, force=operation == "force")
        assert owners(live) == model.owners


def apply_both(fields: FieldManager, model: Model, live: Obj, config: Obj, name: str, *, force: bool) -> Obj:
    """Apply by both, which must agree on the conflicts, or on the object; gives the object."""
    merged = merge(bare(live), config, THING)
    expected: Any
    try:
        expected = model.apply(bare(live), config, merged, name, force=force)
    except Conflicts as conflicts:
        expected = conflicts.fields
    if not isinstance(expected, dict):
        with pytest.raises(ConflictError) as caught:
            fields.apply(live, config, name, force=force)
        assert {((c.manager.name, c.manager.operation), c.path) for c in caught.value.conflicts} == expected
        return live
    found = fields.apply(live, config, name, force=force)
    assert bare(found) == expected
    return found


@given(CONTENT, LABELS, CONTENT, LABELS)
def test_applying_twice_changes_nothing(content: Obj, labels: Obj, config: Obj, config_labels: Obj) -> None:
    fields = field_manager()
    live = made(content, labels)
    live["metadata"]["uid"] = "u"
    fields.update(None, live, "creator")
    once = fields.apply(live, made(config, config_labels), "me", force=True)
    assert fields.apply(once, made(config, config_labels), "me", force=False) == once


@given(CONTENT, LABELS)
def test_ownership_is_by_value(content: Obj, labels: Obj) -> None:
    """Applying what is there already is no conflict, takes nothing from anybody and changes no value."""
    fields = field_manager()
    live = made(content, labels)
    live["metadata"]["uid"] = "u"
    fields.update(None, live, "creator")
    shared = fields.apply(live, made(content, labels), "me", force=False)
    assert owners(shared).get(("creator", "Update")) == owners(live).get(("creator", "Update"))
    assert bare(shared) == bare(live)


@given(CONTENT, LABELS, CONTENT, LABELS)
def test_extracting_what_was_applied_gives_the_applied_set_back(
    content: Obj, labels: Obj, config: Obj, config_labels: Obj
) -> None:
    fields = field_manager()
    live = made(content, labels)
    live["metadata"]["uid"] = "u"
    fields.update(None, live, "creator")
    applied = made(config, config_labels)
    merged = fields.apply(live, applied, "me", force=True)
    mine = owners(merged).get(("me", "Apply"), frozenset())
    assert mine == frozenset(fields_of(applied, THING)) - SYSTEM
    extracted = extract(merged, mine, THING)
    assert frozenset(fields_of(extracted, THING)) - SYSTEM == mine


@given(CONTENT, CONTENT, LABELS)
def test_what_is_set_beside_a_blank_object_is_what_comparing_finds(blank: Obj, content: Obj, labels: Obj) -> None:
    new = made(content, labels)
    ignored: Fields = {"f:kind": {}, "f:metadata": {"f:name": {}}, "f:nested": {"f:a": {}}}
    changes = compare(blank, new, THING, ignored)
    beside = Beside(blank, THING, ignored)
    for _ in range(2):  # the second time by what was remembered
        assert beside.fields_of(new) == union(changes.modified, changes.added)
