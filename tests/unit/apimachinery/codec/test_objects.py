"""The stored form, and resource versions spliced in and out of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.apimachinery.codec.json import loads
from controlplane.apimachinery.codec.objects import (
    decode_metadata,
    encode_revised,
    encode_stored,
    splice_revision,
    strip_revision,
)
from controlplane.apimachinery.identity import GVK, Obj

CONFIGMAP = GVK("", "v1", "ConfigMap")
WIDGET = GVK("example.com", "v1", "Widget")


def test_native_objects_begin_as_kube_apiserver_writes_them() -> None:
    obj = {"data": {"k": "v"}, "metadata": {"name": "a", "resourceVersion": "7", "selfLink": "/x"}}
    assert encode_stored(obj, CONFIGMAP) == (
        b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"},"data":{"k":"v"}}'
    )
    assert obj["metadata"] == {"name": "a", "resourceVersion": "7", "selfLink": "/x"}, "the object is not changed"


def test_custom_objects_begin_with_api_version() -> None:
    obj = {"spec": {"b": 1, "a": 2}, "kind": "Other", "metadata": {}}
    assert encode_stored(obj, WIDGET, native=False) == (
        b'{"apiVersion":"example.com/v1","kind":"Widget","metadata":{},"spec":{"a":2,"b":1}}'
    )


def test_equal_objects_give_equal_bytes() -> None:
    one = {"metadata": {"name": "a", "labels": {"x": "1", "y": "2"}}, "data": {"k": "v", "j": "w"}}
    two = {"data": {"j": "w", "k": "v"}, "metadata": {"labels": {"y": "2", "x": "1"}, "name": "a"}}
    assert encode_stored(one, CONFIGMAP) == encode_stored(two, CONFIGMAP)


def test_an_object_of_metadata_alone() -> None:
    assert encode_stored({"metadata": {"name": "a"}}, CONFIGMAP) == (
        b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}}'
    )


def test_splicing_into_empty_metadata() -> None:
    stored = encode_stored({}, CONFIGMAP)
    spliced = splice_revision(stored, 5)
    assert spliced == b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"5"}}'
    assert strip_revision(spliced) == stored


def test_the_newline_that_kube_apiserver_stores_is_not_served() -> None:
    stored = b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}}\n'
    assert splice_revision(stored, 5) == (
        b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"5","name":"a"}}'
    )


@pytest.mark.parametrize(
    "stored",
    [
        pytest.param(b'{"apiVersion":"v1","data":{},"kind":"ConfigMap","metadata":{"name":"a"}}', id="data first"),
        pytest.param(b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"1"}}', id="has one"),
        pytest.param(b'{"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a"}}', id="spaces"),
        pytest.param(b'{"kind":"ConfigMap","apiVersion":"v1"}', id="no metadata"),
        pytest.param(b'{"kind":"ConfigMap","apiVersion":"v1","metadata":null}', id="null metadata"),
        pytest.param(b'{"kind":"Config\\u004dap","apiVersion":"v1","metadata":{}}', id="escapes"),
    ],
)
def test_another_layout_is_left_to_the_caller(stored: bytes) -> None:
    assert splice_revision(stored, 9) is None


@pytest.mark.parametrize(
    "stored", [b"[]", b"", b"k8s\x00protobuf", b'{"kind":"A","apiVersion":"v1","metadata":', b"\n"]
)
def test_bytes_that_are_no_object_are_left_to_the_caller(stored: bytes) -> None:
    assert splice_revision(stored, 1) is None
    assert strip_revision(stored) is None


def test_nothing_is_stripped_where_nothing_was_spliced() -> None:
    assert strip_revision(b'{"kind":"A","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"1"}}') is None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
field_names = st.text(max_size=12) | st.sampled_from(["resourceVersion", "selfLink", "name", "metadata"])
objects = st.fixed_dictionaries(
    {"metadata": st.dictionaries(field_names, json_values, max_size=4)},
    optional={"data": json_values, "spec": json_values, "kind": st.text(), '"metadata":{': json_values},
)
gvks = st.builds(GVK, st.text(max_size=8), st.text(max_size=4), st.text(max_size=8))


@given(obj=objects, gvk=gvks, native=st.booleans(), revision=st.integers(1, 2**63 - 1))
def test_splicing_equals_decoding_and_encoding(obj: Obj, gvk: GVK, native: bool, revision: int) -> None:
    stored = encode_stored(obj, gvk, native=native)
    decoded = loads(stored)
    assert decoded["kind"] == gvk.kind
    assert decoded["apiVersion"] == gvk.api_version
    decoded["metadata"]["resourceVersion"] = str(revision)
    spliced = splice_revision(stored, revision)
    if spliced is None:  # the kind needs escapes, or the text has a resourceVersion somewhere
        assert b"\\" in stored or b'"resourceVersion":' in stored
    else:
        assert loads(spliced) == decoded
        assert strip_revision(spliced) == stored


@pytest.mark.parametrize("size", [10, 100_000])
@pytest.mark.parametrize("native", [True, False])
@given(metadata=st.dictionaries(field_names, json_values, max_size=4))
def test_metadata_is_decoded_alone(metadata: Obj, native: bool, size: int) -> None:
    obj: Obj = {"metadata": metadata, "spec": {"text": "x" * size, "metadata": {"another": True}}}
    encoded = splice_revision(encode_stored(obj, GVK("g", "v1", "Käse"), native=native), 7)
    assert encoded is not None
    assert decode_metadata(encoded) == loads(encoded)["metadata"]


def test_the_revision_is_set_beside_a_field_of_its_name() -> None:
    """An event's involved object has one; served in another group's form it is encoded anew (issue 10)."""
    event = {"metadata": {"name": "a"}, "regarding": {"resourceVersion": "7"}}
    encoded = encode_revised(event, GVK("events.k8s.io", "v1", "Event"), 8)
    assert loads(encoded) == {
        "kind": "Event",
        "apiVersion": "events.k8s.io/v1",
        "metadata": {"name": "a", "resourceVersion": "8"},
        "regarding": {"resourceVersion": "7"},
    }
