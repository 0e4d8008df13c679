"""Protobuf bodies as Go clients send them."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.apimachinery.codec.protobuf.envelope import (
    TAIL,
    enclose,
    frame,
    head,
    item,
    list_pieces,
    open_envelope,
)
from controlplane.apimachinery.codec.protobuf.message import MAX_LEVELS, Field, Message, NotMarshalable
from controlplane.apimachinery.codec.protobuf.meta import DELETE_OPTIONS, SHARED
from controlplane.apimachinery.codec.protobuf.scalars import TEXT
from controlplane.apimachinery.codec.protobuf.wire import MalformedProtobuf
from controlplane.apimachinery.identity import Obj
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


def decode_envelope(raw: bytes, message: Message) -> Obj:
    """What is in an envelope, with what it says of it."""
    opened = open_envelope(raw)
    return {"apiVersion": opened.api_version, "kind": opened.kind, **message.decode(opened.message)}


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


def message_inside_itself() -> Message:
    inside = Message("Inside")
    inside.define({1: Field("inside", inside, kept=True), 2: Field("name", TEXT, kept=True)})
    return inside


def nested(levels: int) -> bytes:
    body = b""
    for _ in range(levels - 1):
        body = put(1, body)
    return body


def test_messages_are_nested_so_deep_and_no_deeper() -> None:
    message = message_inside_itself()
    assert message.encode(message.decode(nested(MAX_LEVELS))) == nested(MAX_LEVELS)
    with pytest.raises(MalformedProtobuf, match=f"at most {MAX_LEVELS} levels"):
        message.decode(nested(MAX_LEVELS + 1))
    with pytest.raises(MalformedProtobuf, match=f"at most {MAX_LEVELS} levels"):
        message.decode(nested(100_000))


def test_an_object_that_is_nested_deeper_than_the_stack_is_not_marshalable() -> None:
    obj: Obj = {}
    for _ in range(2000):
        obj = {"inside": obj}
    with pytest.raises(NotMarshalable, match="Inside: nested too deep"):
        message_inside_itself().encode(obj)


def test_parts_of_a_message_that_come_one_by_one_are_one() -> None:
    message = message_inside_itself()
    body = put(1, put(2, "a")) + put(1, put(1, put(2, "b"))) + put(2, "first") + put(2, "last")
    assert message.decode(body) == {"inside": {"name": "a", "inside": {"name": "b"}}, "name": "last"}


def test_unknown_groups_are_passed_over() -> None:
    group = varint(50 << 3 | 3) + put(2, 5) + varint(51 << 3 | 3) + varint(51 << 3 | 4) + varint(50 << 3 | 4)
    assert message_inside_itself().decode(group + put(2, "a")) == {"name": "a"}


def test_a_value_of_another_type_is_not_marshalable() -> None:
    with pytest.raises(NotMarshalable, match="Inside: a value of another type"):
        message_inside_itself().encode({"name": 5})


def test_an_answer_a_list_and_an_event_are_made_of_one_item() -> None:
    status = SHARED["v1", "Status"]
    obj = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 404}
    ready = item(status.encode(obj))
    answer = head("v1", "Status") + ready + TAIL
    assert answer == enclose(obj, status) == envelope(status.encode(obj), kind="Status")
    listed = b"".join(list_pieces("v1", "StatusList", {"resourceVersion": "7"}, [ready + ready, ready]))
    meta = put(1, put(1, "") + put(2, "7") + put(3, ""))
    assert listed == envelope(meta + 3 * ready, kind="StatusList")
    event = put(1, "ADDED") + put(2, put(1, answer))
    assert frame(b"ADDED", answer) == len(event).to_bytes(4, "big") + event


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        pytest.param(b"", "^empty data$", id="nothing"),
        pytest.param(b"k8s\x00", "^empty body$", id="no body"),
        pytest.param(
            b"{}",
            r"^provided data does not appear to be a protobuf message, expected prefix \[107 56 115 0\]$",
            id="JSON",
        ),
        pytest.param(b"k8s\x00\x0a\xff", "^unexpected EOF$", id="cut off"),
        pytest.param(envelope(b"")[:-1], "^unexpected EOF$", id="cut off at the end"),
        pytest.param(b"k8s\x00\x0a" + b"\xff" * 11, "^proto: integer overflow$", id="endless number"),
        pytest.param(
            b"k8s\x00\x0a" + b"\xff" * 9 + b"\x01",
            "^proto: negative length found during unmarshaling$",
            id="negative length",
        ),
        pytest.param(b"k8s\x00\x0a" + b"\xff" * 7 + b"\x01", "^unexpected EOF$", id="huge length"),
        pytest.param(b"k8s\x00\x0c", "^proto: Unknown: wiretype end group for non-group$", id="end of a group"),
        pytest.param(b"k8s\x00\x00", r"^proto: Unknown: illegal tag 0 \(wire type 0\)$", id="no number"),
        pytest.param(b"k8s\x00\x2f", "^proto: illegal wireType 7$", id="no wire type"),
        pytest.param(b"k8s\x00\x0d1234", "^proto: wrong wireType = 5 for field TypeMeta$", id="a fixed number"),
        pytest.param(b"k8s\x00\x29123", "^unexpected EOF$", id="an unknown number cut off"),
        pytest.param(envelope(put(1, put(1, b"\xff"))), "not UTF-8", id="bad text"),
        pytest.param(envelope(put(1, 5)), "^proto: wrong wireType = 0 for field ObjectMeta$", id="no message"),
        pytest.param(envelope(put(1, put(7, "x"))), "^proto: wrong wireType = 2 for field Generation$", id="no number"),
        pytest.param(envelope(put(1, put(5, 1))), "^proto: wrong wireType = 0 for field UID$", id="no text"),
        pytest.param(envelope(put(2, put(1, 1))), None, id="a key of another type is passed over"),
        pytest.param(envelope(put(1, put(8, put(1, 1 << 62)))), "out of range", id="time beyond all times"),
        pytest.param(
            envelope(put(1, put(8, put(1, "")))), "^proto: wrong wireType = 2 for field Seconds$", id="no time"
        ),
        pytest.param(envelope(put(1, put(17, put(7, put(1, b"{"))))), "unexpected end of JSON input", id="no JSON"),
        pytest.param(b"k8s\x00" + put(3, "gzip"), "unsupported content encoding: gzip", id="encoded"),
    ],
)
def test_malformed(raw: bytes, why: str | None) -> None:
    if why is None:
        assert decode_envelope(raw, message_of(CONFIGMAPS))["data"] == {"": ""}
        return
    with pytest.raises(MalformedProtobuf, match=why):
        decode_envelope(raw, message_of(CONFIGMAPS))
