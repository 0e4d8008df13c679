"""The last net: whatever a handler raises that is no API error becomes a 500, a line in the log and a count.

Source: text and status of kubernetes/apiserver ``pkg/server/filters`` (WithPanicRecovery).
"""

from __future__ import annotations

from controlplane.apiserver.filters.labels import resource_labels
from controlplane.apiserver.filters.metrics import REQUEST_ABORTS
from controlplane.apiserver.filters.plain import plain_error
from controlplane.base import logs
from controlplane.client.request import Handler, Request, Response

__all__ = ["with_panic_recovery"]

log = logs.get(__name__)

TEXT = "This request caused apiserver to panic. Look in the logs for details."


def with_panic_recovery(following: Handler) -> Handler:
    """Contain failures of one request. Cancellation (the client has gone) is not one."""

    async def handle(request: Request) -> Response:
        try:
            return await following(request)
        except Exception:
            log.exception("request failed", verb=request.method, path=request.path, audit_id=request.audit_id)
            labels = resource_labels(request)
            REQUEST_ABORTS.labels_cached(labels[:-1]).inc()
            return plain_error(500, TEXT)

    return handle
