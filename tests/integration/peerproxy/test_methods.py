"""Methods that no server takes are refused alike, wherever the resource is served."""

from __future__ import annotations

from pathlib import Path

import aiohttp

from controlplane.generic.config import Config
from controlplane.generic.declare import Version, declare
from controlplane.testing.fleet import fleet
from tests.aio import run

PATH = "/api/v1/namespaces/default/resourcequotas/q"


def whole(_: Config) -> None:
    """All that is built in."""


REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
TOOLS = "/apis/shop.example.org/v1/tools"


def without_reviews(config: Config) -> None:
    config.resources = [resource for resource in config.resources if resource.plural != "tokenreviews"]


def with_tools(config: Config) -> None:
    config.declared.append(
        declare("Tool", group="shop.example.org", versions=Version(name="v1", schema={"type": "object"}))
    )


def without_quotas(config: Config) -> None:
    config.resources = [resource for resource in config.resources if resource.plural != "resourcequotas"]


def admin_token(directory: Path) -> str:
    return next(directory.rglob("admin.token")).read_text().strip()


def test_head_of_a_peers_native_kind(tmp_path: Path) -> None:
    async def main() -> None:
        async with fleet({"a": whole, "b": without_quotas}, directory=tmp_path) as servers:
            headers = {"Authorization": f"Bearer {admin_token(tmp_path)}"}
            async with aiohttp.ClientSession(headers=headers) as http:
                for server in servers.servers.values():
                    async with http.head(server.url + PATH, ssl=False) as answer:
                        assert answer.status == 405
                    async with http.get(server.url + PATH, ssl=False) as answer:
                        assert (answer.status, (await answer.json())["reason"]) == (404, "NotFound")

    run(main())


def test_what_no_server_does_with_a_resource_is_refused_as_where_it_is(tmp_path: Path) -> None:
    """404 would say that there is no such object."""

    async def main() -> None:
        async with fleet({"a": whole, "b": without_reviews}, directory=tmp_path) as servers:
            headers = {"Authorization": f"Bearer {admin_token(tmp_path)}"}
            async with aiohttp.ClientSession(headers=headers) as http:
                for method, path in (
                    ("GET", REVIEWS),
                    ("DELETE", REVIEWS),
                    ("OPTIONS", REVIEWS),
                    ("PUT", f"{REVIEWS}/a"),
                ):
                    answers = []
                    for server in servers.servers.values():
                        async with http.request(method, server.url + path, ssl=False) as answer:
                            answers.append((answer.status, await answer.text()))
                    assert answers[0] == answers[1], (method, path)
                    assert answers[0][0] == (405 if path == REVIEWS else 404), (method, path)

    run(main())


def test_head_says_how_long_the_answer_would_be(tmp_path: Path) -> None:
    async def main() -> None:
        async with fleet({"a": with_tools, "b": whole}, directory=tmp_path) as servers:
            headers = {"Authorization": f"Bearer {admin_token(tmp_path)}"}
            async with aiohttp.ClientSession(headers=headers) as http:
                lengths = set()
                for server in servers.servers.values():
                    for _ in range(2):
                        async with http.head(server.url + TOOLS, ssl=False) as answer:
                            lengths.add((answer.status, answer.headers["Content-Length"] != "0"))
                assert lengths == {(200, True)}

    run(main())
