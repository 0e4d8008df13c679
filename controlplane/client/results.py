"""Reading answers: objects and errors out of responses, as Kubernetes' clients read them.

Source: kubernetes/apimachinery ``pkg/api/errors`` (what a client says of an answer without a Status) and
kubernetes/client-go ``rest`` (which answers ask to be tried again).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

from controlplane.apimachinery.codec.json import MalformedJSON, loads
from controlplane.apimachinery.identity import GroupResource, Obj
from controlplane.apimachinery.status import APIError
from controlplane.base.aside import LONG_BYTES, aside
from controlplane.client.errors import BadAnswer
from controlplane.client.request import Response

__all__ = ["error_of_response", "error_of_status", "object_of", "raise_for_status", "read", "retry_after_seconds"]

T = TypeVar("T")

_TEXT_LIMIT_BYTES = 2048
"""How much of an unstructured error body is quoted."""

_NO_RESOURCE = GroupResource("", "")

_GENERIC: dict[int, tuple[str, str]] = {
    400: ("BadRequest", "the server rejected our request for an unknown reason"),
    401: ("Unauthorized", "the server has asked for the client to provide credentials"),
    403: ("Forbidden", ""),
    404: ("NotFound", "the server could not find the requested resource"),
    405: ("MethodNotAllowed", "the server does not allow this method on the requested resource"),
    406: ("NotAcceptable", ""),
    409: ("Conflict", "the server reported a conflict"),
    415: ("UnsupportedMediaType", ""),
    422: ("Invalid", "the server rejected our request due to an error in our request"),
    429: ("TooManyRequests", "the server has received too many requests and has asked us to try again later"),
    503: ("ServiceUnavailable", "the server is currently unable to handle the request"),
    504: (
        "Timeout",
        "the server was unable to return a response in the time allotted, but may still be processing the request",
    ),
}
"""By code: the reason, and the message ("" is the server's own text)."""


def raise_for_status(response: Response, method: str, gr: GroupResource = _NO_RESOURCE, name: str = "") -> None:
    """Raise an answer that is no success.

    Raises:
        APIError: any status but 2xx.
    """
    if not 200 <= response.status < 300:
        raise error_of_response(response, method, gr, name)


def object_of(response: Response) -> Obj:
    """The object in a successful answer.

    Raises:
        BadAnswer: the body is not one JSON object.
    """
    try:
        value = loads(response.content())
    except MalformedJSON as e:
        raise BadAnswer(f"the server answered {response.status} with what is not JSON: {e}") from e
    if not isinstance(value, dict):
        raise BadAnswer(f"the server answered {response.status} with JSON that is not an object")
    return value


async def read(response: Response, make: Callable[[Response], T]) -> T:
    """What ``make`` makes of an answer: beside the loop, if it is long. Raises what ``make`` raises."""
    return make(response) if response.length < LONG_BYTES else await aside(lambda: make(response))


def error_of_response(response: Response, method: str, gr: GroupResource = _NO_RESOURCE, name: str = "") -> APIError:
    """The failure that an answer reports: its Status, or what its code means if it has none."""
    body = response.content()
    try:
        status = loads(body)
    except MalformedJSON:
        status = None
    if isinstance(status, dict) and status.get("kind") == "Status" and status.get("status") == "Failure":
        return error_of_status(
            {**status, "code": status.get("code") or response.status}, _seconds_in_header(response) or 0
        )
    is_text = response.content_type.startswith("text/") or not response.content_type
    text = body[:_TEXT_LIMIT_BYTES].decode(errors="replace").strip() if is_text else "unknown"
    return _generic_error(response, method, gr, name, text)


def error_of_status(status: Obj, retry_after_seconds: int = 0) -> APIError:
    """The failure that a Status object reports; ``retry_after_seconds`` (a header's) counts if the object has none."""
    details: dict[str, Any] | None = status.get("details")
    return APIError(
        status.get("code") or 500,
        status.get("reason") or "",
        status.get("message") or "",
        details=details,
        retry_after_seconds=(details or {}).get("retryAfterSeconds") or retry_after_seconds,
        continue_token=(status.get("metadata") or {}).get("continue") or "",
    )


def retry_after_seconds(response: Response) -> int | None:
    """How long the server asks to wait before the same request is tried again; None if it does not ask."""
    if response.status != 429 and response.status < 500:
        return None
    return _seconds_in_header(response)


def _seconds_in_header(response: Response) -> int | None:
    for name, value in response.headers:
        if name.lower() == "retry-after":
            return int(value) if value.isascii() and value.isdigit() else None
    return None


def _generic_error(response: Response, method: str, gr: GroupResource, name: str, text: str) -> APIError:
    code = response.status
    reason, message = _GENERIC.get(
        code, ("", f"the server responded with the status code {code} but did not return more information")
    )
    if code == 409 and method == "POST":
        reason = "AlreadyExists"
    if code not in _GENERIC and code >= 500:
        reason = "InternalError"
        message = f"an error on the server ({json.dumps(text)}) has prevented the request from succeeding"
    if code == 406 and text in ("", "unknown"):
        message = "the server was unable to respond with a content type that the client supports"
    message = message or text
    if gr.resource:
        message = f"{message} ({' '.join(filter(None, (method.lower(), str(gr), name)))})"
    details: dict[str, Any] = {
        field: value for field, value in (("name", name), ("group", gr.group), ("kind", gr.resource)) if value
    }
    details["causes"] = [{"reason": "UnexpectedServerResponse", "message": text}]
    return APIError(code, reason, message, details=details, retry_after_seconds=_seconds_in_header(response) or 0)
