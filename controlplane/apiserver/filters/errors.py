"""API errors become answers here, and nowhere else.

A Status is JSON, YAML or protobuf, as the client accepts; for a client that accepts none of them it is JSON. What else
the client asks for (a Table) is no form for an error.

Source: kubernetes/apiserver ``pkg/endpoints/handlers/responsewriters`` (ErrorNegotiated).
"""

from __future__ import annotations

from controlplane.apimachinery.status import APIError, request_entity_too_large
from controlplane.client.encoding import respond_value
from controlplane.client.negotiation import STATUS, Answer, find
from controlplane.client.request import BodyTooLarge, Handler, Request, Response

__all__ = ["error_response", "with_status_errors"]

_JSON = Answer()


def with_status_errors(following: Handler) -> Handler:
    """Answer the APIError that what follows raises."""

    async def handle(request: Request) -> Response:
        try:
            return await following(request)
        except APIError as error:
            return error_response(request, error)
        except BodyTooLarge as error:
            return error_response(request, request_entity_too_large(str(error)))

    return handle


def error_response(request: Request, error: APIError) -> Response:
    """The Status of an error, as bytes, in the form the client reads."""
    accept = request.headers.get("Accept")
    answer = (find(accept, STATUS) if accept else None) or _JSON
    response = respond_value(request, error.status(), answer, error.code)
    response.headers.append(("X-Content-Type-Options", "nosniff"))
    if error.retry_after_seconds:
        response.headers.append(("Retry-After", str(error.retry_after_seconds)))
    return response
