"""Protobuf says what JSON says: read back from the messages, a document is the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.message import Message

from controlplane.apiserver.openapi.proto import generate
from controlplane.apiserver.openapi.proto import openapi_v2_pb2 as v2
from controlplane.apiserver.openapi.proto import openapi_v3_pb2 as v3
from tests.unit.apiserver.openapi.published import ask, get_json

V2 = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
V3 = "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"
V3_KEYS = ("api/v1", "apis/coordination.k8s.io/v1", "apis/shop.example.com/v1", "apis", "version")


def camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


NAMED = {"additional_properties", "path", "response_code", "response_or_reference"}
"""Lists of names and values, but for the schema under ``additionalProperties``."""
EXTENSIONS = {"vendor_extension", "specification_extension"}


def read(message: Message) -> Any:
    """A message as the JSON it stands for."""
    fields = {descriptor.name: value for descriptor, value in message.ListFields()}
    if message.DESCRIPTOR.oneofs:
        return read_one(message)
    if message.DESCRIPTOR.name == "Any":
        return json.loads(fields["yaml"])
    if "value" in message.DESCRIPTOR.fields_by_name and message.DESCRIPTOR.name in {"TypeItem", "StringArray"}:
        return list(fields.get("value", ()))
    out: dict[str, Any] = {}
    for name, value in fields.items():
        if name in EXTENSIONS or (name in NAMED and not isinstance(value, Message)):
            out |= {entry.name: read(entry.value) for entry in value}
        else:
            out["$ref" if name == "_ref" else camel(name)] = read_value(value)
    if message.DESCRIPTOR.name == "ItemsItem":
        (only,) = out.values()
        return only[0]
    if message.DESCRIPTOR.name == "Schema" and isinstance(out.get("type"), list):
        (out["type"],) = out["type"]
    return out


def read_one(message: Message) -> Any:
    (oneof,) = message.DESCRIPTOR.oneofs
    which = message.WhichOneof(oneof.name)
    return {} if which is None else read_value(getattr(message, which))


def read_value(value: Any) -> Any:
    if isinstance(value, Message):
        return read(value)
    if isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    return [read_value(one) for one in value]


BOUNDS = {"minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"}


def without_empty(value: Any) -> Any:
    """Without what protobuf cannot tell: false, zero bounds, empty descriptions, which list or object is a default."""
    if isinstance(value, dict):
        if isinstance(value.get("default"), (list, dict)):
            value = {**value, "default": {}}
        return {
            key: without_empty(child)
            for key, child in value.items()
            if child is not False and not (key == "description" and child == "") and not (key in BOUNDS and child == 0)
        }
    if isinstance(value, list):
        return [without_empty(child) for child in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def test_swagger_is_the_same_in_protobuf() -> None:
    answer = ask("/openapi/v2", headers={"Accept": V2})
    document = v2.Document.FromString(answer.content())
    assert without_empty(read(document)) == without_empty(get_json("/openapi/v2"))


@pytest.mark.parametrize("key", V3_KEYS)
def test_openapi_3_is_the_same_in_protobuf(key: str) -> None:
    answer = ask(f"/openapi/v3/{key}", headers={"Accept": V3})
    document = v3.Document.FromString(answer.content())
    assert without_empty(read(document)) == without_empty(get_json(f"/openapi/v3/{key}"))


@pytest.mark.parametrize("name", ["openapi_v2_pb2.py", "openapi_v2_pb2.pyi", "openapi_v3_pb2.py", "openapi_v3_pb2.pyi"])
def test_generated_files_are_current(name: str) -> None:
    current = Path(generate.__file__).with_name(name).read_text()
    assert generate.generate()[name] == current, "run: python -m controlplane.apiserver.openapi.proto.generate"
