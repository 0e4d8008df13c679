"""Ask the authorizer; what it does not allow is 403, and where it cannot say, 500.

Source: kubernetes/apiserver ``pkg/endpoints/filters/authorization.go``.
"""

from __future__ import annotations

from collections.abc import Awaitable
from html import escape
from time import perf_counter

from controlplane.apimachinery.status import APIError
from controlplane.apiserver.authorization.api import AllowsAll, Authorizer, Decision, attributes_of
from controlplane.apiserver.authorization.messages import forbidden_error
from controlplane.apiserver.filters import metrics
from controlplane.apiserver.filters.plain import plain_error
from controlplane.base import logs
from controlplane.base.metrics import tally
from controlplane.client.request import Handler, Request, Response

__all__ = ["with_authorization"]

log = logs.get(__name__)

_RESULT = {Decision.ALLOW: "allowed", Decision.DENY: "denied", Decision.NO_OPINION: "no-opinion"}
_FILTER_SECONDS = metrics.FILTER_SECONDS.labels_cached(("authorization",))
_ALLOWED = tally(
    (metrics.AUTHORIZATION_ATTEMPTS.labels_cached(("allowed",)),),
    (metrics.AUTHORIZATION_SECONDS.labels_cached(("allowed",)), _FILTER_SECONDS),
)


def with_authorization(following: Handler, *, authorizer: Authorizer) -> Handler:
    """Let through what is allowed."""

    allows_all = authorizer.allows_all if isinstance(authorizer, AllowsAll) else None

    def handle(request: Request) -> Awaitable[Response]:
        began = perf_counter()
        if allows_all is None or not allows_all(request.user):
            return asked(request, began)
        _ALLOWED.note(perf_counter() - began)
        return following(request)

    async def asked(request: Request, began: float) -> Response:
        attributes = attributes_of(request.user, request.info)
        try:
            decision, reason = await authorizer.authorize(attributes)
        except APIError:
            raise
        except Exception as error:  # whatever kept it from deciding, nothing is allowed
            log.exception("cannot authorize a request", path=request.path, audit_id=request.audit_id)
            metrics.AUTHORIZATION_ATTEMPTS.labels_cached(("error",)).inc()
            return plain_error(500, escape(f'Internal Server Error: "{request.path}": {error}', quote=False))
        seconds = perf_counter() - began
        if decision is Decision.ALLOW:
            _ALLOWED.note(seconds)
            return await following(request)
        _FILTER_SECONDS.observe(seconds)
        result = (_RESULT[decision],)
        metrics.AUTHORIZATION_ATTEMPTS.labels_cached(result).inc()
        metrics.AUTHORIZATION_SECONDS.labels_cached(result).observe(seconds)
        log.debug("forbidden", path=request.path, user=request.user.name, reason=reason)
        raise forbidden_error(attributes, reason)

    return handle
