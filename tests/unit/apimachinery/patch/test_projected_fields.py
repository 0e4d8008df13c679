"""Managed fields between an object and its scale.

The cases are those of kubernetes/apimachinery ``pkg/util/managedfields/scalehandler.go``.
"""

from __future__ import annotations

from typing import Any

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.patch.projected_fields import ProjectedField, object_entries, shown_entries

SHOWN: Obj = {"f:spec": {"f:replicas": {}}}
FIELD = ProjectedField(
    ("f:spec", "f:replicas"), "autoscaling/v1", {"g/v1": ("f:spec", "f:n"), "g/v2": ("f:m",), "g/v3": None}
)


def entry(manager: str, fields: Obj, *, operation: str = "Update", version: str = "g/v1", **more: Any) -> Obj:
    made = {"manager": manager, "operation": operation, "apiVersion": version, "time": "2026-01-01T00:00:00Z"}
    return {**made, "fieldsType": "FieldsV1", "fieldsV1": fields, **more}


def scale_entry(manager: str, **more: Any) -> Obj:
    return entry(manager, SHOWN, version="autoscaling/v1", **more)


def test_those_who_own_the_field_are_shown() -> None:
    owners = [
        entry("one", {"f:spec": {"f:n": {}, "f:x": {}}}, operation="Apply"),
        entry("two", {"f:spec": {"f:x": {}}}),
        entry("three", {"f:m": {}}, version="g/v2"),
        entry("four", {"f:m": {}}, version="g/v3"),
        entry("five", {"f:m": {}}, version="g/v0"),
    ]
    assert shown_entries(owners, FIELD) == [scale_entry("one", operation="Apply"), scale_entry("three")]


def test_what_another_took_through_the_scale_is_lost() -> None:
    owners = [entry("one", {"f:spec": {"f:n": {}, "f:x": {}}}), entry("two", {"f:m": {}}, version="g/v2")]
    kept = object_entries(owners, [scale_entry("three", subresource="scale")], FIELD, "g/v1")
    taken = entry("three", {"f:spec": {"f:n": {}}}, subresource="scale")
    del taken["time"]
    assert kept == [taken, entry("one", {"f:spec": {"f:x": {}}})]


def test_an_applier_that_still_owns_it_keeps_its_entry() -> None:
    owners = [entry("one", {"f:spec": {"f:n": {}, "f:x": {}}}, operation="Apply")]
    assert object_entries(owners, [scale_entry("one", operation="Apply")], FIELD, "g/v1") == owners


def test_an_updater_that_still_owns_it_gets_an_entry_of_its_own_without_a_time() -> None:
    owners = [entry("one", {"f:spec": {"f:n": {}, "f:x": {}}})]
    own = entry("one", {"f:spec": {"f:n": {}}})
    del own["time"]
    assert object_entries(owners, shown_entries(owners, FIELD), FIELD, "g/v1") == [
        own,
        entry("one", {"f:spec": {"f:x": {}}}),
    ]


def test_entries_of_unknown_versions_are_dropped_and_those_without_scale_kept() -> None:
    owners = [entry("one", {"f:m": {}}, version="g/v0"), entry("two", {"f:m": {}}, version="g/v3")]
    assert object_entries(owners, [], FIELD, "g/v1") == owners[1:]
