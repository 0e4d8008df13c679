"""GET of one object: the kept bytes, as they are."""

from __future__ import annotations

from controlplane.apimachinery.status import APIError, bad_request
from controlplane.apiserver.endpoints.options import parse_bool, parse_uint
from controlplane.apiserver.endpoints.respond import respond_bytes, respond_entry
from controlplane.apiserver.endpoints.services import Services
from controlplane.apiserver.endpoints.shape import Target
from controlplane.apiserver.registry.translate import translate
from controlplane.base.aside import LONG_BYTES
from controlplane.client.negotiation import PROTOBUF, Answer
from controlplane.client.request import Request, Response
from controlplane.storage.api import CONSISTENT, Freshness
from controlplane.storage.errors import StorageError

__all__ = ["get"]


async def get(services: Services, request: Request, target: Target, answer: Answer) -> Response:
    """Read one object, or the part of it that a subresource shows (which is the whole object).

    Raises:
        APIError: not found; a resource version that is no number, or newer than the store.
    """
    served = target.served
    fresh = _freshness(request) if request.query_string else CONSISTENT
    try:
        entry = await served.storage.get(target.key, fresh)
    except StorageError as error:
        raise translate(error, served.gr, target.name, "get") from error
    if answer.media_type != PROTOBUF:
        ready = served.storage.served_nowait(entry, served.version.name)
        if ready is not None and (answer.plain or len(ready) < LONG_BYTES):
            return respond_bytes(services, request, served, ready, answer)
    return await respond_entry(services, request, served, entry, answer)


def _freshness(request: Request) -> Freshness:
    query = request.query
    if "export" in query and parse_bool(query.first("export")):
        raise bad_request("the export parameter, deprecated since v1.14, is no longer supported")
    given = query.first("resourceVersion")
    if not given:
        return CONSISTENT
    try:
        return Freshness(parse_uint(given))
    except ValueError as error:
        raise APIError(500, "", str(error)) from error
