"""ConfigMaps, as the recorded reference answers have them."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from typing import Any

import pytest

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.decode import DecodeError, Decoder
from controlplane.apimachinery.validation.strategy import creation_errors, update_errors
from controlplane.apis.core.configmaps import CONFIGMAPS

DECODER = Decoder("ConfigMap", CONFIGMAPS.versions[0].schema)
BAD_KEY = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or "
    "'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
BAD_NAME = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
IMMUTABLE = "Forbidden: field is immutable when `immutable` is set"


def configmap(**fields: Any) -> Obj:
    metadata = {"name": "a", "namespace": "ns", "resourceVersion": "1", **fields.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **fields}


def created(**fields: Any) -> list[str]:
    obj = configmap(**fields)
    DECODER.decode(obj)
    return [str(e) for e in creation_errors(CONFIGMAPS, obj)]


def updated(old: Obj, **fields: Any) -> list[str]:
    obj = configmap(**fields)
    DECODER.decode(obj)
    return [str(e) for e in update_errors(CONFIGMAPS, obj, old)]


def test_any_text_is_data() -> None:
    assert created(data={"emoji": "héllo ☃ 😀", "ctl": 'a\tb\r\n\\ "q"', "html": "<a href='x'>&amp;</a>"}) == []


@pytest.mark.parametrize(
    ("fields", "errors"),
    [
        ({"data": {"bad key": "x"}}, [f'data[bad key]: Invalid value: "bad key": {BAD_KEY}']),
        ({"data": {"..": "x"}}, ["data[..]: Invalid value: \"..\": must not be '..'"]),
        ({"data": {"..x": "x"}}, ["data[..x]: Invalid value: \"..x\": must not start with '..'"]),
        (
            {"data": {"k" * 254: "x"}},
            [f'data[{"k" * 254}]: Invalid value: "{"k" * 254}": must be no more than 253 characters'],
        ),
        (
            {"data": {"same": "x"}, "binaryData": {"same": "AA=="}},
            ['data[same]: Invalid value: "same": duplicate of key present in binaryData'],
        ),
        ({"binaryData": {"bad key": ""}}, [f'binaryData[bad key]: Invalid value: "bad key": {BAD_KEY}']),
        ({"data": {"k": "x" * (1024 * 1024 + 1)}}, ["[]: Too long: may not be more than 1048576 bytes"]),
        ({"data": {"k": "é" * (512 * 1024 + 1)}}, ["[]: Too long: may not be more than 1048576 bytes"]),
        ({"metadata": {"name": "Upper"}}, [f'metadata.name: Invalid value: "Upper": {BAD_NAME}']),
        ({"metadata": {"name": "under_score"}}, [f'metadata.name: Invalid value: "under_score": {BAD_NAME}']),
        ({"metadata": {"name": "a..b"}}, [f'metadata.name: Invalid value: "a..b": {BAD_NAME}']),
        (
            {"metadata": {"name": "a" * 254}},
            [f'metadata.name: Invalid value: "{"a" * 254}": must be no more than 253 characters'],
        ),
        ({"metadata": {"name": ""}}, ["metadata.name: Required value: name or generateName is required"]),
        ({"metadata": {"name": "a.b-c.9"}}, []),
        (
            {"metadata": {"finalizers": ["plain"]}},
            [
                (
                    'metadata.finalizers[0]: Invalid value: "plain": '
                    "name is neither a standard finalizer name nor is it fully qualified"
                )
            ],
        ),
    ],
)
def test_create(fields: dict[str, Any], errors: list[str]) -> None:
    assert created(**fields) == errors


@pytest.mark.parametrize("extra_bytes", [0, 1, 2, 3])
def test_binary_data_counts_as_the_bytes_it_stands_for(extra_bytes: int) -> None:
    encoded = base64.b64encode(b"\0" * (1024 * 1024 - 2 + extra_bytes)).decode()
    too_long = ["[]: Too long: may not be more than 1048576 bytes"] if extra_bytes > 2 else []
    assert created(binaryData={"k": encoded}) == too_long


def test_bytes_must_be_base64() -> None:
    with pytest.raises(DecodeError, match="illegal base64 data at input byte 0"):
        created(binaryData={"x": "***"})


def test_an_immutable_configmap_keeps_its_data_and_its_flag() -> None:
    old = configmap(data={"k": "v"}, immutable=True)
    assert updated(old, data={"k": "w"}, immutable=True) == [f"data: {IMMUTABLE}"]
    assert updated(old, data={"k": "v"}) == [f"immutable: {IMMUTABLE}"]
    assert updated(old, data={"k": "v"}, binaryData={"b": "AA=="}, immutable=False) == [
        f"immutable: {IMMUTABLE}",
        f"binaryData: {IMMUTABLE}",
    ]
    assert updated(old, data={"k": "v"}, immutable=True, metadata={"labels": {"a": "b"}}) == []


def test_a_fault_in_an_update_is_told_as_often_as_upstream_tells_it() -> None:
    old = configmap()
    assert len(updated(old, metadata={"labels": {"bad key": "v"}})) == 4
    assert len(updated(old, metadata={"finalizers": ["plain"]})) == 2
    assert len(updated(old, metadata={"ownerReferences": [{"apiVersion": "v1", "kind": "X", "name": "o"}]})) == 4
    assert updated(old, metadata={"annotations": {"bad key": "v"}}, data={"bad key": "x"})[4:] == [
        f'data[bad key]: Invalid value: "bad key": {BAD_KEY}'
    ]
    assert (
        updated(old, metadata={"deletionTimestamp": "2001-01-01T00:00:00Z"})
        == ['metadata.deletionTimestamp: Invalid value: "2001-01-01T00:00:00Z": field is immutable'] * 2
    )


def test_columns() -> None:
    obj = configmap(data={"k": "1", "l": "2"}, binaryData={"b": "AA=="})
    now = datetime(2026, 1, 1, tzinfo=UTC)
    assert [(c.name, c.value(obj, now)) for c in CONFIGMAPS.versions[0].columns] == [
        ("Name", "a"),
        ("Data", 3),
        ("Age", "<unknown>"),
    ]


def test_the_storage_version_hash_is_kube_apiservers() -> None:
    assert CONFIGMAPS.storage_version_hash() == "qFsyl6wFWjQ="
