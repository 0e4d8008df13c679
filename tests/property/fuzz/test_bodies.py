"""Bodies of writes: objects that nearly fit, and bytes that do not, in each form that is read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.resource import Resource
from tests.property.fuzz.harness import NAMES, Fuzzed, counted, fuzzed_plane
from tests.property.fuzz.objects import ANY_JSON, STORED, collection_of, made_objects

FORMS = ("application/json", "application/yaml", "application/vnd.kubernetes.protobuf", "", "text/plain", "a;b=c")
VALIDATION = st.sampled_from(["", "Ignore", "Warn", "Strict"])
CORRUPT = st.lists(st.tuples(st.integers(0, 400), st.binary(max_size=3)), max_size=4)


@pytest.fixture(scope="module")
def fuzzed() -> Iterator[Fuzzed]:
    with fuzzed_plane() as running:
        yield running


@counted(8_000)
@given(made=made_objects(), validation=VALIDATION, dry=st.booleans())
def test_an_object_is_created_and_put_or_refused(
    fuzzed: Fuzzed, made: tuple[Resource, Obj], validation: str, dry: bool
) -> None:
    resource, obj = made
    query = urlencode({"fieldValidation": validation, **({"dryRun": "All"} if dry else {})})
    collection = collection_of(resource)
    fuzzed.call("POST", f"{collection}?{query}", obj)
    meta = obj["metadata"]
    name = meta.get("name") if isinstance(meta, dict) else None
    fuzzed.call("PUT", f"{collection}/{name if name in NAMES else 'a'}?{query}", obj)
    for subresource in resource.subresources:
        fuzzed.call("PUT", f"{collection}/a/{subresource.name}?{query}", obj)


@counted(6_000)
@given(
    made=made_objects(),
    form=st.sampled_from(FORMS),
    corrupt=CORRUPT,
    as_yaml=st.booleans(),
    method=st.sampled_from(["POST", "PUT", "DELETE"]),
)
def test_bytes_are_read_or_refused(
    fuzzed: Fuzzed,
    made: tuple[Resource, Obj],
    form: str,
    corrupt: list[tuple[int, bytes]],
    as_yaml: bool,
    method: str,
) -> None:
    resource, obj = made
    raw = bytearray((yaml.safe_dump(obj) if as_yaml else json.dumps(obj)).encode())
    for at, piece in corrupt:
        place = at % (len(raw) + 1)
        raw[place : place + len(piece)] = piece
    path = collection_of(resource) if method == "POST" else f"{collection_of(resource)}/a"
    fuzzed.call(method, path, bytes(raw), {"Content-Type": form} if form else {})


@counted(3_000)
@given(resource=st.sampled_from(STORED), raw=st.binary(max_size=60), envelope=st.booleans(), delete=st.booleans())
def test_protobuf_is_read_or_refused(
    fuzzed: Fuzzed, resource: Resource, raw: bytes, envelope: bool, delete: bool
) -> None:
    gvk = resource.gvk(resource.versions[0].name)
    if envelope:
        names = _field(1, gvk.api_version.encode()) + _field(2, gvk.kind.encode())
        raw = b"k8s\x00" + _field(1, names) + _field(2, raw)
    path = collection_of(resource)
    method, path = ("DELETE", f"{path}/a") if delete else ("POST", path)
    fuzzed.call(method, path, raw, {"Content-Type": "application/vnd.kubernetes.protobuf"})


@counted(2_000)
@given(options=st.dictionaries(
    st.sampled_from(
        ["kind", "apiVersion", "gracePeriodSeconds", "propagationPolicy", "orphanDependents", "preconditions", "dryRun"]
    ),
    ANY_JSON | st.sampled_from(["DeleteOptions", "Orphan", "Foreground", ["All"], {"uid": "x"}]),
), resource=st.sampled_from(STORED))  # fmt: skip
def test_delete_options_are_read_or_refused(fuzzed: Fuzzed, options: Any, resource: Resource) -> None:
    fuzzed.call("DELETE", f"{collection_of(resource)}/held", options)


def _field(number: int, payload: bytes) -> bytes:
    assert len(payload) < 128 * 128
    size = bytes([len(payload)]) if len(payload) < 128 else bytes([len(payload) & 127 | 128, len(payload) >> 7])
    return bytes([number << 3 | 2]) + size + payload
