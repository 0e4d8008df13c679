"""Headers that filters add: Cache-Control, HSTS, warnings, CORS."""

from __future__ import annotations

import pytest

from controlplane.apiserver.filters.cors import with_cors
from controlplane.apiserver.filters.response_headers import with_cache_control, with_hsts
from controlplane.apiserver.filters.warnings import warning_headers, with_warnings
from controlplane.client.request import Handler, Response
from tests.aio import run
from tests.unit.apiserver.filters.harness import answering, header, headers_of, request


def call(handler: Handler, **keys: str) -> Response:
    async def scenario() -> Response:
        return await handler(request(method=keys.pop("method", "GET"), headers=keys))

    return run(scenario())


def test_cache_control_unless_the_handler_has_one() -> None:
    assert header(call(with_cache_control(answering())), "Cache-Control") == "no-cache, private"
    own = Response(200, headers=[("Cache-Control", "public")])
    assert headers_of(call(with_cache_control(answering(own))), "Cache-Control") == ["public"]


def test_hsts() -> None:
    handler = with_hsts(answering(), directives=("max-age=100", "preload"))
    assert header(call(handler), "Strict-Transport-Security") == "max-age=100; preload"
    plain = answering()
    assert with_hsts(plain, directives=()) is plain


def test_warnings_of_the_request() -> None:
    async def scenario() -> list[str]:
        made = request()
        made.warnings += ['unknown field "spec.x"', "old", "old"]
        return headers_of(await with_warnings(answering())(made), "Warning")

    assert run(scenario()) == ['299 - "unknown field \\"spec.x\\""', '299 - "old"']


@pytest.mark.parametrize(
    ("texts", "lengths"),
    [
        pytest.param(["a" * 4096], [4096], id="just fits"),
        pytest.param(["a" * 4097], [256], id="one too long is cut"),
        pytest.param([str(n) * 100 for n in range(10, 41)], [200] * 21, id="budget used up by short ones"),
        pytest.param([chr(97 + n) * 300 for n in range(20)], [256] * 16, id="each cut, the rest left out"),
        pytest.param(["bad\nline", "\x00", ""], [], id="control characters are left out"),
    ],
)
def test_budget(texts: list[str], lengths: list[int]) -> None:
    assert [len(value) - len('299 - ""') for _, value in warning_headers(texts)] == lengths


def test_cors() -> None:
    handler = with_cors(answering(), origins=("^https://ok$",))
    allowed = call(handler, Origin="https://ok")
    assert header(allowed, "Access-Control-Allow-Origin") == "https://ok"
    assert header(allowed, "Access-Control-Allow-Methods") == "POST, GET, OPTIONS, PUT, DELETE, PATCH"
    assert header(call(handler, Origin="https://no"), "Access-Control-Allow-Origin") == ""
    preflight = call(handler, Origin="https://ok", method="OPTIONS")
    assert (preflight.status, header(preflight, "Access-Control-Allow-Credentials")) == (204, "true")
