"""Filters that look at answers alone: in their order, as one, and not where there is no answer."""

from __future__ import annotations

import pytest

from controlplane.apiserver.filters.afterwards import Step, afterwards
from controlplane.client.request import Handler, Request, Response
from tests.aio import run


async def answers(_request: Request) -> Response:
    return Response(200, b"body")


async def fails(_request: Request) -> Response:
    raise LookupError


def adding(name: str) -> Step:
    return lambda _request, response: response.headers.append((name, "x"))


def filtered(handler: Handler) -> Handler:
    return afterwards(afterwards(handler, adding("inner")), adding("outer"))


def test_the_inner_filter_looks_first() -> None:
    response = run(awaited(filtered(answers)))
    assert [name for name, _ in response.headers] == ["inner", "outer"]


def test_a_filter_in_between_keeps_its_place() -> None:
    async def between(request: Request) -> Response:
        response = await inner(request)
        response.headers.append(("between", "x"))
        return response

    inner = afterwards(answers, adding("inner"))
    response = run(awaited(afterwards(between, adding("outer"))))
    assert [name for name, _ in response.headers] == ["inner", "between", "outer"]


def test_an_error_is_passed_on() -> None:
    with pytest.raises(LookupError):
        run(awaited(filtered(fails)))


async def awaited(handler: Handler) -> Response:
    return await handler(Request("GET", "/"))
