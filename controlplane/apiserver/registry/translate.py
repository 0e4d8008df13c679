"""From storage's errors to API errors: the only place that knows both vocabularies.

Source: kubernetes/apiserver ``pkg/storage/errors`` (Interpret*Error) and ``pkg/storage/etcd3/errors.go`` for texts.
"""

from __future__ import annotations

from controlplane.apimachinery import status
from controlplane.apimachinery.identity import GroupResource
from controlplane.apimachinery.status import APIError
from controlplane.base import logs
from controlplane.storage.errors import (
    Compacted,
    ConversionFailed,
    FutureRevision,
    KeyExists,
    KeyNotFound,
    RevisionConflict,
    Stale,
    StorageError,
    StoreFull,
    Unavailable,
    Unreadable,
    ValueTooLarge,
)

__all__ = ["CONTINUE_EXPIRED", "OPTIMISTIC_LOCK", "translate", "translate_watch"]

OPTIMISTIC_LOCK = "the object has been modified; please apply your changes to the latest version and try again"
LIST_EXPIRED = "The resourceVersion for the provided list is too old."
CONTINUE_EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)
STORE_FULL = "etcdserver: mvcc: database space exceeded"
"""etcd's words, which clients know, whatever the store is."""
_REFUSALS = logs.Seldom(logs.get(__name__))
"""Clients are not told why: whoever reads the log is."""
_RETRY_UNREACHABLE_SECONDS = 2
"""What upstream tells clients to wait when etcd cannot be reached."""


def translate(error: StorageError, gr: GroupResource, name: str, operation: str) -> APIError:
    """The API error for a storage error met while doing ``operation`` (get, list, create, update, delete, watch)."""
    match error:
        case KeyNotFound():
            return status.not_found(gr, name)
        case KeyExists():
            return status.already_exists(gr, name)
        case RevisionConflict():
            return status.conflict(gr, name, OPTIMISTIC_LOCK)
        case FutureRevision():
            return status.too_large_resource_version(error.requested, error.current)
        case Compacted():
            return status.expired(LIST_EXPIRED)
        case ValueTooLarge():
            return status.request_entity_too_large(f"Request entity too large: limit is {error.limit_bytes}")
        case ConversionFailed():
            return status.unknown_error(str(error))
        case Unreadable():
            return status.storage_read_error(gr, error.why, name)
        case Stale():
            return status.timeout(f"the {operation} of {gr} could not be proved consistent: {error}", 1)
        case StoreFull():
            _REFUSALS.warning("the store has no room", error=error)
            return status.unknown_error(STORE_FULL)
        case Unavailable():
            _REFUSALS.warning("the store does not answer", error=error)
            return status.server_timeout(gr, operation, _RETRY_UNREACHABLE_SECONDS)
    return status.internal_error(str(error))


def translate_watch(error: StorageError, gr: GroupResource) -> APIError:
    """The API error for a watch that could not be opened: while the mirror has not loaded, come back in a second."""
    if isinstance(error, Unavailable):
        return status.too_many_requests(f"storage is (re)initializing: {error}", 1)
    return translate(error, gr, "", "watch")
