import pytest

from controlplane.apimachinery.status import APIError
from controlplane.apiserver.registry.table import TableHolder
from controlplane.client.request import BodyTooLarge, Request
from controlplane.client.request_info import parse_request_info
from tests.aio import run
from tests.unit.apiserver.plane import running_plane

NS = "/api/v1/namespaces/ns"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        pytest.param("HEAD", f"{NS}/configmaps/a", id="HEAD is no exception"),
        pytest.param("OPTIONS", f"{NS}/configmaps", id="nor is OPTIONS"),
        pytest.param("TRACE", f"{NS}/configmaps", id="nor TRACE"),
        pytest.param("POST", f"{NS}/configmaps/a", id="create of a name"),
        pytest.param("PUT", f"{NS}/configmaps", id="update of a collection"),
        pytest.param("PATCH", f"{NS}/configmaps", id="patch of a collection"),
        pytest.param("DELETE", "/api/v1/namespaces", id="a verb that the resource does not have"),
        pytest.param("POST", "/api/v1/configmaps", id="create across namespaces"),
        pytest.param("DELETE", "/api/v1/configmaps", id="delete across namespaces"),
        pytest.param("GET", f"{NS}/finalize", id="a verb that the subresource does not have"),
        pytest.param("POST", f"/api/v1/watch{NS[7:]}/configmaps", id="a watch by POST"),
    ],
)
def test_a_method_that_a_path_does_not_have_is_405(method: str, path: str) -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await plane.namespace()
            answer = await plane.call(method, path)
            assert answer.status == 405
            assert answer.message == "the server does not allow this method on the requested resource"
            assert answer.body["details"] == {}

    run(scenario())


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("/api/v1/pods", id="an unknown resource"),
        pytest.param(f"{NS}/pods/a", id="an unknown resource in a namespace"),
        pytest.param("/api/v9/configmaps", id="an unknown version of the core"),
        pytest.param("/apis/coordination.k8s.io/v9/leases", id="an unknown version of a group"),
        pytest.param(f"{NS}/configmaps/a/status", id="an unknown subresource"),
        pytest.param("/api/v1/namespaces/ns/status/more", id="more than a subresource"),
        pytest.param("/api/v1/configmaps/a", id="a namespaced object outside a namespace"),
        pytest.param("/api/v1/namespaces/ns/namespaces", id="a cluster-wide collection inside a namespace"),
        pytest.param("/api/v1/proxy/namespaces/ns/configmaps/a", id="the old prefix of proxies"),
    ],
)
def test_a_path_that_is_not_there_is_a_404_status(path: str) -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            answer = await plane.call("GET", path)
            assert answer.status == 404
            assert answer.message == "the server could not find the requested resource"
            assert answer.body["details"] == {}

    run(scenario())


def test_a_group_that_nobody_serves_is_a_plain_404() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            answer = await plane.call("GET", "/apis/none.io/v1/namespaces/ns/things")
            assert (answer.status, answer.raw) == (404, b"404 page not found\n")
            assert answer.response.content_type == "text/plain; charset=utf-8"

    run(scenario())


def test_before_all_sources_have_been_heard_what_is_unknown_is_503() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            plane.tables.swap(plane.tables.current, complete=False)
            answer = await plane.call("GET", "/apis/none.io/v1/things")
            assert answer.status == 503
            assert answer.body["details"] == {"retryAfterSeconds": 5}
            assert (await plane.call("GET", f"{NS}/configmaps")).status == 200
            assert not TableHolder().complete

    run(scenario())


def test_a_slash_at_the_end_changes_nothing() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            await plane.namespace()
            assert (await plane.call("POST", f"{NS}/configmaps/", {"metadata": {"name": "a"}})).status == 201
            assert (await plane.call("GET", f"{NS}/configmaps/a/")).status == 200

    run(scenario())


def test_serves_says_whether_a_resource_is_in_the_table() -> None:
    async def scenario() -> None:
        async with running_plane() as plane:
            for path, expected in [(f"{NS}/configmaps", True), ("/apis/none.io/v1/things", False)]:
                assert plane.endpoints.serves(parse_request_info("GET", path)) is expected

    run(scenario())


def test_a_body_over_the_carriers_limit_is_413() -> None:

    async def too_large() -> bytes:
        raise BodyTooLarge(3145728)

    async def scenario() -> None:
        async with running_plane() as plane:
            await plane.namespace()
            request = Request("POST", f"{NS}/configmaps", read=too_large)
            request.info = parse_request_info("POST", request.path)
            with pytest.raises(APIError) as refused:
                await plane.endpoints.handle(request)
            assert (refused.value.code, refused.value.message) == (
                413,
                "Request entity too large: limit is 3145728",
            )

    run(scenario())
