"""Protobuf bodies as Go clients send them."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.apimachinery.codec.protobuf import DELETE_OPTIONS, MalformedProtobuf, Message, decode_envelope
from controlplane.apis.coordination.leases import LEASES
from controlplane.apis.core.configmaps import CONFIGMAPS
from controlplane.apis.core.namespaces import NAMESPACES


def varint(number: int) -> bytes:
    number &= 0xFFFFFFFFFFFFFFFF
    out = b""
    while number > 0x7F:
        out += bytes((number & 0x7F | 0x80,))
        number >>= 7
    return out + bytes((number,))


def put(number: int, value: bytes | str | int) -> bytes:
    """One field on the wire."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    raw = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(raw)) + raw


def envelope(body: bytes, api_version: str = "v1", kind: str = "ConfigMap") -> bytes:
    """As Go's serializer wraps it: content type and encoding are written empty."""
    return b"k8s\x00" + put(1, put(1, api_version) + put(2, kind)) + put(2, body) + put(3, "") + put(4, "")


def message_of(resource: Any) -> Message:
    message: Message = resource.versions[0].message
    return message


EMPTY_META = b"".join(put(n, "") for n in (2, 3, 4, 5, 6)) + put(7, 0) + put(8, b"")
"""What Go writes of fields that are not set."""


def test_configmap() -> None:
    labels = put(11, put(1, "app") + put(2, "shop")) + put(11, put(1, "empty") + put(2, ""))
    owner = put(13, put(1, "Pod") + put(3, "p") + put(4, "u-1") + put(5, "v1") + put(6, 0))
    body = put(1, put(1, "a") + EMPTY_META + labels + owner + put(14, "f"))
    body += put(2, put(1, "color") + put(2, "röt")) + put(3, put(1, "bin") + put(2, b"\x00\x01")) + put(4, 0)
    assert decode_envelope(envelope(body), message_of(CONFIGMAPS)) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "a",
            "labels": {"app": "shop", "empty": ""},
            "ownerReferences": [{"kind": "Pod", "name": "p", "uid": "u-1", "apiVersion": "v1", "controller": False}],
            "finalizers": ["f"],
        },
        "data": {"color": "röt"},
        "binaryData": {"bin": "AAE="},
        "immutable": False,
    }


def test_namespace_with_empty_parts() -> None:
    body = put(1, put(1, "ns") + EMPTY_META) + put(2, b"") + put(3, put(1, ""))
    assert decode_envelope(envelope(body, kind="Namespace"), message_of(NAMESPACES)) == {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "ns"},
        "spec": {},
        "status": {},
    }


def test_lease_times() -> None:
    spec = put(1, "me") + put(2, 15) + put(4, put(1, 1_700_000_000) + put(2, 123_456_000)) + put(5, 0)
    made = decode_envelope(envelope(put(2, spec), "coordination.k8s.io/v1", "Lease"), message_of(LEASES))
    assert made["spec"] == {
        "holderIdentity": "me",
        "leaseDurationSeconds": 15,
        "renewTime": "2023-11-14T22:13:20.123456Z",
        "leaseTransitions": 0,
    }


def test_delete_options() -> None:
    body = put(1, 0) + put(2, put(1, "u-1")) + put(4, "Background") + put(5, "All")
    assert decode_envelope(envelope(body, kind="DeleteOptions"), DELETE_OPTIONS) == {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "gracePeriodSeconds": 0,
        "preconditions": {"uid": "u-1"},
        "propagationPolicy": "Background",
        "dryRun": ["All"],
    }


def test_managed_fields_and_negative_numbers() -> None:
    managed = put(1, "kubectl") + put(4, put(1, -1)) + put(7, put(1, b'{"f:data":{}}'))
    body = put(1, put(1, "a") + put(7, -5) + put(17, managed))
    meta = decode_envelope(envelope(body), message_of(CONFIGMAPS))["metadata"]
    assert meta["generation"] == -5
    assert meta["managedFields"] == [{"manager": "kubectl", "time": "1969-12-31T23:59:59Z", "fieldsV1": {"f:data": {}}}]


def test_unknown_fields_are_passed_over() -> None:
    body = put(99, "x") + varint(98 << 3 | 1) + b"12345678" + varint(97 << 3 | 5) + b"1234" + put(1, put(1, "a"))
    assert decode_envelope(envelope(body), message_of(CONFIGMAPS))["metadata"] == {"name": "a"}


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        pytest.param(b"{}", "does not appear to be a protobuf message", id="JSON"),
        pytest.param(b"k8s\x00\x0a\xff", "unexpected EOF", id="cut off"),
        pytest.param(b"k8s\x00\x0a" + b"\xff" * 11, "longer than 64 bits", id="endless number"),
        pytest.param(b"k8s\x00\x0b", "wire type 3", id="group"),
        pytest.param(envelope(put(1, put(1, b"\xff"))), "not UTF-8", id="bad text"),
        pytest.param(envelope(put(1, 5)), "not length-delimited", id="number for a message"),
        pytest.param(envelope(put(1, put(7, "x"))), "not a varint", id="text for a number"),
        pytest.param(envelope(put(1, put(8, put(1, 1 << 62)))), "out of range", id="time beyond all times"),
        pytest.param(b"k8s\x00" + put(3, "gzip"), "unsupported content encoding: gzip", id="encoded"),
    ],
)
def test_malformed(raw: bytes, why: str) -> None:
    with pytest.raises(MalformedProtobuf, match=why):
        decode_envelope(raw, message_of(CONFIGMAPS))
