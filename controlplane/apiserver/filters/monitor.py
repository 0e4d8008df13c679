"""Count and time every request.

A request that ends in an answer is counted when the answer is made; a stream when it ends, and while it is written it
is one of the long-running.

Source: metric semantics of kubernetes/apiserver ``pkg/endpoints/metrics`` (MonitorRequest, RecordLongRunning).
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import NamedTuple

from controlplane.apimachinery.user import UserInfo
from controlplane.apiserver.filters import metrics
from controlplane.apiserver.filters.afterwards import afterwards
from controlplane.apiserver.filters.labels import UNKNOWN_RESOURCE, dry_run_label, resource_labels, scope_label
from controlplane.apiserver.filters.streams import around_stream
from controlplane.base.metrics import HistogramChild, Tally, tally
from controlplane.client.request import Handler, Request, Response, StreamResponse
from controlplane.client.request_info import RequestInfo

__all__ = ["APISERVER_USER", "with_metrics"]

APISERVER_USER = "system:apiserver"
"""The server itself, through its loopback client."""

_CHILDREN_LIMIT = 4096
"""Label combinations kept ready; when they are more (many custom resources), all are looked up anew."""

_Key = tuple[str, str, str, str, str, str, int]
Children = tuple[Tally, HistogramChild | None]
"""What counts and times requests alike, and what measures their answers."""


class _Counted(NamedTuple):
    """What requests alike were last counted by: ``owner``'s children for a status."""

    owner: object
    status: int
    children: Children


def with_metrics(following: Handler, *, serves: Callable[[RequestInfo], bool]) -> Handler:
    """``serves``: whether a resource request names something that exists; others are counted without their words."""
    ready: dict[_Key, Children] = {}

    def children(request: Request, status: int) -> Children:
        info = request.info
        counted = info.counted
        if type(counted) is _Counted and counted.owner is ready and counted.status == status:
            return counted.children
        if _is_special(request):
            return look_up(request, status)
        key = (info.verb, info.group, info.version, info.resource, info.subresource, scope_label(info), status)
        found = ready.get(key)
        if found is None:
            found = look_up(request, status)
            if UNKNOWN_RESOURCE in request.values:
                return found
            _keep(ready, key, found)
        info.counted = _Counted(ready, status, found)
        return found

    def look_up(request: Request, status: int) -> Children:
        if request.info.is_resource and not serves(request.info):
            request.values[UNKNOWN_RESOURCE] = True
        return _children(request, status)

    def count(request: Request, response: Response) -> None:
        noted, sizes = children(request, response.status)
        noted.note(monotonic() - request.received_at)
        if sizes is not None:
            sizes.observe(response.length)
        if request.identity is not None:
            _count_own(request, request.identity)

    def watch_stream(request: Request, response: StreamResponse) -> None:
        if not serves(request.info):
            request.values[UNKNOWN_RESOURCE] = True
        open_streams = metrics.LONG_RUNNING.labels_cached(resource_labels(request))

        def ended() -> None:
            open_streams.dec()
            count(request, response)

        around_stream(response, began=open_streams.inc, ended=ended)

    def look(request: Request, response: Response) -> None:
        if isinstance(response, StreamResponse):
            watch_stream(request, response)
        else:
            count(request, response)

    return afterwards(following, look)


def _children(request: Request, status: int) -> Children:
    labels = resource_labels(request)
    verb, rest, dry_run = labels[0], labels[1:], dry_run_label(request)
    sizes = metrics.RESPONSE_BYTES.labels_cached(labels) if verb in {"GET", "LIST"} else None
    requests = metrics.REQUESTS.labels_cached((verb, dry_run, *rest, str(status)))
    return tally((requests,), (metrics.REQUEST_SECONDS.labels_cached((verb, dry_run, *rest)),)), sizes


def _keep(ready: dict[_Key, Children], key: _Key, found: Children) -> None:
    if len(ready) >= _CHILDREN_LIMIT:
        ready.clear()
    ready[key] = found


def _count_own(request: Request, identity: UserInfo) -> None:
    """Count what comes by the loopback client, if it is from the server itself."""
    if identity.name == APISERVER_USER:
        verb, group, _, resource, subresource, _, _ = resource_labels(request)
        metrics.SELF_REQUESTS.labels_cached((verb, group, resource, subresource)).inc()


def _is_special(request: Request) -> bool:
    """Whether more than its path and verb decide by what a request is counted."""
    info = request.info
    return not info.is_resource or info.verb == "patch" or "dryRun" in request.query_string
