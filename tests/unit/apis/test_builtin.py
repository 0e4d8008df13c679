"""The tuple of built-in kinds."""

from __future__ import annotations

import pytest

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.resource import Resource
from controlplane.apimachinery.schema.decode import Decoder
from controlplane.apis.builtin import BUILTIN


def test_no_two_kinds_share_a_name_or_a_place() -> None:
    for names in (
        [r.gr for r in BUILTIN],
        [(r.group, r.kind) for r in BUILTIN],
        [r.key_prefix for r in BUILTIN if r.stored and r.stored_group is None],
    ):
        assert len(set(names)) == len(names)


@pytest.mark.parametrize("resource", BUILTIN, ids=lambda r: r.plural)
def test_each_kind_is_whole(resource: Resource) -> None:
    assert resource.native
    assert resource.list_kind == resource.kind + "List"
    for version in resource.versions:
        assert version.columns or not resource.stored or not version.served, "a kind has a table"
        assert not version.columns or "Name" in [column.name for column in version.columns]
        decoder = Decoder(resource.kind, version.schema)
        obj: Obj = {"apiVersion": "x", "kind": resource.kind}
        assert decoder.decode(obj) == []
        assert obj["metadata"] == {}
        for column in version.columns:
            column.cell(obj)


def test_an_undescribed_property_is_named_by_its_schema() -> None:
    def described(schema: dict[str, object], path: str) -> None:
        properties = schema.get("properties", {})
        assert isinstance(properties, dict)
        for name, field in properties.items():
            assert field.get("description"), f"{path}.{name} has no description"
            described(field.get("items", field), f"{path}.{name}")

    for resource in BUILTIN:
        for version in resource.versions:
            described(version.schema, resource.kind)


@pytest.mark.parametrize("resource", BUILTIN, ids=lambda r: r.plural)
def test_each_field_of_a_kind_has_a_number(resource: Resource) -> None:
    for version in (version for version in resource.versions if version.served):
        assert version.message is not None
        version.message.complete()
        names = {field.name for field in version.message.fields.values()}
        assert names == {"metadata", *version.schema["properties"]}
