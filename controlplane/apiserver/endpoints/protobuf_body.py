"""Request bodies in protobuf, to JSON.

Source: kubernetes/apimachinery ``pkg/runtime/serializer/protobuf`` (Decode), kubernetes/apiserver
``pkg/endpoints/handlers/rest.go`` (transformDecodeError) for texts. Strict decoding knows no protobuf there either.
"""

from __future__ import annotations

import asyncio

from controlplane.apimachinery.codec.json import TooDeep, dumps
from controlplane.apimachinery.codec.protobuf.envelope import open_envelope
from controlplane.apimachinery.codec.protobuf.meta import DELETE_OPTIONS
from controlplane.apimachinery.codec.protobuf.wire import MalformedProtobuf
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.decode import cannot_be_handled
from controlplane.apimachinery.status import bad_request
from controlplane.apiserver.endpoints.body_summary import body_summary
from controlplane.apiserver.registry.table import Served

__all__ = ["json_of_protobuf", "options_of_protobuf"]

_ON_LOOP_BYTES = 16384
"""Bodies up to this length are converted on the loop: two milliseconds at most, if they are all tiny fields."""
_NO_MESSAGE = (
    "object *unstructured.Unstructured does not implement the protobuf marshalling interface and cannot be encoded to "
    "a protobuf message"
)
"""Of a kind that has no protobuf form: upstream's words for custom resources."""


async def json_of_protobuf(raw: bytes, served: Served) -> bytes:
    """The object in a body as JSON; in a thread if it is long. One of another kind than the served one is not read: it
    is refused by what it says of itself.

    Raises:
        APIError: 400.
    """
    if len(raw) > _ON_LOOP_BYTES:
        return await asyncio.to_thread(_convert, raw, served)
    return _convert(raw, served)


def _convert(raw: bytes, served: Served) -> bytes:
    gvk, message = served.gvk, served.version.message
    try:
        envelope = open_envelope(raw)
    except MalformedProtobuf as error:
        why = f"{error} ({body_summary(raw)})"
        raise bad_request(f"the object provided is unrecognized (must be of type {gvk.kind}): {why}") from error
    obj: Obj = {"kind": envelope.kind or gvk.kind, "apiVersion": envelope.api_version or gvk.api_version}
    if obj != {"kind": gvk.kind, "apiVersion": gvk.api_version}:
        return dumps(obj)
    if message is None:
        raise bad_request(cannot_be_handled(gvk, _NO_MESSAGE))
    try:
        return dumps({**obj, **message.decode(envelope.message)})
    except (MalformedProtobuf, TooDeep) as error:
        raise bad_request(cannot_be_handled(gvk, str(error))) from error


def options_of_protobuf(raw: bytes) -> Obj:
    """Delete options from a protobuf body.

    Raises:
        APIError: 400.
    """
    try:
        envelope = open_envelope(raw)
        options = DELETE_OPTIONS.decode(envelope.message)
    except MalformedProtobuf as error:
        raise bad_request(str(error)) from error
    named = {"kind": envelope.kind, "apiVersion": envelope.api_version}
    return {**{name: value for name, value in named.items() if value}, **options}
