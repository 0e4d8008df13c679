"""API errors: every failure that a client sees, as an exception that knows its Status object.

Only the outermost filter turns one into bytes. Reasons, codes and messages are Kubernetes' own, because clients match
on them.

Source: kubernetes/apimachinery ``pkg/api/errors``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from controlplane.apimachinery.identity import GroupResource, Obj
from controlplane.apimachinery.validation.field import FieldError

__all__ = [
    "APIError",
    "already_exists",
    "bad_request",
    "conflict",
    "expired",
    "forbidden",
    "internal_error",
    "invalid",
    "method_not_supported",
    "not_acceptable",
    "not_found",
    "request_entity_too_large",
    "server_timeout",
    "service_unavailable",
    "storage_read_error",
    "timeout",
    "too_large_resource_version",
    "too_many_requests",
    "unauthorized",
    "unknown_error",
    "unsupported_media_type",
]


class APIError(Exception):
    """One failure on the wire.

    ``code`` is the HTTP status, ``reason`` and ``message`` as in Status, ``details`` its details object (an empty one
    that is given is also sent, as upstream's router does);
    ``retry_after_seconds`` > 0 is also sent as a Retry-After header. ``continue_token`` goes to the Status' metadata.
    """

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: dict[str, Any] | None = None,
        retry_after_seconds: int = 0,
        continue_token: str = "",
    ) -> None:
        super().__init__(message)
        self.code, self.reason, self.message = code, reason, message
        self.details = dict(details) if details else {}
        self._details_given = details is not None
        self.retry_after_seconds, self.continue_token = retry_after_seconds, continue_token
        if retry_after_seconds:
            self.details["retryAfterSeconds"] = retry_after_seconds

    def status(self) -> Obj:
        """The Status object."""
        status: Obj = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
        }
        if self.continue_token:
            status["metadata"] = {"continue": self.continue_token}
        if self.reason:
            status["reason"] = self.reason
        if self.details or self._details_given:
            status["details"] = self.details
        status["code"] = self.code
        return status


def _details(gr: GroupResource, name: str = "") -> dict[str, Any]:
    details: dict[str, Any] = {}
    if name:
        details["name"] = name
    if gr.group:
        details["group"] = gr.group
    if gr.resource:
        details["kind"] = gr.resource
    return details


def bad_request(message: str) -> APIError:
    return APIError(400, "BadRequest", message)


def unauthorized(message: str = "Unauthorized") -> APIError:
    return APIError(401, "Unauthorized", message)


def forbidden(gr: GroupResource, name: str, why: str) -> APIError:
    if not gr.resource:
        message = f"forbidden: {why}"
    elif name:
        message = f'{gr} "{name}" is forbidden: {why}'
    else:
        message = f"{gr} is forbidden: {why}"
    return APIError(403, "Forbidden", message, details=_details(gr, name))


def not_found(gr: GroupResource, name: str) -> APIError:
    return APIError(404, "NotFound", f'{gr} "{name}" not found', details=_details(gr, name))


def unknown_resource() -> APIError:
    """404 for a resource or path inside a group that is not served."""
    return APIError(404, "NotFound", "the server could not find the requested resource", details={})


def method_not_supported(gr: GroupResource, verb: str) -> APIError:
    return APIError(
        405, "MethodNotAllowed", f'{verb} is not supported on resources of kind "{gr}"', details=_details(gr)
    )


def not_acceptable(message: str) -> APIError:
    return APIError(406, "NotAcceptable", message)


def already_exists(gr: GroupResource, name: str) -> APIError:
    return APIError(409, "AlreadyExists", f'{gr} "{name}" already exists', details=_details(gr, name))


def conflict(gr: GroupResource, name: str, why: str) -> APIError:
    return APIError(
        409, "Conflict", f'Operation cannot be fulfilled on {gr} "{name}": {why}', details=_details(gr, name)
    )


def expired(message: str, *, continue_token: str = "") -> APIError:
    return APIError(410, "Expired", message, continue_token=continue_token)


def request_entity_too_large(message: str) -> APIError:
    return APIError(413, "RequestEntityTooLarge", message)


def unsupported_media_type(message: str) -> APIError:
    return APIError(415, "UnsupportedMediaType", message)


def _cause(error: FieldError) -> dict[str, Any]:
    cause = {"reason": error.reason, "message": error.body}
    if error.field:  # an error of the whole object has none
        cause["field"] = error.field
    return cause


def invalid(group: str, kind: str, name: str, errors: Sequence[FieldError]) -> APIError:
    """422: ``kind`` is the Kind, not the resource; causes are the errors in order, duplicates in the message once."""
    texts = list(dict.fromkeys(str(e) for e in errors))
    joined = texts[0] if len(texts) == 1 else "[" + ", ".join(texts) + "]"
    subject = f"{kind}.{group}" if group else kind
    message = f'{subject} "{name}" is invalid' + (f": {joined}" if texts else "")
    details: dict[str, Any] = {"name": name} if name else {}
    if group:
        details["group"] = group
    details["kind"] = kind
    if errors:
        details["causes"] = [_cause(e) for e in errors]
    return APIError(422, "Invalid", message, details=details)


def too_many_requests(message: str, retry_after_seconds: int = 1) -> APIError:
    return APIError(429, "TooManyRequests", message, retry_after_seconds=retry_after_seconds)


def internal_error(message: str) -> APIError:
    return APIError(
        500, "InternalError", f"Internal error occurred: {message}", details={"causes": [{"message": message}]}
    )


def unknown_error(message: str) -> APIError:
    """A failure that Kubernetes has no reason for: the text is all that clients get."""
    return APIError(500, "", message)


def storage_read_error(gr: GroupResource, why: str, name: str = "") -> APIError:
    return APIError(
        500, "StorageReadError", f"failed to read one or more {gr} from the storage: {why}", details=_details(gr, name)
    )


def server_timeout(gr: GroupResource, operation: str, retry_after_seconds: int = 0) -> APIError:
    return APIError(
        500,
        "ServerTimeout",
        f"The {operation} operation against {gr} could not be completed at this time, please try again.",
        details={**_details(gr), "name": operation},
        retry_after_seconds=retry_after_seconds,
    )


def service_unavailable(message: str, retry_after_seconds: int = 0) -> APIError:
    return APIError(503, "ServiceUnavailable", message, retry_after_seconds=retry_after_seconds)


def timeout(message: str, retry_after_seconds: int = 0) -> APIError:
    return APIError(504, "Timeout", f"Timeout: {message}", retry_after_seconds=retry_after_seconds)


def too_large_resource_version(requested: int, current: int, retry_after_seconds: int = 1) -> APIError:
    error = timeout(f"Too large resource version: {requested}, current: {current}", retry_after_seconds)
    error.details["causes"] = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
    return error
