"""Documents in protobuf: values as gnostic's messages, and the join of fragments.

A message that holds a list of others is written as the others one after another, so a document is joined from the
encoded lists of its fragments; only the lengths of the wholes are put before them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import orjson
from google.protobuf.message import Message

from controlplane.apimachinery.codec.json import loads
from controlplane.apimachinery.identity import Obj
from controlplane.apiserver.openapi import messages_v2, messages_v3
from controlplane.apiserver.openapi.custom_schemas import published_level
from controlplane.apiserver.openapi.dialect import Dialect
from controlplane.apiserver.openapi.fragments import Fragment, gathered
from controlplane.apiserver.openapi.parameters import shared_parameters
from controlplane.apiserver.openapi.proto import openapi_v2_pb2 as v2
from controlplane.apiserver.openapi.proto import openapi_v3_pb2 as v3
from controlplane.apiserver.openapi.steps import Steps

__all__ = ["ProtobufEncoder"]


class ProtobufEncoder:
    """Encodes one dialect as protobuf. Each value is the encoded list that has it alone."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect

    def path(self, path: str, item: Obj) -> bytes:
        whole = loads(orjson.dumps(item))  # it has parts that are JSON already
        if self.dialect is Dialect.V3:
            return messages_v3.path_message(path, whole).SerializeToString()
        return messages_v2.path_message(path, whole).SerializeToString()

    def definition(self, name: str, schema: Obj) -> Steps[bytes]:
        return self._definition(name, schema, None)

    def custom_definition(self, name: str, schema: Obj) -> Steps[bytes]:
        return self._definition(name, schema, lambda below: published_level(below, self.dialect))

    def join(self, fragments: Sequence[Fragment], product: str) -> Steps[list[bytes]]:
        paths, definitions = yield from gathered(fragments)
        join = _join_v3 if self.dialect is Dialect.V3 else _join_v2
        return join([*paths.values()], [*definitions.values()], product)

    def _definition(self, name: str, schema: Obj, level: Callable[[Obj], Obj] | None) -> Steps[bytes]:
        message: Message
        if self.dialect is Dialect.V3:
            message = yield from messages_v3.definition_message(name, schema, level)
        else:
            message = yield from messages_v2.definition_message(name, schema, level)
        yield None
        text = message.SerializeToString()
        yield None
        return text


def _join_v3(paths: list[bytes], definitions: list[bytes], product: str) -> list[bytes]:
    head = v3.Document(openapi="3.0.0", info=v3.Info(title="Kubernetes", version=product))
    security = v3.Components()
    scheme = security.security_schemes.additional_properties.add(name="BearerToken").value.security_scheme
    scheme.type, scheme.name, scheme.description = "apiKey", "authorization", "A bearer token."
    setattr(scheme, "in", "header")
    schemas = _field(v3.Components.SCHEMAS_FIELD_NUMBER, definitions)
    components = _field(v3.Document.COMPONENTS_FIELD_NUMBER, [*schemas, security.SerializeToString()])
    return [head.SerializeToString(), *_field(v3.Document.PATHS_FIELD_NUMBER, paths), *components]


def _join_v2(paths: list[bytes], definitions: list[bytes], product: str) -> list[bytes]:
    head = v2.Document(swagger="2.0", info=v2.Info(title="Kubernetes", version=product))
    head.parameters.CopyFrom(messages_v2.parameters_message(shared_parameters()))
    key = head.security_definitions.additional_properties.add(name="BearerToken").value.api_key_security
    key.type, key.name, key.description = "apiKey", "authorization", "A bearer token."
    setattr(key, "in", "header")
    head.security.add().additional_properties.add(name="BearerToken").value.SetInParent()
    return [
        head.SerializeToString(),
        *_field(v2.Document.PATHS_FIELD_NUMBER, paths),
        *_field(v2.Document.DEFINITIONS_FIELD_NUMBER, definitions),
    ]


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
