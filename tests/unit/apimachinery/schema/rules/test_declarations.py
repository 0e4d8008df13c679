"""What expressions see of a schema: types, fields, sizes."""

from __future__ import annotations

import pytest

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.rules.declarations import MAX_REQUEST_BYTES, SchemaTypes, declare
from controlplane.cel.estimates import Bounds
from controlplane.cel.types import DYN, STRING

TEXT: Obj = {"type": "string"}


@pytest.mark.parametrize(
    ("schema", "shown"),
    [
        ({"type": "string"}, "string"),
        ({"type": "integer"}, "int"),
        ({"type": "number"}, "double"),
        ({"type": "boolean"}, "bool"),
        ({"type": "string", "format": "date-time"}, "timestamp"),
        ({"type": "string", "format": "date"}, "timestamp"),
        ({"type": "string", "format": "duration"}, "duration"),
        ({"type": "string", "format": "byte"}, "bytes"),
        ({"type": "string", "format": "uuid"}, "string"),
        ({"x-kubernetes-int-or-string": True}, "dyn"),
        ({"type": "array", "items": TEXT}, "list(string)"),
        ({"type": "object", "additionalProperties": {"type": "array", "items": TEXT}}, "map(string, list(string))"),
        ({"type": "object", "properties": {}}, "selfType"),
    ],
)
def test_schemas_have_types(schema: Obj, shown: str) -> None:
    declared = declare(schema)
    assert declared is not None
    assert str(declared.type) == shown


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"x-kubernetes-preserve-unknown-fields": True},
        {"type": "array"},
        {"type": "array", "items": {"x-kubernetes-preserve-unknown-fields": True}},
        {"type": "object", "additionalProperties": {}},
    ],
)
def test_what_has_no_type_is_not_seen(schema: Obj) -> None:
    assert declare(schema) is None


def test_fields_have_their_own_names_and_an_escaped_one() -> None:
    properties = {"a-b": TEXT, "hidden": {}, "9": TEXT, "n": {**TEXT, "nullable": True}}
    declared = declare({"type": "object", "properties": properties})
    assert declared is not None
    types = SchemaTypes(declared)
    found = types.field("selfType", "a__dash__b")
    assert found is not None
    assert (found.key, found.type, found.nullable) == ("a-b", STRING, False)
    nullable = types.field("selfType", "n")
    assert nullable is not None
    assert nullable.nullable
    for name in ("hidden", "9", "a-b", "nope"):
        assert types.field("selfType", name) is None


def test_words_of_the_language_name_fields_with_and_without_their_underscores() -> None:
    declared = declare({"type": "object", "properties": {"namespace": TEXT, "__a__": TEXT}})
    assert declared is not None
    types = SchemaTypes(declared)
    for name in ("namespace", "__namespace__"):
        found = types.field("selfType", name)
        assert found is not None
        assert found.key == "namespace"
    assert types.field("selfType", "if") is None
    assert types.field("selfType", "a") is None


def test_a_root_has_a_kind_and_a_name_without_a_bound_of_its_own() -> None:
    meta = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 5}}}
    declared = declare({"type": "object", "properties": {"spec": {"type": "object"}, "metadata": meta}}, is_root=True)
    assert declared is not None
    assert sorted(declared.fields) == ["apiVersion", "kind", "metadata", "spec"]
    assert sorted(declared.fields["metadata"].fields) == ["generateName", "name"]
    assert declared.sizes(("self", "metadata", "name"), STRING) == Bounds(0, MAX_REQUEST_BYTES - 2)


def test_sizes_are_bounded_by_limits_and_by_the_largest_request() -> None:
    items = {"type": "array", "maxItems": 3, "items": {"type": "string", "maxLength": 5}}
    entries = {"type": "object", "additionalProperties": TEXT}
    declared = declare(
        {"type": "object", "properties": {"items": items, "map": entries, "any": {"x-kubernetes-int-or-string": True}}}
    )
    assert declared is not None
    assert declared.sizes(("self", "items"), DYN) == Bounds(0, 3)
    assert declared.sizes(("self", "items", "@items"), STRING) == Bounds(0, 20)
    assert declared.sizes(("self", "map"), DYN) == Bounds(0, (MAX_REQUEST_BYTES - 2) // 8)
    assert declared.sizes(("self", "map", "@values"), STRING) == Bounds(0, MAX_REQUEST_BYTES - 2)
    assert declared.sizes(("self", "any"), DYN) == Bounds(0, MAX_REQUEST_BYTES - 2)
    assert declared.sizes((), DYN) is None
    assert declared.sizes(("self", "nope"), DYN) is None
