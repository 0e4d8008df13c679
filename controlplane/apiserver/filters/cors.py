"""Cross-origin requests from browsers, where origins are allowed by ``--cors-allowed-origins``.

Source: header values of kubernetes/apiserver ``pkg/server/filters/cors.go``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from controlplane.client.request import Handler, Request, Response

__all__ = ["with_cors"]

_HEADERS = (
    "Content-Type",
    "Content-Length",
    "Accept-Encoding",
    "X-CSRF-Token",
    "Authorization",
    "X-Requested-With",
    "If-Modified-Since",
)
_FIXED = [
    ("Access-Control-Allow-Methods", "POST, GET, OPTIONS, PUT, DELETE, PATCH"),
    ("Access-Control-Allow-Headers", ", ".join(_HEADERS)),
    ("Access-Control-Expose-Headers", "Date"),
    ("Access-Control-Allow-Credentials", "true"),
]


def with_cors(following: Handler, *, origins: Sequence[str]) -> Handler:
    """``origins``: regular expressions, searched in the Origin header; without any, no filter.

    Raises:
        re.error: one is not a regular expression.
    """
    if not origins:
        return following
    allowed = [re.compile(origin) for origin in origins]

    async def handle(request: Request) -> Response:
        origin = request.headers.get("Origin", "")
        if not origin or not any(pattern.search(origin) for pattern in allowed):
            return await following(request)
        if request.method == "OPTIONS":
            response = Response(204, content_type="")
        else:
            response = await following(request)
        response.headers += [("Access-Control-Allow-Origin", origin), *_FIXED]
        return response

    return handle
