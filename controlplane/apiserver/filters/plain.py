"""Answers in plain text, for what Kubernetes does not answer with a Status.

Source: the form of Go's ``http.Error``: a line feed at the end and ``nosniff``.
"""

from __future__ import annotations

from controlplane.client.request import Response

__all__ = ["PLAIN_TEXT", "plain_error"]

PLAIN_TEXT = "text/plain; charset=utf-8"


def plain_error(status: int, text: str, *headers: tuple[str, str]) -> Response:
    """An error whose body is ``text`` on one line."""
    return Response(
        status,
        f"{text}\n".encode(),
        content_type=PLAIN_TEXT,
        headers=[("X-Content-Type-Options", "nosniff"), *headers],
    )
