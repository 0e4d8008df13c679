"""Whether stored objects are as their decoder would leave them: judged by the decoder itself, for every kind."""

from __future__ import annotations

import copy
import re
from functools import partial

import pytest

from controlplane.apimachinery.codec.json import dumps
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.resource import Resource
from controlplane.apimachinery.schema.as_decoded import AsDecoded, metadata_as_decoded
from controlplane.apimachinery.schema.decode import DecodeError, Decoder
from controlplane.apimachinery.schema.native import array, mapping, pointer, record, string, time
from controlplane.apimachinery.schema.object_meta import OBJECT_META
from tests.foreign_values import LONG, STORED_KINDS, filled, spoilt, spoilt_objects

RULE = record({"verbs": array(string()), "apiGroups": array(string())}, go_type="v1.Rule", required=("verbs",))
THING = AsDecoded(
    "Thing",
    lambda: record({"rules": array(RULE), "data": mapping(string()), "when": pointer(time())}, required=("rules",)),
)


def of_metadata(obj: Obj) -> Obj:
    return metadata_as_decoded(obj, dumps(obj))


def settled(form: AsDecoded, obj: Obj) -> Obj:
    return form.of(obj, dumps(obj))


def problem_of(decoder: Decoder, obj: Obj) -> str:
    """Decode in place; why it cannot be."""
    try:
        decoder.decode(obj)
    except DecodeError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("resource", STORED_KINDS, ids=lambda resource: str(resource.gr))
def test_it_agrees_with_the_decoder(resource: Resource) -> None:
    """Refused is what the decoder refuses; and what is taken, the decoder would not change: but for empty values."""
    version = next(one for one in resource.versions if one.name == resource.storage_version)
    form, decoder = AsDecoded(resource.kind, lambda: version.schema), Decoder(resource.kind, version.schema)
    taken = refused = 0
    for obj in spoilt_objects(resource, 4 if LONG else 3):
        decoded = copy.deepcopy(obj)
        problem = problem_of(decoder, decoded)
        if problem:
            refused += 1
            with pytest.raises(DecodeError, match=f"^{re.escape(problem)}$"):
                settled(form, obj)
        else:
            taken += 1
            again = settled(form, obj)
            assert problem_of(decoder, again) == ""
            assert again == decoded
    assert taken > 5
    assert refused > 5


def test_metadata_agree_with_the_decoder() -> None:
    kinds, decoder = {"kind": "Thing", "apiVersion": "v1", "rules": None}, Decoder("Thing", {})
    for metadata in spoilt(filled(OBJECT_META), 3):
        if not isinstance(metadata, dict):
            continue
        obj = {**kinds, "metadata": metadata}
        for of in (of_metadata, partial(settled, THING)):
            decoded = copy.deepcopy(obj)
            if problem_of(decoder, decoded):
                with pytest.raises(DecodeError):
                    of(obj)
            else:
                again = copy.deepcopy(of(obj))
                assert problem_of(decoder, again) == ""
                assert again["metadata"] == decoded["metadata"]


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"rules": None}, id="null where there is nothing"),
        pytest.param({"rules": [{"verbs": None}]}, id="null inside"),
        pytest.param({"rules": [{"verbs": ["get"], "later": [1]}], "later": {"a": None}}, id="later fields"),
        pytest.param({"rules": [], "data": {}, "when": "2026-01-01T00:00:00Z"}, id="empty"),
        pytest.param({"rules": None, "when": "2024-02-29T00:00:00Z"}, id="a leap day"),
    ],
)
def test_an_object_that_is_so_is_returned_itself(fields: Obj) -> None:
    obj = {"kind": "Thing", "apiVersion": "v1", "metadata": {"name": "a", "later": 1}, **fields}
    before = copy.deepcopy(obj)
    assert settled(THING, obj) is obj
    assert obj == before


@pytest.mark.parametrize(
    ("fields", "mended"),
    [
        pytest.param({}, {"rules": None}, id="missing"),
        pytest.param({"rules": None, "data": None}, {"rules": None}, id="null"),
        pytest.param({"rules": [None, {}]}, {"rules": [{"verbs": None}] * 2}, id="in a list"),
        pytest.param({"rules": [{"later": 1}]}, {"rules": [{"verbs": None, "later": 1}]}, id="beside a later field"),
        pytest.param({"rules": None, "data": {"a": None}}, {"rules": None, "data": {"a": ""}}, id="in a map"),
    ],
)
def test_what_is_missing_is_put_in_and_nothing_is_lost(fields: Obj, mended: Obj) -> None:
    obj = {"kind": "Thing", "apiVersion": "v1", "metadata": {"name": "a"}, **fields}
    before = copy.deepcopy(obj)
    result = settled(THING, obj)
    assert {key: value for key, value in result.items() if key not in ("kind", "apiVersion", "metadata")} == mended
    assert obj == before, "what was given is not changed"
