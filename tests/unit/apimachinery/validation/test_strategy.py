"""The generic rules are spared only where a kind's own find all that they would."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.resource import Resource, Strategy
from controlplane.apimachinery.validation import field
from controlplane.apimachinery.validation.strategy import creation_errors, update_errors
from controlplane.apis.builtin import BUILTIN
from controlplane.apis.core.configmaps import CONFIGMAPS
from tests.unit.apis.kinds import Kind

SPARED = [resource for resource in BUILTIN if resource.strategy.checks_metadata]
OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "1"}
WRONG: list[dict[str, Any]] = [
    {"name": ""},
    {"name": "."},
    {"name": ".."},
    {"name": "a/b"},
    {"name": "a%b"},
    {"name": "a", "generateName": "a/"},
    {"generation": -1},
    {"labels": {"a/b/c": "x"}},
    {"labels": {"a": "-"}},
    {"annotations": {"/": "x"}},
    {"annotations": {"a": "x" * 300_000}},
    {"finalizers": ["-/"]},
    {"finalizers": ["orphan", "foregroundDeletion"]},
    {"ownerReferences": [{**OWNER, "uid": ""}]},
    {"ownerReferences": [{**OWNER, "controller": True}, {**OWNER, "uid": "2", "controller": True}]},
    {"managedFields": [{"manager": "m", "operation": "Unknown", "fieldsType": "FieldsV1", "apiVersion": "v1"}]},
    {"managedFields": [{"manager": "m", "operation": "Update", "fieldsType": "V0", "apiVersion": "v1"}]},
]
CHANGES: list[dict[str, Any]] = [
    {"resourceVersion": ""},
    {"name": "other"},
    {"namespace": "other"},
    {"uid": "other"},
    {"creationTimestamp": "2020-01-01T00:00:00Z"},
    {"deletionTimestamp": "2020-01-01T00:00:00Z"},
    {"deletionGracePeriodSeconds": 7},
]


def test_some_kinds_are_spared() -> None:
    assert CONFIGMAPS in SPARED


def whole(resource: Resource, meta: dict[str, Any]) -> Obj:
    obj = Kind(resource).decoded(metadata={"uid": "u"})
    obj["metadata"].update(deepcopy(meta))
    return obj


@pytest.mark.parametrize("meta", [*WRONG, {"namespace": "a/b"}], ids=str)
@pytest.mark.parametrize("resource", SPARED, ids=lambda r: r.plural)
def test_own_rules_find_what_the_generic_ones_would(resource: Resource, meta: dict[str, Any]) -> None:
    obj = whole(resource, meta)
    assert resource.strategy.validate(obj)
    assert creation_errors(resource, obj)
    assert resource.strategy.validate_update(obj, whole(resource, {}))


@pytest.mark.parametrize("change", CHANGES, ids=str)
@pytest.mark.parametrize("resource", SPARED, ids=lambda r: r.plural)
def test_own_rules_find_what_may_not_change(resource: Resource, change: dict[str, Any]) -> None:
    assert resource.strategy.validate_update(whole(resource, change), whole(resource, {}))


def test_what_both_find_is_told_twice_on_an_update() -> None:
    old, new = whole(CONFIGMAPS, {}), whole(CONFIGMAPS, {"labels": {"a": "-"}})
    fields = [error.field for error in update_errors(CONFIGMAPS, new, old)]
    assert fields == ["metadata.labels"] * 4


def test_other_kinds_are_checked_by_the_generic_rules() -> None:
    lax = replace(CONFIGMAPS, strategy=Strategy(validate=lambda _: []))
    obj = whole(lax, {"name": "a/b"})
    assert [error.field for error in creation_errors(lax, obj)] == ["metadata.name"]
    strict = replace(CONFIGMAPS, strategy=Strategy(validate=lambda _: [field.required("data")]))
    assert [error.field for error in creation_errors(strict, obj)] == ["data"]
