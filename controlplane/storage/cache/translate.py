"""Storage errors inside a watch stream: the ERROR event that a client gets.

Elsewhere ``apiserver.registry.translate`` turns storage errors into answers; a stream that has begun can only say it in
an event, in the words of Kubernetes' watch cache.

Source: kubernetes/apiserver ``pkg/storage/cacher`` (too old, too large) and ``pkg/storage/etcd3`` (unreadable).
"""

from __future__ import annotations

from controlplane.apimachinery.resource import Resource
from controlplane.apimachinery.status import (
    APIError,
    expired,
    service_unavailable,
    storage_read_error,
    timeout,
    too_large_resource_version,
    unknown_error,
)
from controlplane.storage.errors import Compacted, ConversionFailed, FutureRevision, Stale, Unavailable, Unreadable

__all__ = ["EVENT_ERRORS", "event_error"]

EVENT_ERRORS = (Compacted, ConversionFailed, FutureRevision, Unavailable, Unreadable)
"""What may go wrong in a watch that has begun."""


def event_error(
    error: Compacted | ConversionFailed | FutureRevision | Unavailable | Unreadable, resource: Resource
) -> APIError:
    match error:
        case ConversionFailed():
            return unknown_error(str(error))
        case Compacted():
            return expired(f"too old resource version: {error.requested} ({error.compacted})")
        case FutureRevision():
            return too_large_resource_version(error.requested, error.current)
        case Unreadable():
            return storage_read_error(resource.gr, f"{error.key.decode(errors='replace')}: {error.why}")
        case Stale():
            return timeout(str(error), 1)
        case Unavailable():
            return service_unavailable(str(error), 1)
