"""Namespaces, as the recorded reference answers have them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.resource import Strategy
from controlplane.apimachinery.schema.decode import Decoder
from controlplane.apimachinery.validation.strategy import creation_errors, update_errors
from controlplane.apis.core.namespaces import NAMESPACES

STRATEGY = NAMESPACES.strategy
DECODER = Decoder("Namespace", NAMESPACES.versions[0].schema)


def subresource(name: str) -> Strategy:
    found = NAMESPACES.subresource(name)
    assert found is not None
    return found.strategy


def stored(**fields: Obj) -> Obj:
    return {
        "metadata": {"name": "n", "resourceVersion": "1", "labels": {"kubernetes.io/metadata.name": "n"}},
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
        **fields,
    }


def test_a_new_namespace_gets_label_finalizer_and_phase() -> None:
    obj: Obj = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}, "status": {"phase": "Odd"}}
    assert DECODER.decode(obj) == []
    STRATEGY.default(obj)
    STRATEGY.prepare_for_create(obj)
    assert creation_errors(NAMESPACES, obj) == []
    assert obj == {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "n", "labels": {"kubernetes.io/metadata.name": "n"}},
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    }


def test_its_own_finalizers_stay() -> None:
    obj: Obj = {"metadata": {"name": "n"}, "spec": {"finalizers": ["x.io/f"]}}
    STRATEGY.prepare_for_create(obj)
    assert obj["spec"]["finalizers"] == ["x.io/f", "kubernetes"]
    STRATEGY.prepare_for_create(obj)
    assert obj["spec"]["finalizers"] == ["x.io/f", "kubernetes"]


def test_a_generated_name_is_labelled_when_it_is_known() -> None:
    obj: Obj = {"metadata": {"generateName": "n-"}}
    STRATEGY.default(obj)
    assert "labels" not in obj["metadata"]
    obj["metadata"]["name"] = "n-abc"
    STRATEGY.canonicalize(obj)
    assert obj["metadata"]["labels"] == {"kubernetes.io/metadata.name": "n-abc"}


@pytest.mark.parametrize("labels", [None, {"kubernetes.io/metadata.name": "other", "x": "y"}])
def test_the_label_cannot_be_changed(labels: Obj | None) -> None:
    obj: Obj = {"metadata": {"name": "n", "labels": labels}}
    STRATEGY.default(obj)
    assert obj["metadata"]["labels"] == {**(labels or {}), "kubernetes.io/metadata.name": "n"}


def test_an_update_changes_neither_spec_nor_status() -> None:
    obj = stored(spec={"finalizers": []}, status={"phase": "Terminating"})
    STRATEGY.prepare_for_update(obj, stored())
    assert obj == stored()
    assert update_errors(NAMESPACES, obj, stored()) == []


def test_finalize_changes_the_spec_alone() -> None:
    obj = stored(spec={}, status={"phase": "Odd"})
    subresource("finalize").prepare_for_update(obj, stored())
    assert obj == stored(spec={})
    assert STRATEGY.held(obj), "until its deletion has begun"
    obj["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert not STRATEGY.held(obj)
    assert STRATEGY.held(stored(metadata=obj["metadata"]))


def test_finalize_checks_each_finalizer() -> None:
    obj = stored(spec={"finalizers": ["plain"]})
    errors = update_errors(NAMESPACES, obj, stored(), strategy=subresource("finalize"))
    assert [(e.field, e.value) for e in errors] == [("spec.finalizers[0]", "plain")]
    assert errors[0].detail == "name is neither a standard finalizer name nor is it fully qualified"


def test_status_changes_the_status_alone() -> None:
    obj = stored(spec={"finalizers": []}, status={"phase": "Terminating"})
    subresource("status").prepare_for_update(obj, stored())
    assert obj["spec"] == {"finalizers": ["kubernetes"]}
    assert [str(e) for e in update_errors(NAMESPACES, obj, stored(), strategy=subresource("status"))] == [
        "status.Phase: Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` is empty"
    ]


def test_a_deleted_namespace_is_terminating() -> None:
    obj = stored()
    STRATEGY.begin_deletion(obj)
    assert obj["status"] == {"phase": "Terminating"}
    obj["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert update_errors(NAMESPACES, obj, obj, strategy=subresource("status")) == []
    obj["status"] = {"phase": "Active"}
    assert [str(e) for e in update_errors(NAMESPACES, obj, obj, strategy=subresource("status"))] == [
        "status.Phase: Invalid value: \"Active\": may only be 'Terminating' if `deletionTimestamp` is not empty"
    ]


def test_names_are_dns_labels() -> None:
    obj = stored(metadata={"name": "a.b"})
    assert [str(e) for e in creation_errors(NAMESPACES, obj)] == [
        'metadata.name: Invalid value: "a.b": must not contain dots'
    ]


def test_selectable_fields() -> None:
    attributes = NAMESPACES.attributes(stored())
    assert attributes == {"metadata.name": "n", "name": "n", "status.phase": "Active"}
    assert set(attributes) == set(NAMESPACES.field_labels)


def test_columns() -> None:
    columns = NAMESPACES.versions[0].columns
    obj = stored()
    obj["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    now = datetime(2026, 1, 1, 0, 3, 10, tzinfo=UTC)
    assert [(c.name, c.format, c.value(obj, now)) for c in columns] == [
        ("Name", "name", "n"),
        ("Status", "", "Active"),
        ("Age", "", "3m10s"),
    ]


def test_discovery() -> None:
    assert "deletecollection" not in NAMESPACES.verbs
    assert [(s.name, s.verbs) for s in NAMESPACES.subresources] == [
        ("finalize", ("update",)),
        ("status", ("get", "patch", "update")),
    ]
    assert NAMESPACES.storage_version_hash() == "Q3oi5N2YM8M="
