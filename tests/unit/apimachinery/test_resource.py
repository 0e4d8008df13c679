"""Resources: names, versions, discovery's hash, and the order of checks."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from controlplane.apimachinery.identity import GVK, GVR, GroupResource, Obj
from controlplane.apimachinery.resource import (
    Column,
    Resource,
    ResourceVersion,
    Strategy,
    object_attributes,
    storage_version_hash,
)
from controlplane.apimachinery.validation.field import FieldError, invalid
from controlplane.apimachinery.validation.strategy import creation_errors, update_errors


def _refuse(_obj: Obj) -> list[FieldError]:
    return [invalid("spec", "x", "no")]


def _refuse_update(_obj: Obj, _old: Obj) -> list[FieldError]:
    return [invalid("spec", "x", "still no")]


def resource(**changes: object) -> Resource:
    fields: dict[str, object] = {
        "group": "example.com",
        "plural": "things",
        "singular": "thing",
        "kind": "Thing",
        "namespaced": True,
        "key_prefix": "example.com/things",
        "storage_version": "v1",
        "versions": (ResourceVersion(name="v1", schema={}), ResourceVersion(name="v1beta1", schema={}, served=False)),
        **changes,
    }
    return Resource(**fields)  # type: ignore[arg-type]  # a table of keywords


def test_names() -> None:
    things = resource()
    assert things.list_kind == "ThingList"
    assert things.gr == GroupResource("example.com", "things")
    assert str(things.gr) == "things.example.com"
    assert things.gvk("v1") == GVK("example.com", "v1", "Thing")
    assert things.gvr("v1") == GVR("example.com", "v1", "things")
    assert things.version("v1") is things.versions[0]
    assert things.version("v1beta1") is None, "it is not served"
    assert things.subresource("status") is None


def test_the_storage_version_must_exist() -> None:
    with pytest.raises(ValueError, match="storage version 'v2' is not one of its versions"):
        resource(storage_version="v2")


@pytest.mark.parametrize(
    ("gvk", "expected"),
    [
        (GVK("", "v1", "ConfigMap"), "qFsyl6wFWjQ="),
        (GVK("", "v1", "Namespace"), "Q3oi5N2YM8M="),
        (GVK("", "v1", "Secret"), "S6u1pOWzb84="),
        (GVK("", "v1", "ServiceAccount"), "pbx9ZvyFpBE="),
    ],
)
def test_storage_version_hashes_are_kube_apiservers(gvk: GVK, expected: str) -> None:
    assert storage_version_hash(gvk) == expected


def test_attributes() -> None:
    assert object_attributes({"metadata": {"name": "a"}}) == {"metadata.name": "a"}
    assert object_attributes({"metadata": {"name": "a", "namespace": "ns"}}) == {
        "metadata.name": "a",
        "metadata.namespace": "ns",
    }


def test_ages_need_the_time_now() -> None:
    column = Column(name="Age", cell=lambda obj: obj["t"], age=True)
    assert column.value({"t": "2026-01-01T00:00:00Z"}, datetime(2026, 1, 2, tzinfo=UTC)) == "24h"
    assert Column(name="T", cell=lambda obj: obj["t"]).value({"t": 5}, datetime(2026, 1, 2, tzinfo=UTC)) == 5


def test_on_create_the_generic_rules_speak_when_the_strategy_has_nothing_to_say() -> None:
    obj: Obj = {"metadata": {"name": "a/b", "namespace": "ns"}}
    things = resource(strategy=Strategy(validate=_refuse))
    assert [str(e) for e in creation_errors(things, obj)] == ['spec: Invalid value: "x": no']
    assert [str(e) for e in creation_errors(resource(), obj)] == [
        "metadata.name: Invalid value: \"a/b\": may not contain '/'"
    ]


def test_on_update_the_generic_rules_speak_first() -> None:
    obj: Obj = {"metadata": {"name": "a", "namespace": "ns"}}
    things = resource(strategy=Strategy(validate_update=_refuse_update))
    missing = 'metadata.resourceVersion: Invalid value: "": must be specified for an update'
    assert [str(e) for e in update_errors(things, obj, obj)] == [missing, 'spec: Invalid value: "x": still no']
    assert [str(e) for e in update_errors(things, obj, obj, strategy=Strategy())] == [missing]


def test_a_resource_may_be_stored_as_another_groups() -> None:
    shared = Resource(
        group="new.io",
        plural="things",
        singular="thing",
        kind="Thing",
        namespaced=True,
        versions=(ResourceVersion(name="v2", schema={"type": "object", "properties": {}}),),
        storage_version="v1",
        stored_group="",
        key_prefix="things",
    )
    assert shared.storage_gvk == GVK("", "v1", "Thing")
    assert shared.storage_version_hash() == storage_version_hash(GVK("", "v1", "Thing"))
    assert shared.gvk("v2") == GVK("new.io", "v2", "Thing")
