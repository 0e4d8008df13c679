"""Refuses impersonation, which is not supported yet, rather than carry the request out as somebody else than it asks.

Source: the headers of Kubernetes' user impersonation; upstream too answers 403 to those who may not impersonate.
"""

from __future__ import annotations

from controlplane.apimachinery.status import APIError
from controlplane.client.request import Handler, Request, Response

__all__ = ["with_impersonation_refused"]

_PREFIX = "impersonate-"


def with_impersonation_refused(following: Handler) -> Handler:
    """403 for a request with any ``Impersonate-`` header."""

    async def handle(request: Request) -> Response:
        for name in request.headers:
            if name[:12].lower() == _PREFIX:
                raise APIError(403, "Forbidden", f"{name}: impersonation is not supported by this server")
        return await following(request)

    return handle
