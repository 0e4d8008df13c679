"""Read once what a request asks for: everything after decides by it.

Source: kubernetes/apiserver ``pkg/endpoints/filters`` (WithRequestInfo).
"""

from __future__ import annotations

from collections.abc import Awaitable
from html import escape

from controlplane.apiserver.filters.plain import plain_error
from controlplane.client.request import Handler, Request, Response
from controlplane.client.request_info import RequestInfoError, parse_request_info

__all__ = ["with_request_info"]


def with_request_info(following: Handler) -> Handler:
    """Set ``request.info``. Not a coroutine of its own: it only prepares."""

    def handle(request: Request) -> Awaitable[Response]:
        try:
            request.info = parse_request_info(request.method, request.path, request.query_string)
        except RequestInfoError as error:
            return _refused(request, str(error))
        return following(request)

    return handle


async def _refused(request: Request, why: str) -> Response:
    text = f'Internal Server Error: "{request.path}": failed to create RequestInfo: {why}'
    return plain_error(500, escape(text, quote=False))
