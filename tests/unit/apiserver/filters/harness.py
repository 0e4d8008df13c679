"""Handlers and requests for tests of single filters."""

from __future__ import annotations

from collections.abc import Mapping
from time import monotonic
from typing import Any

from controlplane.apimachinery.user import UserInfo
from controlplane.client.request import Handler, Request, Response
from controlplane.client.request_info import parse_request_info

__all__ = ["ALICE", "answering", "header", "headers_of", "raising", "request"]

ALICE = UserInfo(name="alice", groups=("dev", "system:authenticated"))
CONFIGMAP = "/api/v1/namespaces/ns/configmaps/a"


def request(
    path: str = CONFIGMAP,
    *,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    user: UserInfo | None = ALICE,
    **keys: Any,
) -> Request:
    """A request as it is behind the first filters: read, timed, and (unless None) authenticated."""
    target, _, query = path.partition("?")
    made = Request(method, target, query_string=query, headers=headers, received_at=monotonic(), **keys)
    made.info = parse_request_info(method, target, query)
    if user is not None:
        made.user = user
    return made


def answering(response: Response | None = None, *, seen: list[Request] | None = None) -> Handler:
    """Answers always the same; ``seen`` collects the requests that came through."""

    async def handle(incoming: Request) -> Response:
        if seen is not None:
            seen.append(incoming)
        return response if response is not None else Response(200, b"{}")

    return handle


def raising(error: BaseException) -> Handler:
    async def handle(_: Request) -> Response:
        raise error

    return handle


def headers_of(response: Response, name: str) -> list[str]:
    return [value for key, value in response.headers if key == name]


def header(response: Response, name: str) -> str:
    """The one value of a header; ``""`` if it is not there."""
    values = headers_of(response, name)
    assert len(values) <= 1, values
    return values[0] if values else ""
