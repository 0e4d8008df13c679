"""Object metadata: every rule, with upstream's words, paths and order."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.validation.field import ENOUGH_ERRORS
from controlplane.apimachinery.validation.metadata import (
    validate_field_manager,
    validate_object_meta,
    validate_object_meta_update,
)
from controlplane.apimachinery.validation.names import name_is_dns_subdomain

NAME_PART = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
LABEL_VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
QUALIFIED = (
    "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' "
    "(e.g. 'example.com/MyName')"
)
TWO_CONTROLLERS = [
    {"uid": "u-1", "apiVersion": "v1", "kind": "ConfigMap", "name": "o", "controller": True},
    {"apiVersion": "v1", "kind": "Secret", "name": "p", "uid": "u-2", "controller": True},
]


def problems(*, namespaced: bool = True, native: bool = True, **fields: Any) -> list[str]:
    meta: Obj = {"name": "a", "namespace": "ns", **fields}
    found = validate_object_meta(meta, namespaced=namespaced, validate_name=name_is_dns_subdomain, native=native)
    return [str(e).removeprefix("metadata.") for e in found]


@pytest.mark.parametrize(
    ("labels", "errors"),
    [
        ({"bad key": "v"}, [f'labels: Invalid value: "bad key": {NAME_PART}']),
        ({"k": "bad value!"}, [f'labels: Invalid value: "bad value!": {LABEL_VALUE}']),
        ({"k": "v" * 64}, [f'labels: Invalid value: "{"v" * 64}": must be no more than 63 bytes']),
        ({"UPPER.example.com/k": "v"}, [f'labels: Invalid value: "UPPER.example.com/k": prefix part {SUBDOMAIN}']),
        (
            {"example.com/": "v"},
            [
                'labels: Invalid value: "example.com/": name part must be non-empty',
                f'labels: Invalid value: "example.com/": {NAME_PART}',
            ],
        ),
        ({"a/b/c": "v"}, [f'labels: Invalid value: "a/b/c": {QUALIFIED}']),
        ({"n" * 64: ""}, [f'labels: Invalid value: "{"n" * 64}": name part must be no more than 63 bytes']),
        ({"/k": ""}, ['labels: Invalid value: "/k": prefix part must be non-empty']),
        (
            {"a" * 254 + "/k": ""},
            [f'labels: Invalid value: "{"a" * 254}/k": prefix part must be no more than 253 bytes'],
        ),
        ({"example.com/K_y.1": "", "n" * 63: "v" * 63}, []),
    ],
)
def test_labels(labels: dict[str, str], errors: list[str]) -> None:
    assert problems(labels=labels) == errors


@pytest.mark.parametrize(
    ("annotations", "errors"),
    [
        ({"bad key": "v"}, [f'annotations: Invalid value: "bad key": {NAME_PART}']),
        ({"UPPER.example.com/k": "any text: é\n"}, []),
        ({"k": "v" * (256 * 1024 - 1)}, []),
        ({"k": "v" * 256 * 1024}, ["annotations: Too long: may not be more than 262144 bytes"]),
        ({"k": "é" * 128 * 1024}, ["annotations: Too long: may not be more than 262144 bytes"]),
    ],
)
def test_annotations(annotations: dict[str, str], errors: list[str]) -> None:
    assert problems(annotations=annotations) == errors


@pytest.mark.parametrize(
    ("owners", "errors"),
    [
        (
            [{"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": ""}],
            ['ownerReferences.uid: Invalid value: "": must not be empty'],
        ),
        (
            [{}],
            [
                'ownerReferences.apiVersion: Invalid value: "": version must not be empty',
                'ownerReferences.kind: Invalid value: "": must not be empty',
                'ownerReferences.name: Invalid value: "": must not be empty',
                'ownerReferences.uid: Invalid value: "": must not be empty',
            ],
        ),
        (
            [{"apiVersion": "a/b/c", "kind": "X", "name": "o", "uid": "u"}],
            ['ownerReferences.apiVersion: Invalid value: "a/b/c": version must not be empty'],
        ),
        (
            TWO_CONTROLLERS,
            [
                (
                    'ownerReferences: Invalid value: [{"apiVersion":"v1","kind":"ConfigMap","name":"o","uid":"u-1",'
                    '"controller":true},{"apiVersion":"v1","kind":"Secret","name":"p","uid":"u-2","controller":true}]: '
                    'Only one reference can have Controller set to true. Found "true" in references for '
                    "ConfigMap/o and Secret/p"
                )
            ],
        ),
        (
            [{"apiVersion": "v1", "kind": "Event", "name": "o", "uid": "u"}],
            [
                (
                    'ownerReferences: Invalid value: {"apiVersion":"v1","kind":"Event","name":"o","uid":"u"}: '
                    "/v1, Kind=Event is disallowed from being an owner"
                )
            ],
        ),
        ([{**TWO_CONTROLLERS[0], "blockOwnerDeletion": True}, {**TWO_CONTROLLERS[1], "controller": False}], []),
    ],
)
def test_owner_references(owners: list[Obj], errors: list[str]) -> None:
    assert problems(ownerReferences=owners) == errors


NOT_QUALIFIED = "name is neither a standard finalizer name nor is it fully qualified"


@pytest.mark.parametrize(
    ("finalizers", "errors"),
    [
        (["plain"], [f'finalizers[0]: Invalid value: "plain": {NOT_QUALIFIED}']),
        (["Bad Name/x"], [f'finalizers: Invalid value: "Bad Name/x": prefix part {SUBDOMAIN}']),
        (
            ["orphan", "foregroundDeletion"],
            [
                (
                    'finalizers: Invalid value: ["orphan","foregroundDeletion"]: '
                    "finalizer orphan and foregroundDeletion cannot be both set"
                )
            ],
        ),
        (["example.com/hold", "orphan", "kubernetes"], []),
    ],
)
def test_finalizers(finalizers: list[str], errors: list[str]) -> None:
    assert problems(finalizers=finalizers) == errors


def test_custom_kinds_may_have_plain_finalizers() -> None:
    assert problems(finalizers=["plain"], native=False) == []


@pytest.mark.parametrize(
    ("fields", "errors"),
    [
        ({"name": ""}, ["name: Required value: name or generateName is required"]),
        ({"generateName": "base-"}, []),
        ({"generateName": "base.-"}, []),  # upstream replaces two characters there
        ({"generateName": "Base-"}, [f'generateName: Invalid value: "Base-": {SUBDOMAIN}']),
        ({"namespace": ""}, ["namespace: Required value"]),
        ({"namespace": "a.b"}, ['namespace: Invalid value: "a.b": must not contain dots']),
        ({"generation": -1}, ["generation: Invalid value: -1: must be greater than or equal to 0"]),
        (
            {"managedFields": [{"operation": "Other", "fieldsType": "X", "manager": "\x07", "subresource": "s" * 257}]},
            [
                'managedFields[0].operation: Invalid value: "Other": must be `Apply` or `Update`',
                'managedFields[0].fieldsType: Invalid value: "X": must be `FieldsV1`',
                'managedFields[0].manager: Invalid value: "\\a": invalid character U+0007 (at position 0)',
                "managedFields[0].subresource: Too long: may not be more than 256 bytes",
            ],
        ),
    ],
)
def test_other_fields(fields: dict[str, Any], errors: list[str]) -> None:
    assert problems(**fields) == errors


def test_cluster_scoped_objects_have_no_namespace() -> None:
    assert problems(namespaced=False) == ["namespace: Forbidden: not allowed on this type"]
    assert problems(namespaced=False, namespace="") == []


OLD: Obj = {
    "name": "a",
    "namespace": "ns",
    "uid": "u",
    "resourceVersion": "1",
    "generation": 2,
    "creationTimestamp": "2026-01-01T00:00:00Z",
}


@pytest.mark.parametrize(
    ("changes", "errors"),
    [
        ({}, []),
        ({"resourceVersion": ""}, ['resourceVersion: Invalid value: "": must be specified for an update']),
        ({"generation": 1}, ["generation: Invalid value: 1: must not be decremented"]),
        ({"name": "b"}, ['name: Invalid value: "b": field is immutable']),
        ({"namespace": "b"}, ['namespace: Invalid value: "b": field is immutable']),
        ({"uid": ""}, ['uid: Invalid value: "": field is immutable']),
        ({"creationTimestamp": None}, ["creationTimestamp: Invalid value: null: field is immutable"]),
        (
            {"deletionTimestamp": "2001-01-01T00:00:00Z"},
            ['deletionTimestamp: Invalid value: "2001-01-01T00:00:00Z": field is immutable'],
        ),
        ({"deletionGracePeriodSeconds": 0}, ["deletionGracePeriodSeconds: Invalid value: 0: field is immutable"]),
        ({"labels": {"bad key": ""}}, [f'labels: Invalid value: "bad key": {NAME_PART}']),
        ({"finalizers": ["plain"]}, [f'finalizers[0]: Invalid value: "plain": {NOT_QUALIFIED}']),
    ],
)
def test_updates(changes: Obj, errors: list[str]) -> None:
    found = validate_object_meta_update({**OLD, **changes}, OLD, native=True)
    assert [str(e).removeprefix("metadata.") for e in found] == errors


def test_no_finalizer_is_added_while_the_object_is_being_deleted() -> None:
    old = {**OLD, "deletionTimestamp": "2026-01-02T00:00:00Z", "finalizers": ["x.io/1", "x.io/2"]}
    assert validate_object_meta_update({**old, "finalizers": ["x.io/2"]}, old) == []
    errors = validate_object_meta_update({**old, "finalizers": ["x.io/4", "x.io/2", "x.io/3"]}, old)
    assert [str(e) for e in errors] == [
        (
            "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, "
            'found new finalizers []string{"x.io/3", "x.io/4"}'
        )
    ]


def test_field_managers() -> None:
    assert validate_field_manager("") == []
    assert validate_field_manager("kubectl client-side apply é") == []
    assert [str(e) for e in validate_field_manager("x" * 129)] == [
        "fieldManager: Too long: may not be more than 128 bytes"
    ]
    assert [e.detail for e in validate_field_manager("é\tx")] == ["invalid character U+0009 (at position 2)"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("labels", {f"-{i}": "v " for i in range(5_000)}),
        ("annotations", {f"-{i}": "" for i in range(5_000)}),
        ("finalizers", ["a b"] * 5_000),
        ("ownerReferences", [{}] * 5_000),
        ("managedFields", [{}] * 5_000),
    ],
)
def test_a_body_that_is_wrong_everywhere_is_not_answered_at_length(field: str, value: Any) -> None:
    assert ENOUGH_ERRORS <= len(problems(**{field: value})) <= 2 * ENOUGH_ERRORS + 10


def test_many_controllers_do_not_multiply_the_answer() -> None:
    owners = [{**TWO_CONTROLLERS[0], "uid": f"u-{i}"} for i in range(1_000)]
    assert len(problems(ownerReferences=owners)) == 10


@pytest.mark.parametrize("name", ["a", "", "Bad Name"])
@pytest.mark.parametrize("namespace", ["ns", "", "Not A Namespace"])
@pytest.mark.parametrize("labels", [None, {"app": "x"}, {"bad key!": "x", "app": "bad value!"}])
@pytest.mark.parametrize("operation", ["Update", "Unknown"])
def test_metadata_with_little_in_them_are_judged_like_others(
    name: str, namespace: str, labels: dict[str, str] | None, operation: str
) -> None:
    managed = [{"manager": "m", "operation": operation, "fieldsType": "FieldsV1"}]
    meta: Obj = {"name": name, "namespace": namespace, "managedFields": managed, "uid": "u"}
    if labels is not None:
        meta["labels"] = labels

    def judged(meta: Obj) -> list[str]:
        errors = validate_object_meta(meta, namespaced=True, validate_name=name_is_dns_subdomain, native=True)
        return [str(error) for error in errors]

    assert judged(meta) == judged({**meta, "annotations": {}})
