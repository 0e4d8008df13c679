"""What errors show of definitions: upstream's unversioned types, all their fields, by their names in Go."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.apiextensions.definition.validation.definition import definition_errors
from controlplane.apiextensions.definition.validation.in_go import items_in_go, rule_in_go, schema_in_go, version_in_go
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.validation.field import FieldError
from tests.custom_resources import definition

SCHEMA_FIELDS = (
    "ID Schema Ref Description Type Nullable Format Title Default Maximum ExclusiveMaximum Minimum ExclusiveMinimum "
    "MaxLength MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Enum MaxProperties MinProperties Required "
    "Items AllOf OneOf AnyOf Not Properties AdditionalProperties PatternProperties Dependencies AdditionalItems "
    "Definitions ExternalDocs Example XPreserveUnknownFields XEmbeddedResource XIntOrString XListMapKeys XListType "
    "XMapType XValidations"
)
EMPTY = schema_in_go({})
STRING = {**EMPTY, "Type": "string"}


def test_a_schema_has_all_fields_in_the_order_of_the_type() -> None:
    assert " ".join(EMPTY) == SCHEMA_FIELDS
    texts = {"ID", "Schema", "Description", "Type", "Format", "Title", "Pattern"}
    flags = {"Nullable", "ExclusiveMaximum", "ExclusiveMinimum", "UniqueItems", "XEmbeddedResource", "XIntOrString"}
    assert {name for name, value in EMPTY.items() if value == "" and value is not False} == texts
    assert {name for name, value in EMPTY.items() if value is False} == flags
    assert all(value is None for name, value in EMPTY.items() if name not in texts | flags)


@pytest.mark.parametrize(
    ("keyword", "value", "name", "shown"),
    [
        ("type", "string", "Type", "string"),
        ("$ref", "#/a", "Ref", "#/a"),
        ("default", {"b": 1, "a": 2}, "Default", {"a": 2, "b": 1}),
        ("enum", [{"b": 1, "a": 2}], "Enum", [{"a": 2, "b": 1}]),
        ("items", {"type": "string"}, "Items", {"Schema": STRING, "JSONSchemas": None}),
        ("not", {"type": "string"}, "Not", STRING),
        ("anyOf", [{"type": "string"}], "AnyOf", [STRING]),
        ("properties", {"b": {}, "a": {"type": "string"}}, "Properties", {"a": STRING, "b": EMPTY}),
        ("additionalProperties", False, "AdditionalProperties", {"Allows": False, "Schema": None}),
        ("additionalProperties", {"type": "string"}, "AdditionalProperties", {"Allows": True, "Schema": STRING}),
        ("externalDocs", {"url": "u"}, "ExternalDocs", {"Description": "", "URL": "u"}),
        ("x-kubernetes-list-type", "set", "XListType", "set"),
        ("x-kubernetes-validations", [{"rule": "true"}], "XValidations", [rule_in_go({"rule": "true"})]),
        (
            "dependencies",
            {"b": ["x"], "a": {"type": "string"}},
            "Dependencies",
            {"a": {"Schema": STRING, "Property": None}, "b": {"Schema": None, "Property": ["x"]}},
        ),
    ],
)
def test_a_keyword_is_shown_as_its_type(keyword: str, value: Any, name: str, shown: Any) -> None:
    given = schema_in_go({keyword: value})
    assert given == {**EMPTY, name: shown}
    assert repr(given[name]) == repr(shown)  # also the order of keys


def test_several_items_are_a_list_of_schemas() -> None:
    assert items_in_go([{"type": "string"}]) == {"Schema": None, "JSONSchemas": [STRING]}


def test_a_version_shows_all_its_parts() -> None:
    scale = {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}
    version = {
        "name": "v1",
        "served": True,
        "storage": False,
        "schema": {"openAPIV3Schema": {"type": "string"}},
        "subresources": {"scale": scale},
        "additionalPrinterColumns": [{"name": "A", "type": "string", "JSONPath": ".a"}],
        "selectableFields": [{"jsonPath": ".a"}],
    }
    column = {"Name": "A", "Type": "string", "Format": "", "Description": "", "Priority": 0, "JSONPath": ".a"}
    shown = {
        "Name": "v1",
        "Served": True,
        "Storage": False,
        "Deprecated": False,
        "DeprecationWarning": None,
        "Schema": {"OpenAPIV3Schema": STRING},
        "Subresources": {
            "Status": None,
            "Scale": {"SpecReplicasPath": ".spec.n", "StatusReplicasPath": ".status.n", "LabelSelectorPath": None},
        },
        "AdditionalPrinterColumns": [column],
        "SelectableFields": [{"JSONPath": ".a"}],
    }
    assert version_in_go(version) == shown
    assert list(version_in_go(version)) == list(shown)


def _errors(crd: Obj) -> dict[str, FieldError]:
    prepared = {**crd, "status": {"storedVersions": ["v1"]}}
    return {error.field: error for error in definition_errors(prepared) if error is not None}


def test_errors_show_schemas_and_versions_so() -> None:
    root = {"type": "object", "maxProperties": 1}
    crd = definition(version={"schema": {"openAPIV3Schema": root}, "subresources": {"status": {}}})
    assert _errors(crd)["spec.validation.openAPIV3Schema"].value == {**EMPTY, "Type": "object", "MaxProperties": 1}
    crd = definition(version={"storage": False})
    assert _errors(crd)["spec.versions"].value == [version_in_go({"name": "v1", "served": True})]
    several = {"type": "array", "items": [{"type": "string"}], "x-kubernetes-list-type": "map"}
    crd = definition(version={"schema": {"openAPIV3Schema": {"type": "object", "properties": {"a": several}}}})
    errors = [error for error in definition_errors({**crd, "status": {"storedVersions": ["v1"]}}) if error is not None]
    assert items_in_go(several["items"]) in [error.value for error in errors]
