"""Answers: from entries and objects to responses in the form agreed on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from controlplane.apimachinery.codec.json import dumps, loads
from controlplane.apimachinery.identity import Obj
from controlplane.apiserver.endpoints.protobuf import protobuf_form
from controlplane.apiserver.endpoints.representation import represent_object
from controlplane.apiserver.endpoints.services import Services
from controlplane.apiserver.registry.settings import Written
from controlplane.apiserver.registry.table import Served
from controlplane.apiserver.registry.translate import translate
from controlplane.base.aside import LONG_BYTES, aside
from controlplane.client.encoding import encode, wants_pretty
from controlplane.client.negotiation import PROTOBUF, Answer
from controlplane.client.request import Request, Response
from controlplane.storage.errors import StorageError

if TYPE_CHECKING:
    from controlplane.storage.api import Entry

__all__ = [
    "respond_bytes",
    "respond_entry",
    "respond_object",
    "respond_written",
    "served_json",
]


async def served_json(served: Served, entry: Entry) -> bytes:
    """An entry's JSON in the served version.

    Raises:
        APIError: it cannot be read.
    """
    ready = served.storage.served_nowait(entry, served.version.name)
    if ready is not None:
        return ready
    try:
        return (await served.storage.served((entry,), served.version.name))[0]
    except StorageError as error:
        raise translate(error, served.gr, served.storage.key_of(entry).name, "get") from error


async def _protobuf(served: Served, entry: Entry) -> bytes:
    """An entry as a protobuf answer, of the bytes that are kept on it. Raises as ``served_json``."""
    form, version = protobuf_form(served), served.version.name
    try:
        item = served.storage.served_nowait(entry, version, form.encoding)
        if item is None:
            item = (await served.storage.served((entry,), version, form.encoding))[0]
    except StorageError as error:
        raise translate(error, served.gr, served.storage.key_of(entry).name, "get") from error
    return form.encode(item)


async def respond_entry(
    services: Services, request: Request, served: Served, entry: Entry, answer: Answer, *, code: int = 200
) -> Response:
    """Answer with a stored object."""
    if answer.media_type == PROTOBUF and answer.conversion is None:
        return Response(code, await _protobuf(served, entry), content_type=PROTOBUF)
    body = await served_json(served, entry)
    if answer.plain or len(body) < LONG_BYTES:
        return respond_bytes(services, request, served, body, answer, code=code)
    return await aside(lambda: respond_bytes(services, request, served, body, answer, code=code))


async def respond_written(
    services: Services, request: Request, served: Served, written: Written, answer: Answer
) -> Response:
    """Answer a create, update or patch with the object as it is now; 201 if there was none before."""
    code = 201 if written.created else 200
    entry = written.entry
    if entry is not None:
        if answer.plain and (body := served.storage.served_nowait(entry, served.version.name)) is not None:
            return respond_bytes(services, request, served, body, answer, code=code)
        return await respond_entry(services, request, served, entry, answer, code=code)
    assert written.obj is not None
    return respond_object(services, request, served, written.obj, answer, code=code)


def respond_object(
    services: Services, request: Request, served: Served, obj: Obj, answer: Answer, *, code: int = 200
) -> Response:
    return respond_bytes(services, request, served, dumps(obj), answer, code=code)


def respond_bytes(
    services: Services, request: Request, served: Served, body: bytes, answer: Answer, *, code: int = 200
) -> Response:
    """Answer with one object, given as its served JSON."""
    if answer.plain and not wants_pretty(request):
        return Response(code, body)
    if answer.media_type == PROTOBUF and answer.conversion is None:
        return Response(code, protobuf_form(served).answer(body), content_type=PROTOBUF)
    if answer.conversion is not None:
        body = represent_object(request, served, answer, services.registry.clock).encode(body, first=True)
        if answer.media_type == PROTOBUF:
            return Response(code, body, content_type=PROTOBUF)
    return Response(code, encode(request, loads(body), answer, ready=body), content_type=answer.media_type)
