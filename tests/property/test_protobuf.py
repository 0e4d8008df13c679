"""Our protobuf is Go's: what google.protobuf makes of the same JSON, by field numbers that were written down apart."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.apiextensions.custom.scale import SCALE
from controlplane.apiextensions.definition.resource import DEFINITIONS
from controlplane.apimachinery.codec.json import dumps
from controlplane.apimachinery.codec.protobuf.envelope import enclose, open_envelope
from controlplane.apimachinery.codec.protobuf.message import Message, NotMarshalable
from controlplane.apimachinery.codec.protobuf.meta import DELETE_OPTIONS, SHARED
from controlplane.apimachinery.codec.protobuf.wire import MalformedProtobuf
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.resource import Resource
from controlplane.apis.authentication.tokenrequests import TOKEN_REQUESTS
from controlplane.apis.builtin import BUILTIN
from tests.conftest import LONG
from tests.property.protobuf_reference import empty, from_json, to_json
from tests.property.schema_objects import JSON_VALUES, METADATA, objects_of

EXAMPLES = 1000 if LONG else 15
FUZZED = 50_000 if LONG else 400
PACKAGES = {"": "core", "autoscaling": "autoscaling"}
KINDS = [
    pytest.param(resource, id=f"{resource.group}/{resource.plural}")
    for resource in (*BUILTIN, DEFINITIONS, SCALE, TOKEN_REQUESTS)
]


def package(resource: Resource) -> str:
    return PACKAGES.get(resource.group) or resource.group.split(".")[0]


def message_of(resource: Resource) -> Message:
    message = resource.versions[0].message
    assert message is not None, f"{resource.gr} has no protobuf form"
    return message


def agree(message: Message, reference: str, obj: Obj) -> None:
    """Encode and decode one object both ways."""
    ours, wanted = message.encode(obj), from_json(reference, obj)
    theirs = empty(reference)
    theirs.ParseFromString(ours)
    expected = wanted.SerializeToString(deterministic=True)
    if ours != expected:
        # Of a map's keys Go, and we, put one before those that it begins; google.protobuf puts it after them.
        assert len(ours) == len(expected)
        assert theirs == wanted
    assert message.decode(ours) == to_json(theirs)
    assert message.encode(message.decode(ours)) == ours


@pytest.mark.parametrize("resource", KINDS)
def test_objects_are_the_same_bytes(resource: Resource) -> None:
    reference = f"{package(resource)}_{resource.kind}"

    @settings(max_examples=EXAMPLES)
    @given(objects_of(resource.versions[0].schema))
    def check(obj: Obj) -> None:
        agree(message_of(resource), reference, obj)
        assert without_empty(message_of(resource).decode(message_of(resource).encode(obj))) == without_empty(obj)

    check()


def without_empty(value: Any) -> Any:
    """Without objects that have nothing in them: parts that are always there in Go."""
    if isinstance(value, list):
        return [without_empty(item) for item in value]
    if not isinstance(value, dict):
        return value
    fields = {name: without_empty(part) for name, part in value.items()}
    return {name: part for name, part in fields.items() if part != {}}


TEXTS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=4)
SHARED_OBJECTS: dict[str, st.SearchStrategy[Obj]] = {
    "meta_Status": st.fixed_dictionaries(
        {"metadata": st.just({}), "status": TEXTS, "code": st.integers(1, 599)},
        optional={
            "message": TEXTS,
            "reason": TEXTS,
            "details": st.fixed_dictionaries(
                {},
                optional={
                    **dict.fromkeys(("name", "group", "kind", "uid"), TEXTS),
                    "causes": st.lists(st.fixed_dictionaries({"reason": TEXTS, "field": TEXTS}), min_size=1),
                    "retryAfterSeconds": st.integers(1, 1 << 30),
                },
            ),
        },
    ),
    "meta_PartialObjectMetadata": st.fixed_dictionaries({"metadata": METADATA}),
    "meta_PartialObjectMetadataList": st.fixed_dictionaries(
        {
            "metadata": st.fixed_dictionaries(
                {"resourceVersion": TEXTS}, optional={"continue": TEXTS, "remainingItemCount": st.integers(0, 1 << 62)}
            ),
            "items": st.lists(st.fixed_dictionaries({"metadata": METADATA}), min_size=1, max_size=2),
        }
    ),
    "meta_APIVersions": st.fixed_dictionaries(
        {
            "versions": st.lists(TEXTS, min_size=1),
            "serverAddressByClientCIDRs": st.just([{"clientCIDR": "0.0.0.0/0", "serverAddress": "10.0.0.1:443"}]),
        }
    ),
    "meta_DeleteOptions": st.fixed_dictionaries(
        {},
        optional={
            "gracePeriodSeconds": st.integers(-(1 << 63), (1 << 63) - 1),
            "preconditions": st.fixed_dictionaries({}, optional={"uid": st.just("") | TEXTS, "resourceVersion": TEXTS}),
            "orphanDependents": st.booleans(),
            "propagationPolicy": TEXTS,
            "dryRun": st.lists(TEXTS, min_size=1),
            "ignoreStoreReadErrorWithClusterBreakingPotential": st.booleans(),
        },
    ),
}
MESSAGES = {**{f"meta_{kind}": message for (_, kind), message in SHARED.items()}, "meta_DeleteOptions": DELETE_OPTIONS}
MESSAGES["meta_PartialObjectMetadataList"] = SHARED["meta.k8s.io/v1", "PartialObjectMetadataList"]


@pytest.mark.parametrize("name", SHARED_OBJECTS)
def test_objects_that_all_servers_share_are_the_same_bytes(name: str) -> None:
    @settings(max_examples=EXAMPLES)
    @given(SHARED_OBJECTS[name])
    def check(obj: Obj) -> None:
        agree(MESSAGES[name], name, obj)

    check()


def test_the_old_list_of_metadata_has_its_numbers_the_other_way_round() -> None:
    obj: Obj = {"metadata": {"resourceVersion": "7"}, "items": [{"metadata": {"name": "a"}}]}
    old = SHARED["meta.k8s.io/v1beta1", "PartialObjectMetadataList"].encode(obj)
    new = SHARED["meta.k8s.io/v1", "PartialObjectMetadataList"].encode(obj)
    meta, items = new[:9], new[9:]
    assert meta == b"\x0a\x07\x0a\x00\x12\x017\x1a\x00"
    assert old == b"\x0a" + items[1:] + b"\x12" + meta[1:]


def wire(number: int, kind: int, payload: bytes) -> bytes:
    """One field of whatever type and content."""
    head = bytes((number << 3 & 0x78 | kind,))
    return head + bytes((len(payload),)) + payload if kind == 2 else head + payload


PIECES = st.recursive(
    st.binary(max_size=12),
    lambda inside: st.lists(st.builds(wire, st.integers(0, 15), st.integers(0, 7), inside), max_size=4).map(
        lambda fields: b"".join(fields)[:120]
    ),
    max_leaves=12,
)


@settings(max_examples=FUZZED)
@given(PIECES, st.sampled_from([resource.values[0] for resource in KINDS]))
def test_whatever_the_bytes_are_they_are_read_or_refused(body: bytes, resource: Any) -> None:
    message = message_of(resource)
    try:
        obj = message.decode(body)
    except MalformedProtobuf:
        return
    dumps(obj)
    again = message.encode(obj)
    assert message.encode(message.decode(again)) == again


@settings(max_examples=FUZZED)
@given(st.data())
def test_a_message_with_one_byte_changed_is_read_or_refused(data: st.DataObject) -> None:
    body = CUT_UP
    at = data.draw(st.integers(0, len(body) - 1))
    changed = body[:at] + data.draw(st.binary(max_size=3)) + body[at + data.draw(st.integers(0, 3)) :]
    try:
        opened = open_envelope(changed)
        dumps(message_of(DEFINITIONS).decode(opened.message))
    except MalformedProtobuf:
        return


@settings(max_examples=FUZZED)
@given(JSON_VALUES, st.sampled_from([resource.values[0] for resource in KINDS]))
def test_json_of_another_kind_is_encoded_or_refused(value: Any, resource: Any) -> None:
    message = message_of(resource)
    for obj in (value, {"metadata": value}, {"spec": value, "status": {"conditions": [value]}}):
        if not isinstance(obj, dict):
            continue
        try:
            message.decode(message.encode(obj))
        except NotMarshalable:
            continue


CUT_UP = enclose(
    {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "a", "labels": {"b": "c"}, "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {
            "group": "example.com",
            "names": {"plural": "as", "kind": "A"},
            "versions": [
                {
                    "name": "v1",
                    "schema": {
                        "openAPIV3Schema": {
                            "properties": {"x": {"maximum": 1.5, "default": {"k": [1]}, "enum": ["a", None]}},
                            "items": [{"type": "string"}],
                            "additionalProperties": False,
                        }
                    },
                }
            ],
        },
    },
    message_of(DEFINITIONS),
)
