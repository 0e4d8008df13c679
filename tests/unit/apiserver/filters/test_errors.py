"""How failures become answers: API errors, bodies that are too large, panics, bad paths."""

from __future__ import annotations

import json

import pytest
import yaml

from controlplane.apimachinery.identity import GroupResource
from controlplane.apimachinery.status import APIError, not_found, too_many_requests
from controlplane.apiserver.filters.errors import with_status_errors
from controlplane.apiserver.filters.metrics import REQUEST_ABORTS
from controlplane.apiserver.filters.panics import with_panic_recovery
from controlplane.apiserver.filters.request_info import with_request_info
from controlplane.client.request import BodyTooLarge, Request, Response
from tests.aio import run
from tests.unit.apiserver.filters.harness import answering, header, raising, request

MISSING = not_found(GroupResource("", "configmaps"), "a")


def answer_to(error: BaseException, accept: str = "") -> Response:
    async def scenario() -> Response:
        return await with_status_errors(raising(error))(request(headers={"Accept": accept} if accept else {}))

    return run(scenario())


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        pytest.param("", "application/json", id="nothing"),
        pytest.param("application/yaml", "application/yaml", id="yaml"),
        pytest.param("application/json, application/yaml", "application/json", id="json first"),
        pytest.param("application/yaml, */*;q=0.1", "application/yaml", id="yaml first"),
        pytest.param("text/html", "application/json", id="neither"),
        pytest.param("application/json;as=Table;g=meta.k8s.io;v=v1", "application/json", id="table"),
    ],
)
def test_status_in_the_form_that_is_asked_for(accept: str, content_type: str) -> None:
    response = answer_to(MISSING, accept)
    assert (response.status, response.content_type) == (404, content_type)
    read = yaml.safe_load(response.content()) if "yaml" in content_type else json.loads(response.content())
    assert read == MISSING.status()
    assert header(response, "X-Content-Type-Options") == "nosniff"


def test_retry_after_is_sent() -> None:
    response = answer_to(too_many_requests("later", 7))
    assert (response.status, header(response, "Retry-After")) == (429, "7")
    assert header(answer_to(MISSING), "Retry-After") == ""


def test_body_too_large() -> None:
    response = answer_to(BodyTooLarge(3145728))
    status = json.loads(response.content())
    assert response.status == 413
    assert (status["reason"], status["message"]) == (
        "RequestEntityTooLarge",
        "Request entity too large: limit is 3145728",
    )


def test_other_failures_pass_through() -> None:
    with pytest.raises(ZeroDivisionError):
        answer_to(ZeroDivisionError())


def test_panic_is_contained_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    labels = ("GET", "", "v1", "configmaps", "", "resource")
    before = REQUEST_ABORTS.labels_cached(labels).value

    async def scenario() -> Response:
        return await with_panic_recovery(raising(ZeroDivisionError("secret")))(request())

    response = run(scenario())
    assert response.status == 500
    assert response.content() == b"This request caused apiserver to panic. Look in the logs for details.\n"
    assert REQUEST_ABORTS.labels_cached(labels).value == before + 1
    assert caplog.records[0].exc_info is not None


def test_api_errors_are_no_panics() -> None:
    async def scenario() -> None:
        await with_panic_recovery(with_status_errors(raising(APIError(418, "", "tea"))))(request())

    run(scenario())


def test_path_verb_without_an_object() -> None:
    async def scenario() -> Response:
        return await with_request_info(answering())(Request("GET", "/api/v1/watch"))

    response = run(scenario())
    assert response.status == 500
    assert b"failed to create RequestInfo: unable to determine kind and namespace from url" in response.content()
