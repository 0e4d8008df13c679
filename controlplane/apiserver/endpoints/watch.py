"""WATCH: a stream of changes, written by storage in chunks that all watchers of one form share."""

from __future__ import annotations

from controlplane.apimachinery.status import APIError
from controlplane.apiserver.endpoints.options import ListOptions, list_options, parse_uint
from controlplane.apiserver.endpoints.representation import represent_object
from controlplane.apiserver.endpoints.selection import namespace_of, predicate_of
from controlplane.apiserver.endpoints.services import Services
from controlplane.apiserver.endpoints.shape import Target
from controlplane.apiserver.registry.translate import translate_watch
from controlplane.client.negotiation import PROTOBUF, Answer
from controlplane.client.request import Request, Response, StreamResponse
from controlplane.storage.api import CONSISTENT, Predicate, WatchOptions
from controlplane.storage.errors import StorageError

__all__ = ["watch"]


async def watch(services: Services, request: Request, target: Target, answer: Answer) -> Response:
    """Open a watch. What goes wrong once it is open is an event in the stream.

    Raises:
        APIError: bad options or selectors; the mirror has not loaded yet.
    """
    options = list_options(request.query)
    predicate = predicate_of(target, options)
    served = target.served
    representation = represent_object(request, served, answer, services.registry.clock)
    try:
        watch_options = await _watch_options(services, target, options, predicate)
        run = await served.storage.watch(namespace_of(target), predicate, representation, watch_options)
    except StorageError as error:
        raise translate_watch(error, served.gr) from error
    if answer.media_type == PROTOBUF:
        return StreamResponse(run, content_type=f"{PROTOBUF};stream=watch", is_text=False)
    return StreamResponse(run)


async def _watch_options(
    services: Services, target: Target, options: ListOptions, predicate: Predicate
) -> WatchOptions:
    try:
        given = parse_uint(options.resource_version)
    except ValueError as error:
        raise APIError(500, "", str(error)) from error
    revision = given if options.resource_version else None
    initial = options.send_initial_events
    if initial is None:
        initial = given == 0  # a watch that names no revision begins with the present state
    elif not initial and given == 0:
        revision = await _present(target, predicate)
    return WatchOptions(
        revision=revision,
        initial_events=initial,
        end_bookmark=initial and options.allow_bookmarks,
        bookmarks=options.allow_bookmarks,
        timeout_seconds=_timeout(services, options),
    )


async def _present(target: Target, predicate: Predicate) -> int:
    """The revision now, for a watch of nothing but what comes."""
    result = await target.served.storage.list(
        namespace_of(target), predicate, CONSISTENT, version=target.served.version.name, limit=1
    )
    return result.revision


def _timeout(services: Services, options: ListOptions) -> float:
    if options.timeout_seconds:
        return float(options.timeout_seconds)
    return services.min_request_timeout_seconds * (1.0 + services.random.random())
