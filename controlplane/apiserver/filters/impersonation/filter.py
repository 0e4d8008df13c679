"""Carry a request out as somebody else than who makes it, if that is allowed.

Source: kubernetes/apiserver ``pkg/endpoints/filters/impersonation/constrained_impersonation.go``.
"""

from __future__ import annotations

from collections.abc import Awaitable
from time import perf_counter
from typing import NamedTuple

from controlplane.apimachinery.status import APIError
from controlplane.apimachinery.user import UserInfo
from controlplane.apiserver.authorization.api import Authorizer, attributes_of
from controlplane.apiserver.filters.impersonation.headers import take_wanted_user
from controlplane.apiserver.filters.impersonation.metrics import record_attempt
from controlplane.apiserver.filters.impersonation.modes import Modes
from controlplane.base import logs
from controlplane.client.request import Handler, Request, Response

__all__ = ["IMPERSONATION", "Impersonation", "with_impersonation"]

log = logs.get(__name__)

IMPERSONATION = "impersonation"
"""Key of ``Request.values``: the ``Impersonation`` of a request that has one."""


class Impersonation(NamedTuple):
    """Who makes the request in truth, and the verb that allowed it (``""``: legacy impersonation)."""

    requestor: UserInfo
    constraint: str


def with_impersonation(following: Handler, *, authorizer: Authorizer) -> Handler:
    """Make ``request.user`` whom the headers name, and take them out of the request; 403 if that is not allowed."""
    modes = Modes(authorizer)

    def handle(request: Request) -> Awaitable[Response]:
        wanted = take_wanted_user(request)
        return following(request) if wanted is None else impersonated(request, wanted)

    async def impersonated(request: Request, wanted: UserInfo) -> Response:
        requestor, began = request.user, perf_counter()
        try:
            identity = await modes.identity(wanted, attributes_of(requestor, request.info))
        except APIError:
            record_attempt("", perf_counter() - began, allowed=False)
            log.debug("impersonation refused", requestor=requestor.name, path=request.path)
            raise
        record_attempt(identity.constraint, perf_counter() - began, allowed=True)
        log.debug("impersonating", requestor=requestor.name, user=identity.user.name)
        request.user = identity.user
        request.values[IMPERSONATION] = Impersonation(requestor, identity.constraint)
        return await following(request)

    return handle
