"""Accessors and setters of metadata, and the time formats."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import GVK, Key, Obj

FULL: Obj = {
    "apiVersion": "apps/v1",
    "kind": "Thing",
    "metadata": {
        "name": "a",
        "generateName": "a-",
        "namespace": "ns",
        "uid": "u",
        "resourceVersion": "7",
        "generation": 2,
        "labels": {"x": "y"},
        "annotations": {"n": "m"},
        "finalizers": ["f"],
        "ownerReferences": [{"uid": "o"}, {"uid": "p", "controller": True}],
        "managedFields": [{"manager": "m"}],
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "deletionTimestamp": "2026-01-02T00:00:00Z",
        "deletionGracePeriodSeconds": 0,
    },
}


def test_accessors() -> None:
    assert meta.gvk_of(FULL) == GVK("apps", "v1", "Thing")
    assert meta.key_of(FULL) == Key("ns", "a")
    assert (meta.name(FULL), meta.namespace(FULL), meta.generate_name(FULL)) == ("a", "ns", "a-")
    assert (meta.uid(FULL), meta.resource_version(FULL), meta.generation(FULL)) == ("u", "7", 2)
    assert (meta.labels(FULL), meta.annotations(FULL)) == ({"x": "y"}, {"n": "m"})
    assert (meta.finalizers(FULL), meta.managed_fields(FULL)) == (["f"], [{"manager": "m"}])
    assert meta.controller_of(FULL) == {"uid": "p", "controller": True}
    assert meta.creation_timestamp(FULL) == "2026-01-01T00:00:00Z"
    assert meta.deletion_timestamp(FULL) == "2026-01-02T00:00:00Z"
    assert meta.is_being_deleted(FULL)
    assert meta.deletion_grace_period_seconds(FULL) == 0


@pytest.mark.parametrize(
    "obj", [{}, {"metadata": None}, {"metadata": {}}, {"metadata": {"name": None, "labels": None}}]
)
def test_what_is_missing_or_null_is_empty(obj: Obj) -> None:
    assert meta.key_of(obj) == Key("", "")
    assert (meta.kind(obj), meta.api_version(obj), meta.name(obj), meta.uid(obj)) == ("", "", "", "")
    assert (dict(meta.labels(obj)), list(meta.finalizers(obj)), meta.generation(obj)) == ({}, [], 0)
    assert meta.controller_of(obj) is None
    assert meta.deletion_grace_period_seconds(obj) is None
    assert not meta.is_being_deleted(obj)


def test_setters_remove_what_would_be_empty() -> None:
    obj: Obj = {}
    meta.set_field(obj, "labels", {})
    assert obj == {}
    meta.set_field(obj, "labels", {"x": "y"})
    meta.set_resource_version(obj, "5")
    meta.set_finalizers(obj, ("f",))
    meta.set_gvk(obj, GVK("", "v1", "Thing"))
    meta.set_field(obj, "generation", 0)
    assert obj == {
        "apiVersion": "v1",
        "kind": "Thing",
        "metadata": {"labels": {"x": "y"}, "resourceVersion": "5", "finalizers": ["f"], "generation": 0},
    }
    meta.set_finalizers(obj, ())
    meta.set_resource_version(obj, "")
    meta.set_field(obj, "labels", None)
    assert obj["metadata"] == {"generation": 0}


def test_metadata_is_made() -> None:
    obj: Obj = {"metadata": None}
    meta.metadata(obj)["name"] = "a"
    assert obj == {"metadata": {"name": "a"}}


def test_times() -> None:
    when = datetime(2026, 1, 1, 2, 0, 0, 999_999, tzinfo=timezone(timedelta(hours=2)))
    assert meta.format_time(when) == "2026-01-01T00:00:00Z"
    assert meta.format_micro_time(when) == "2026-01-01T00:00:00.999999Z"
    assert meta.parse_time("2026-01-01T00:00:00.999999Z") == when
    assert meta.parse_time("2026-01-01T00:00:00Z") == datetime(2026, 1, 1, tzinfo=UTC)
    with pytest.raises(ValueError, match="has no time zone"):
        meta.parse_time("2026-01-01T00:00:00")
    with pytest.raises(ValueError):
        meta.parse_time("yesterday")
