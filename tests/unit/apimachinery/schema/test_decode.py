"""Decoding native objects: types, unknown fields, empty values, canonical forms, and the decoder's words."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.apimachinery.identity import GVK, Obj
from controlplane.apimachinery.schema.decode import DecodeError, Decoder, cannot_be_handled, strict_error
from controlplane.apimachinery.schema.native import (
    always,
    any_value,
    anything,
    array,
    binary,
    boolean,
    integer,
    mapping,
    micro_time,
    pointer,
    quantity,
    record,
    string,
    time,
    union,
)

RULE = record({"verbs": array(string()), "ports": array(integer())}, go_type="v1.Rule", required=("verbs",))
SCHEMA = record(
    {
        "data": mapping(string()),
        "binaryData": mapping(binary()),
        "immutable": pointer(boolean()),
        "count": integer(),
        "big": integer(bits=64),
        "when": pointer(time()),
        "exactly": pointer(micro_time()),
        "rules": array(RULE),
        "spec": record({"name": string(), "phase": string(go_type="v1.Phase"), "raw": anything()}, go_type="v1.Spec"),
        "optional": pointer(record({"name": string()}, go_type="v1.Optional")),
        "byName": mapping(RULE),
        "flags": mapping(boolean()),
        "sizes": mapping(array(integer(bits=64))),
        "blobs": array(binary()),
        "nested": mapping(mapping(string())),
        "named": array(RULE, go_type="v1.Rules"),
        "anything": array(any_value(go_type="v1.JSON")),
        "either": union({"object": RULE, "array": array(RULE)}),
    },
    go_type="v1.Thing",
)
DECODER = Decoder("Thing", SCHEMA)


def decoded(**fields: Any) -> Obj:
    obj = copy.deepcopy(fields)
    assert DECODER.decode(obj) == []
    return {k: v for k, v in obj.items() if (k, v) not in [("metadata", {}), ("spec", {})]}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"data": {"k": 1}}, "number into Go struct field Thing.data of type string"),
        ({"data": []}, "array into Go struct field Thing.data of type map[string]string"),
        ({"data": {"k": {}}}, "object into Go struct field Thing.data of type string"),
        ({"immutable": "x"}, "string into Go struct field Thing.immutable of type bool"),
        ({"count": True}, "bool into Go struct field Thing.count of type int32"),
        ({"count": 1.5}, "number 1.5 into Go struct field Thing.count of type int32"),
        ({"count": 2**31}, "number 2147483648 into Go struct field Thing.count of type int32"),
        ({"big": 2.0**70}, f"number {2.0**70!r} into Go struct field Thing.big of type int64"),
        ({"spec": {"phase": 1}}, "number into Go struct field Spec.spec.phase of type v1.Phase"),
        ({"spec": 1}, "number into Go struct field Thing.spec of type v1.Spec"),
        ({"rules": {}}, "object into Go struct field Thing.rules of type []v1.Rule"),
        ({"rules": [{"verbs": [1]}]}, "number into Go struct field Rule.rules.verbs of type string"),
        ({"rules": [{"ports": 1}]}, "number into Go struct field Rule.rules.ports of type []int32"),
        ({"flags": 1}, "number into Go struct field Thing.flags of type map[string]bool"),
        ({"sizes": {"k": 1}}, "number into Go struct field Thing.sizes of type []int64"),
        ({"blobs": {}}, "object into Go struct field Thing.blobs of type [][]uint8"),
        ({"byName": {"k.x[0]": {"verbs": 1}}}, "number into Go struct field Rule.byName.verbs of type []string"),
        ({"named": 1}, "number into Go struct field Thing.named of type v1.Rules"),
        ({"anything": 1}, "number into Go struct field Thing.anything of type []v1.JSON"),
        ({"nested": 1}, "number into Go struct field Thing.nested of type map[string]map[string]string"),
        ({"rules": ["x"]}, "string into Go struct field Thing.rules of type v1.Rule"),
        ({"binaryData": {"k": 1}}, "number into Go struct field Thing.binaryData of type []uint8"),
        ({"binaryData": {"k": "AA=A"}}, "illegal base64 data at input byte 2"),
        ({"binaryData": {"k": "AAA"}}, "illegal base64 data at input byte 0"),
        ({"binaryData": {"k": "***"}}, "illegal base64 data at input byte 0"),
        ({"when": 1}, "number into Go value of type string"),
        ({"kind": 1}, "number into Go struct field Thing.kind of type string"),
        ({"metadata": []}, "array into Go struct field Thing.metadata of type v1.ObjectMeta"),
        (
            {"metadata": {"labels": 3}},
            "number into Go struct field ObjectMeta.metadata.labels of type map[string]string",
        ),
        (
            {"metadata": {"ownerReferences": [{"uid": 1}]}},
            "number into Go struct field OwnerReference.metadata.ownerReferences.uid of type types.UID",
        ),
        (
            {"metadata": {"finalizers": "x"}},
            "string into Go struct field ObjectMeta.metadata.finalizers of type []string",
        ),
    ],
)  # fmt: skip
def test_wrong_types(fields: Obj, message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        DECODER.decode(fields)
    assert str(caught.value).removeprefix("json: cannot unmarshal ") == message


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"rules": [{"ports": 1}]}, "cannot restore slice from int64"),
        ({"spec": {"phase": 1}}, "cannot convert int64 to v1.Phase"),
        (
            {"either": {"verbs": [1]}},
            "json: cannot unmarshal number into Go struct field Rule.verbs of type string",
        ),
        ({"either": [3]}, "json: cannot unmarshal number into Go value of type v1.Rule"),
    ],
)
def test_wrong_types_of_what_never_was_one_text(fields: Obj, message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        DECODER.decode(fields)
    assert caught.value.converted == message


@pytest.mark.parametrize("value", [[], "text", 1])
def test_what_is_no_object(value: Any) -> None:
    with pytest.raises(DecodeError, match=r"into Go value of type v1\.Thing"):
        DECODER.decode(value)


def test_unknown_fields_are_dropped_and_told_in_document_order() -> None:
    obj: Obj = {
        "metadata": {"name": "a", "foo": "x"},
        "zeta": {"a": 1},
        "alpha": [],
        "Data": {},
        "rules": [{"verbs": ["get"], "verb": ["get"]}, {"verbs": [], "x": 1}],
        "byName": {"k": {"verbs": ["get"], "y": None}},
        "spec": {"raw": {"anything": {"goes": None}}},
    }
    assert DECODER.decode(obj) == [
        'unknown field "metadata.foo"',
        'unknown field "zeta"',
        'unknown field "alpha"',
        'unknown field "Data"',
        'unknown field "rules[0].verb"',
        'unknown field "rules[1].x"',
        'unknown field "byName.k.y"',
    ]
    assert obj == {
        "metadata": {"name": "a"},
        "rules": [{"verbs": ["get"]}, {"verbs": None}],
        "byName": {"k": {"verbs": ["get"]}},
        "spec": {"raw": {"anything": {"goes": None}}},
    }


def test_at_most_a_hundred_unknown_fields_are_told() -> None:
    obj: Obj = {f"x{i}": i for i in range(200)}
    assert len(DECODER.decode(obj)) == 100
    assert obj == {"metadata": {}, "spec": {}}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"data": None, "count": None, "immutable": None, "spec": None, "optional": None, "rules": None}, {}),
        ({"data": {}, "count": 0, "rules": []}, {}),
        ({"immutable": False, "optional": {}}, {"immutable": False, "optional": {}}),
        ({"data": {"k": None}}, {"data": {"k": ""}}),
        ({"rules": [None]}, {"rules": [{"verbs": None}]}),
        ({"rules": [{"verbs": ["a", None], "ports": [None, 1]}]}, {"rules": [{"verbs": ["a", ""], "ports": [0, 1]}]}),
        ({"byName": {"k": None}}, {"byName": {"k": {"verbs": None}}}),
        ({"spec": {"name": "", "phase": "x"}}, {"spec": {"phase": "x"}}),
        ({"flags": {"k": None}, "sizes": {"k": None}}, {"flags": {"k": False}, "sizes": {"k": None}}),
        ({"kind": "", "apiVersion": None}, {}),
    ],
)
def test_empty_values(fields: Obj, expected: Obj) -> None:
    assert decoded(**fields) == expected


def test_objects_that_are_no_pointers_always_exist() -> None:
    obj: Obj = {}
    DECODER.decode(obj)
    assert obj == {"metadata": {}, "spec": {}}


def test_required_fields_are_always_written() -> None:
    owners = decoded(metadata={"ownerReferences": [{"uid": "u", "controller": False}]})["metadata"]["ownerReferences"]
    assert owners == [{"apiVersion": "", "kind": "", "name": "", "uid": "u", "controller": False}]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ("2026-01-31T12:34:56Z", "2026-01-31T12:34:56Z"),
        ("2020-01-01T02:00:00+02:00", "2020-01-01T00:00:00Z"),
        ("2020-01-01T02:00:00.999-02:00", "2020-01-01T04:00:00Z"),
        ("2020-02-29T00:00:00Z", "2020-02-29T00:00:00Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
    ],
)
def test_times(text: str, expected: str) -> None:
    assert decoded(when=text) == {"when": expected}


LAYOUT = "2006-01-02T15:04:05Z07:00"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("yesterday", f'parsing time "yesterday" as "{LAYOUT}": cannot parse "yesterday" as "2006"'),
        ("", f'parsing time "" as "{LAYOUT}": cannot parse "" as "2006"'),
        ("2020-01-01", f'parsing time "2020-01-01" as "{LAYOUT}": cannot parse "" as "T"'),
        ("2020-01-01T00:00:00", f'parsing time "2020-01-01T00:00:00" as "{LAYOUT}": cannot parse "" as "Z07:00"'),
        ("2020-13-01T00:00:00Z", 'parsing time "2020-13-01T00:00:00Z": month out of range'),
        ("2020-02-30T00:00:00Z", 'parsing time "2020-02-30T00:00:00Z": day out of range'),
        ("2020-01-01T24:00:00Z", 'parsing time "2020-01-01T24:00:00Z": hour out of range'),
        ("2020-01-01T00:00:00Zx", 'parsing time "2020-01-01T00:00:00Zx": extra text: "x"'),
        ("2020-01-01T00:00:00+00:60", 'parsing time "2020-01-01T00:00:00+00:60": time zone offset minute out of range'),
    ],
)
def test_times_that_are_none(text: str, message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decoded(when=text)
    assert str(caught.value) == message


@pytest.mark.parametrize("text", ["2020-01-01T00:00:00Z", "2020-01-01T00:00:00.5Z", "2020-01-01T00:00:00.1234567Z"])
def test_micro_times_have_six_digits(text: str) -> None:
    with pytest.raises(DecodeError, match='parsing time "'):
        decoded(exactly=text)
    assert decoded(exactly="2020-01-01T02:00:00.000000+02:00") == {"exactly": "2020-01-01T00:00:00.000000Z"}


def test_base64_is_canonical() -> None:
    assert decoded(binaryData={"a": "AAEC\nAAEC\r\n", "b": ""}) == {"binaryData": {"a": "AAECAAEC", "b": ""}}


def test_texts() -> None:
    gvk = GVK("rbac.authorization.k8s.io", "v1", "Role")
    assert cannot_be_handled(gvk, strict_error(['unknown field "a"', 'unknown field "b"'])) == (
        'Role in version "v1" cannot be handled as a Role: strict decoding error: unknown field "a", unknown field "b"'
    )


def test_a_schema_that_no_native_kind_can_have_is_refused() -> None:
    with pytest.raises(ValueError, match="a native schema cannot have"):
        Decoder("Thing", record({"x": {"type": "null"}}))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "x", "AA==", "2020-01-01T00:00:00Z"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "verbs", "k", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)
things = st.dictionaries(st.sampled_from([*SCHEMA["properties"], "metadata", "kind", "unknown"]), json_values)


@given(things)
def test_what_is_decoded_stays_as_it_is(obj: Obj) -> None:
    try:
        DECODER.decode(obj)
    except DecodeError:
        return
    before = copy.deepcopy(obj)
    assert DECODER.decode(obj) == []
    assert obj == before


FORMS = Decoder(
    "Form",
    record(
        {
            "amount": quantity(),
            "limits": mapping(quantity()),
            "text": always(string()),
            "list": always(array(string())),
            "share": always(pointer(integer())),
            "seen": time(),
            "asked": pointer(time()),
            "must": array(string()),
        },
        required=("must",),
    ),
)


def test_what_is_written_though_it_was_not_given() -> None:
    obj: Obj = {"metadata": {}}
    assert FORMS.decode(obj) == []
    empty: Obj = {"metadata": {}, "text": "", "list": None, "share": None, "seen": None, "must": None}
    assert obj == empty
    sent: Obj = {"text": "", "list": [], "share": None, "seen": None, "asked": None, "must": [], "limits": {}}
    FORMS.decode(sent)
    assert sent == empty, "an empty list is none at all"


@pytest.mark.parametrize(
    ("amount", "kept"), [("1000m", "1"), ("1024Mi", "1Gi"), (5, "5"), (0.5, "500m"), ("+1", "+1"), ("1.5", "1500m")]
)
def test_quantities_are_kept_in_their_canonical_text(amount: object, kept: str) -> None:
    obj: Obj = {"amount": amount, "limits": {"a": amount, "b": None}}
    FORMS.decode(obj)
    assert (obj["amount"], obj["limits"]) == (kept, {"a": kept, "b": "0"})


@pytest.mark.parametrize("amount", ["", "much", True, False, [], {}])
def test_what_is_no_quantity(amount: object) -> None:
    with pytest.raises(DecodeError, match="quantities must match the regular expression"):
        FORMS.decode({"amount": amount})
