"""Impersonation is refused by name, never ignored."""

from __future__ import annotations

import pytest

from controlplane.apimachinery.status import APIError
from controlplane.apiserver.filters.impersonation import with_impersonation_refused
from tests.aio import run
from tests.unit.apiserver.filters.harness import answering, request


async def answer(header: str) -> int:
    handle = with_impersonation_refused(answering())
    return (await handle(request(headers={header: "bob"}))).status


@pytest.mark.parametrize("header", ["Impersonate-User", "impersonate-group", "Impersonate-Extra-scopes"])
def test_a_request_as_somebody_else_is_refused(header: str) -> None:
    with pytest.raises(APIError) as caught:
        run(answer(header))
    assert caught.value.code == 403
    assert header.lower() in caught.value.message.lower()


def test_others_go_through() -> None:
    assert run(answer("Accept")) == 200
