"""LIST: kept bytes joined into one answer, without decoding or encoding an object.

The items of a native kind's list carry no kind and apiVersion, as upstream's typed lists do; since stored objects begin
with exactly these, leaving them out is a slice.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from functools import partial

from controlplane.apimachinery.codec.json import dumps, loads
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.status import APIError, expired
from controlplane.apiserver.endpoints.continue_token import LATEST, Continue, decode
from controlplane.apiserver.endpoints.continue_token import encode as encode_token
from controlplane.apiserver.endpoints.options import ListOptions, list_options
from controlplane.apiserver.endpoints.protobuf import protobuf_form
from controlplane.apiserver.endpoints.representation import ListForm, represent_list
from controlplane.apiserver.endpoints.selection import namespace_of, next_token, page_of, predicate_of
from controlplane.apiserver.endpoints.services import Services
from controlplane.apiserver.endpoints.shape import Target
from controlplane.apiserver.registry.table import Served
from controlplane.apiserver.registry.translate import CONTINUE_EXPIRED, translate
from controlplane.base.aside import aside, free, is_long, note_size, release
from controlplane.client.encoding import encode, wants_pretty
from controlplane.client.negotiation import JSON, PROTOBUF, Answer
from controlplane.client.request import Request, Response
from controlplane.storage.api import ListResult
from controlplane.storage.cache.slices import Slices
from controlplane.storage.errors import Compacted, StorageError

__all__ = ["list_objects", "respond_list"]

_BATCH_OBJECTS = 256
"""Joined into one piece of the answer: 256 KB of 1 KB objects."""
_STRETCH_OBJECTS = 1024
"""Joined before other work gets its turn: at a microsecond each, a millisecond."""
_DECODED_STRETCH_OBJECTS = 128
"""Read from the store at once where each object is decoded."""
_ENCODED_AT_ONCE_OBJECTS = 100
"""So many are encoded on the loop where a list is encoded as a whole: indented, or in YAML (a millisecond each)."""


async def list_objects(services: Services, request: Request, target: Target, answer: Answer) -> Response:
    """List a collection.

    Raises:
        APIError: bad options or selectors; an expired or future revision; storage not reached.
    """
    options = list_options(request.query)
    predicate = predicate_of(target, options)
    page = page_of(target, options)
    served = target.served
    try:
        result = await served.storage.list(
            namespace_of(target),
            predicate,
            page.fresh,
            version=served.version.name,
            limit=page.limit,
            continue_key=page.continue_key,
        )
        return await respond_list(services, request, target, result, answer, counted=not (predicate.signature))
    except Compacted as error:
        raise _expired(options, error, target) from error
    except StorageError as error:
        raise translate(error, served.gr, "", "list") from error


async def respond_list(
    services: Services, request: Request, target: Target, result: ListResult, answer: Answer, *, counted: bool
) -> Response:
    """Answer with a list. ``counted``: nothing was filtered, so that what remains is known."""
    meta = _list_meta(target, result, counted=counted, plain=answer.conversion is None)
    if answer.plain and not wants_pretty(request):
        return Response(200, await _join(target.served, meta, result))
    if answer.media_type == PROTOBUF and answer.conversion is None:
        return Response(200, await _join_protobuf(target.served, meta, result), content_type=PROTOBUF)
    if answer.conversion is not None:
        form = represent_list(request, target.served, answer.conversion, services.registry.clock)
    else:
        form = _Whole(target.served)
    if answer.media_type == JSON and not answer.pretty and not wants_pretty(request):
        return Response(200, await _joined_forms(target.served, form, meta, result))
    items = [item async for item in _items(target.served, form, result)]
    if len(items) < _ENCODED_AT_ONCE_OBJECTS:
        body = encode(request, form.list_of(meta, items), answer)
    else:
        body = await aside(lambda: encode(request, form.list_of(meta, items), answer))
        free(items)
    return Response(200, body, content_type=answer.media_type)


def _list_meta(target: Target, result: ListResult, *, counted: bool, plain: bool) -> Obj:
    meta: Obj = {"resourceVersion": str(result.revision)}
    if not target.served.resource.native and plain:
        meta["continue"] = ""  # untyped lists always say it
    if result.continue_key is not None and result.entries:
        meta["continue"] = next_token(target, result.revision, result.entries[-1])
        if counted and result.remaining is not None:
            meta["remainingItemCount"] = result.remaining
    return meta


def _head(served: Served, meta: Obj) -> bytes:
    header = {"kind": served.resource.list_kind, "apiVersion": served.gvk.api_version, "metadata": meta}
    return dumps(header)[:-1] + b',"items":['


def _type_head(served: Served) -> bytes:
    """How a stored native object begins: what its list leaves out."""
    return dumps({"kind": served.gvk.kind, "apiVersion": served.gvk.api_version})[:-1] + b","


async def _join(served: Served, meta: Obj, result: ListResult) -> Sequence[bytes]:
    """The list in pieces. Each is one join, which writes every byte once: the separator before a piece comes from an
    empty item in front."""
    entries, version = result.entries, served.version.name
    native = served.resource.native
    separator = b",{" if native else b","
    pieces = [_head(served, meta) + (b"{" if native and entries else b"")]
    type_head = _type_head(served) if native else b""
    for start in range(0, len(entries), _BATCH_OBJECTS):
        if start and start % _STRETCH_OBJECTS == 0:
            await asyncio.sleep(0)
        items = await served.storage.served(entries[start : start + _BATCH_OBJECTS], version)
        cut = [item.removeprefix(type_head) for item in items] if native else list(items)
        if native and sum(map(len, cut)) + len(type_head) * len(cut) != sum(map(len, items)):
            cut = [_without_type(item, type_head) for item in items]
        if start:
            cut.insert(0, b"")
        pieces.append(separator.join(cut))
    pieces.append(b"]}")
    return pieces


async def _join_protobuf(served: Served, meta: Obj, result: ListResult) -> Sequence[bytes]:
    """The list in pieces, of the items that entries keep."""
    form, entries, batches = protobuf_form(served), result.entries, []
    for start in range(0, len(entries), _BATCH_OBJECTS):
        if start and start % _STRETCH_OBJECTS == 0:
            await asyncio.sleep(0)
        batch = entries[start : start + _BATCH_OBJECTS]
        batches.append(b"".join(await served.storage.served(batch, served.version.name, form.encoding)))
    return form.list_answer(meta, batches)


def _without_type(item: bytes, type_head: bytes) -> bytes:
    """What follows the opening brace of an item without kind and apiVersion, also where another writer has put them
    elsewhere."""
    if item.startswith(type_head):
        return item.removeprefix(type_head)
    obj = loads(item)
    return dumps({name: value for name, value in obj.items() if name not in ("kind", "apiVersion")})[1:]


async def _joined_forms(served: Served, form: ListForm, meta: Obj, result: ListResult) -> Sequence[bytes]:
    """The list in pieces, each object encoded by itself in a form of its own."""
    pieces = [dumps(form.list_of(meta, [])).removesuffix(b"]}")]
    batch: list[bytes] = []
    async for item in _items(served, form, result):
        batch.append(dumps(item))
        if len(batch) == _BATCH_OBJECTS:
            pieces.append(b",".join(batch))
            batch = [b""]  # the separator before the next piece
    pieces += (b",".join(batch), b"]}")
    return pieces


async def _items(served: Served, form: ListForm, result: ListResult) -> AsyncGenerator[Obj, None]:
    """The objects of a list in a form, in slices."""
    slices = Slices()
    for start in range(0, len(result.entries), _DECODED_STRETCH_OBJECTS):
        batch = result.entries[start : start + _DECODED_STRETCH_OBJECTS]
        for item in await served.storage.served(batch, served.version.name):
            note_size(len(item))
            obj = await aside(partial(loads, item)) if is_long() else loads(item)
            formed = form.item(obj)
            del obj
            release()
            yield formed
            if slices.due():
                await slices.rest()


class _Whole:
    """A ``ListForm``: the objects as they are."""

    def __init__(self, served: Served) -> None:
        self._served = served

    def item(self, obj: Obj) -> Obj:
        if self._served.resource.native:
            obj.pop("kind", None)
            obj.pop("apiVersion", None)
        return obj

    def list_of(self, meta: Obj, items: list[Obj]) -> Obj:
        return {
            "kind": self._served.resource.list_kind,
            "apiVersion": self._served.gvk.api_version,
            "metadata": meta,
            "items": items,
        }


def _expired(options: ListOptions, error: Compacted, target: Target) -> APIError:
    """410; for a continued list with a token that goes on at the latest state."""
    if not options.continue_token:
        return translate(error, target.served.gr, "", "list")
    start = decode(options.continue_token).start
    return expired(CONTINUE_EXPIRED, continue_token=encode_token(Continue(LATEST, start)))
