"""Ownership across versions: each owner's fields are named in the version through which it wrote."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.patch.managed_fields import FieldManager
from controlplane.apimachinery.patch.structured.errors import ConflictError
from controlplane.apimachinery.patch.structured.types import object_type

TEXT = {"type": "string"}
V1, V2 = "example.org/v1", "example.org/v2"
TYPES = {
    V1: object_type({"properties": {"color": TEXT, "size": TEXT}}),
    V2: object_type({"properties": {"colour": TEXT, "size": TEXT}}),
}
RENAMED = {(V1, V2): ("color", "colour"), (V2, V1): ("colour", "color")}


def convert(obj: Obj, version: str) -> Obj:
    old, new = RENAMED[obj["apiVersion"], version]
    return {new if name == old else name: value for name, value in obj.items()} | {"apiVersion": version}


def field_manager(version: str, *served: str) -> FieldManager:
    return FieldManager(
        version,
        types={name: TYPES[name] for name in served or (V1, V2)},
        convert=convert,
        reset={},
        subresource="",
        now=lambda: "2026-01-01T00:00:00Z",
        blank={"apiVersion": version, "metadata": {}},
    )


def thing(version: str, **fields: Any) -> Obj:
    return {"apiVersion": version, "kind": "Thing", "metadata": {"name": "t"}, **fields}


def in_version(obj: Obj, version: str) -> Obj:
    """The object as a client of another version gets it."""
    return convert(obj, version) if obj["apiVersion"] != version else obj


def owners(obj: Obj) -> dict[str, tuple[str, Any]]:
    return {e["manager"]: (e["apiVersion"], e["fieldsV1"]) for e in obj["metadata"]["managedFields"]}


def test_a_conflict_is_found_whatever_the_field_is_called() -> None:
    live = field_manager(V1).apply(None, thing(V1, color="red"), "one", force=False)
    seen = in_version(live, V2)
    with pytest.raises(ConflictError) as caught:
        field_manager(V2).apply(seen, thing(V2, colour="blue"), "two", force=False)
    assert str(caught.value) == 'Apply failed with 1 conflict: conflict with "one": .color'
    forced = field_manager(V2).apply(seen, thing(V2, colour="blue"), "two", force=True)
    assert owners(forced) == {"two": (V2, {"f:colour": {}})}


def test_an_update_takes_a_field_from_an_owner_in_another_version() -> None:
    live = field_manager(V1).apply(None, thing(V1, color="red", size="s"), "one", force=False)
    live["metadata"]["uid"] = "u"
    new = thing(V2, colour="blue", size="s")
    new["metadata"]["uid"] = "u"
    field_manager(V2).update(in_version(live, V2), new, "two")
    assert owners(new) == {"one": (V1, {"f:size": {}}), "two": (V2, {"f:colour": {}})}


def test_what_was_applied_in_one_version_is_removed_by_an_apply_in_another() -> None:
    first = field_manager(V1).apply(None, thing(V1, color="red", size="s"), "one", force=False)
    second = field_manager(V2).apply(in_version(first, V2), thing(V2, size="s"), "one", force=False)
    assert second == {**thing(V2, size="s"), "metadata": second["metadata"]}
    assert owners(second) == {"one": (V2, {"f:size": {}})}


def test_owners_in_a_version_that_is_no_longer_served_are_forgotten() -> None:
    live = field_manager(V1).apply(None, thing(V1, color="red"), "one", force=False)
    seen = in_version(live, V2)
    later = field_manager(V2, V2).apply(seen, thing(V2, colour="blue"), "two", force=False)
    assert owners(later)["two"] == (V2, {"f:colour": {}})
    assert "one" not in owners(later)
