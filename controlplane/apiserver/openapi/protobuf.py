"""Documents as protobuf: the same fragments and the same join, in messages instead of JSON.

A message that holds a list of others is written as the others one after another, so a document is joined from the
encoded lists of its fragments; only the lengths of the wholes are put before them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from google.protobuf.message import Message

from controlplane.apimachinery.codec.json import loads
from controlplane.apiserver.openapi import messages_v2, messages_v3
from controlplane.apiserver.openapi.dialect import Dialect
from controlplane.apiserver.openapi.fragments import Fragment
from controlplane.apiserver.openapi.parameters import shared_parameters
from controlplane.apiserver.openapi.proto import openapi_v2_pb2 as v2
from controlplane.apiserver.openapi.proto import openapi_v3_pb2 as v3
from controlplane.apiserver.openapi.steps import Steps

__all__ = ["encode_fragment", "join_v2", "join_v3"]

_FRAGMENTS_PER_STEP: Final = 20


def encode_fragment(fragment: Fragment, dialect: Dialect) -> Steps[Fragment]:
    """A fragment in JSON as one in protobuf: each value is the encoded list that has it alone."""
    of_path = messages_v3.path_message if dialect is Dialect.V3 else messages_v2.path_message
    paths: dict[str, bytes] = {}
    for path, text in fragment.paths.items():
        paths[path] = of_path(path, loads(text)).SerializeToString()
        yield
    definitions: dict[str, bytes] = {}
    for name, text in fragment.definitions.items():
        schema = loads(text)
        yield
        message: Message
        if dialect is Dialect.V3:
            message = yield from messages_v3.definition_message(name, schema)
        else:
            message = yield from messages_v2.definition_message(name, schema)
        definitions[name] = message.SerializeToString()
        yield
    return Fragment(paths, definitions)


def join_v3(fragments: Sequence[Fragment], product: str) -> Steps[list[bytes]]:
    """One document of OpenAPI 3.0."""
    head = v3.Document(openapi="3.0.0", info=v3.Info(title="Kubernetes", version=product))
    security = v3.Components()
    scheme = security.security_schemes.additional_properties.add(name="BearerToken").value.security_scheme
    scheme.type, scheme.name, scheme.description = "apiKey", "authorization", "A bearer token."
    setattr(scheme, "in", "header")
    paths, definitions = yield from _lists(fragments)
    schemas = _field(v3.Components.SCHEMAS_FIELD_NUMBER, definitions)
    components = _field(v3.Document.COMPONENTS_FIELD_NUMBER, [*schemas, security.SerializeToString()])
    return [head.SerializeToString(), *_field(v3.Document.PATHS_FIELD_NUMBER, paths), *components]


def join_v2(fragments: Sequence[Fragment], product: str) -> Steps[list[bytes]]:
    """The document of Swagger 2.0."""
    head = v2.Document(swagger="2.0", info=v2.Info(title="Kubernetes", version=product))
    head.parameters.CopyFrom(messages_v2.parameters_message(shared_parameters()))
    key = head.security_definitions.additional_properties.add(name="BearerToken").value.api_key_security
    key.type, key.name, key.description = "apiKey", "authorization", "A bearer token."
    setattr(key, "in", "header")
    head.security.add().additional_properties.add(name="BearerToken").value.SetInParent()
    paths, definitions = yield from _lists(fragments)
    return [
        head.SerializeToString(),
        *_field(v2.Document.PATHS_FIELD_NUMBER, paths),
        *_field(v2.Document.DEFINITIONS_FIELD_NUMBER, definitions),
    ]


def _lists(fragments: Sequence[Fragment]) -> Steps[tuple[list[bytes], list[bytes]]]:
    """All paths and all definitions; of two of one name the first."""
    paths: list[bytes] = []
    definitions: dict[str, bytes] = {}
    for index, fragment in enumerate(fragments):
        paths += fragment.paths.values()
        for name, value in fragment.definitions.items():
            definitions.setdefault(name, value)
        if index % _FRAGMENTS_PER_STEP == 0:
            yield
    return paths, list(definitions.values())


def _field(number: int, pieces: list[bytes]) -> list[bytes]:
    """A field that is a message whose encoding is ``pieces``."""
    return [_varint(number << 3 | 2) + _varint(sum(map(len, pieces))), *pieces]


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
